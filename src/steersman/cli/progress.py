# SPDX-License-Identifier: Apache-2.0
"""The progress bar of long runs, on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from steersman.sim import Progress

_AFTER_SECONDS: Final = 0.7
"""A run that is shorter gets no bar."""


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """A function that shows how far a run has got; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _LateBar()
    try:
        yield bar.show
    finally:
        bar.stop()


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
