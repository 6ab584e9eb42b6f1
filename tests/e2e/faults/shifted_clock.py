# SPDX-License-Identifier: Apache-2.0
"""`steersman` with a wall clock that jumps: on SIGUSR1 a day forward, and on every further one two days back.

Stands in for a machine whose clock is set: `time.time` of this process is replaced, monotonic time goes on. Run by
`test_clock_jump` as a program of its own.
"""

from __future__ import annotations

import signal
import time
from typing import Final

from steersman.cli import main

DAY: Final = 86_400.0


class JumpingClock:
    """In the place of `time.time`."""

    def __init__(self) -> None:
        self._real = time.time
        self._shift = 0.0

    def __call__(self) -> float:
        return self._real() + self._shift

    def jump(self, number: int, frame: object) -> None:
        self._shift = DAY if self._shift == 0.0 else self._shift - 2 * DAY


if __name__ == "__main__":
    clock = JumpingClock()
    time.time = clock
    signal.signal(signal.SIGUSR1, clock.jump)
    main()
