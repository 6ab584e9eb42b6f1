# SPDX-License-Identifier: Apache-2.0
"""Work that takes too long for a scheduling cycle, which blocks everything else.

A plugin whose handle has `postpones` may end the cycle with `CyclePostponed`. The host runs the
attached work in slices, between which other work continues, and then retries the pod; the plugin
finds the result where the work left it. With a host that cannot do this, the plugin does the work
within the cycle: the decisions are the same.
"""

from __future__ import annotations

from collections.abc import Generator

#: Runs a few milliseconds per `next()`; closed if the pod no longer needs a node.
SlicedWork = Generator[None, None, None]


class CyclePostponed(BaseException):
    """Ends the cycle of a pod without a decision. It is not an error; as a BaseException it passes
    generic error handlers."""

    def __init__(self, work: SlicedWork) -> None:
        super().__init__("the scheduling cycle waits for work that takes long")
        self.work = work
