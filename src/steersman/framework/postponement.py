# SPDX-License-Identifier: Apache-2.0
"""Work that is too long for a scheduling cycle, which nobody else can run beside.

A plugin whose handle says `postpones` may end the cycle with `CyclePostponed`. The host does the work that comes with it in
slices, between which everything else goes on, and then tries the pod again; the plugin finds what it needs to know where
the work left it. A host that cannot do that says so in the handle, and the plugin does the work at once: the decisions are
the same.
"""

from __future__ import annotations

from collections.abc import Generator

#: Runs to its next pause, a few milliseconds later, whenever it is asked to; closed when the pod needs no node any more.
SlicedWork = Generator[None, None, None]


class CyclePostponed(BaseException):
    """Ends the cycle of a pod without a decision. Nothing is wrong, so that nobody who handles errors may keep it."""

    def __init__(self, work: SlicedWork) -> None:
        super().__init__("the scheduling cycle waits for work that takes long")
        self.work = work
