# SPDX-License-Identifier: Apache-2.0
"""Progress of a sweep on terminals: a bar, the remaining time, and the summary so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.live import Live

    from steersman.simulation.sweep import SweepProgress

_REFRESH_SECONDS: Final = 0.5
_LINES_BESIDES: Final = 6
"""Lines for the bar, blank lines, and the prompt."""


@contextmanager
def sweep_progress() -> Iterator[Callable[[SweepProgress], None] | None]:
    """Yield a function that shows the progress of a sweep; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    shown = _LiveSummary()
    try:
        yield shown.show
    finally:
        shown.stop()


class _LiveSummary:
    """A bar above the table of cells, redrawn a few times a second and removed at the end."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._drawn_at = 0.0

    def show(self, progress: SweepProgress) -> None:
        if time.monotonic() - self._drawn_at < _REFRESH_SECONDS:
            return
        if self._live is None:
            self._live = self._started()
        self._live.update(
            _SweepDisplay(progress).text(self._live.console.width, self._live.console.height), refresh=True
        )
        self._drawn_at = time.monotonic()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _started(self) -> Live:
        from rich.console import Console
        from rich.live import Live

        live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
        live.start()
        return live


class _SweepDisplay:
    """The display of a running sweep at one moment."""

    def __init__(self, progress: SweepProgress) -> None:
        self._progress = progress

    def text(self, width: int, height: int) -> str:
        from steersman.cli.sweep_table import table

        lines = table(self._progress.result.cells, width)
        room = max(height - _LINES_BESIDES, 3)
        if len(lines) > room:
            lines = [*lines[:room], f"({len(lines) - room} more lines)"]
        return "\n".join([self._bar(width), "", *lines])

    def _bar(self, width: int) -> str:
        progress = self._progress
        left = "" if progress.seconds_left is None else f", {_duration(progress.seconds_left)} left"
        told = f" {progress.done} of {progress.runs} runs{left}"
        room = max(min(width - len(told) - 2, 40), 4)
        full = round(room * progress.done / progress.runs)
        return f"{'━' * full}{'╺' * (room - full)}{told}"


def _duration(seconds: float) -> str:
    """Format a duration: `45 s`, `3 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
