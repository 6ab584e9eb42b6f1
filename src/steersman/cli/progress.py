# SPDX-License-Identifier: Apache-2.0
"""Progress on terminals: a bar, or the current activity, and the duration at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final

from steersman.base import printable
from steersman.cli.output import say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar, TaskID
    from rich.status import Status
    from rich.text import Text

    from steersman.simulation import Progress

_AFTER_SECONDS: Final = 0.7
"""Shorter runs show no bar."""
_MIN_PRINTED_SECONDS: Final = 1.0
"""Shorter durations, in seconds, are not printed."""


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that shows the progress of a run; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _LateBar()
    try:
        yield bar.show
    finally:
        bar.stop()


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show the current activity and its duration on a terminal, after a delay; the yielded function
    adds details."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    status = _LateStatus(text)
    timer = Timer(_AFTER_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield status.show
    finally:
        timer.cancel()
        status.stop()


@contextmanager
def timed(is_wanted: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Print on a terminal how long a command took, if that was more than a second and `is_wanted`
    at its end."""
    began = time.monotonic()
    try:
        yield
    finally:
        seconds = time.monotonic() - began
        if seconds > _MIN_PRINTED_SECONDS and sys.stderr.isatty() and is_wanted():
            say(f"took {seconds:.1f} s", err=True)


class _LateStatus:
    """A line with the elapsed time and changing text, updated by a thread of its own."""

    def __init__(self, text: str) -> None:
        self._text = self._shown = text
        self._began = time.monotonic()
        self._status: Status | None = None
        self._lock = Lock()
        self._is_over = False

    def __rich__(self) -> Text:
        """Return the line without markup or terminal commands: it may contain an address from a
        file."""
        from rich.text import Text

        return Text(printable(f"{self._shown} ({time.monotonic() - self._began:.0f} s)"))

    def start(self) -> None:
        from rich.console import Console

        with self._lock:
            if not self._is_over:
                self._status = Console(stderr=True).status(self, refresh_per_second=4)
                self._status.start()

    def show(self, how_far: str) -> None:
        self._shown = f"{self._text}: {how_far}"

    def stop(self) -> None:
        with self._lock:
            self._is_over = True
            if self._status is not None:
                self._status.stop()


class _LateBar:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def show(self, progress: Progress) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < _AFTER_SECONDS:
                return
            self._start(progress.pods)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=progress.scheduled)

    def _start(self, pods: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("scheduling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("scheduling", total=pods)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
