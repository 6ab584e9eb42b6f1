# SPDX-License-Identifier: Apache-2.0
"""The future, as kubelets and controllers see it: the driver of virtual (or real) time implements `Timers`, is told what to
call when, and moves the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timers(Protocol):
    """Calls back later; `time` is on the scale of `Clock.monotonic`, and may have passed already.

    What is in the background (another try that may never succeed, the next run of a schedule that has no end) happens when its
    time comes, but nobody waits for it: a simulation ends when nothing else is left.
    """

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> object: ...
