# SPDX-License-Identifier: Apache-2.0
"""The cells of a sweep as a text table: means over seeds, with confidence intervals; on terminals
also while it runs, with a bar and the remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from steersman.base import aligned, wrapped
from steersman.simulation.scenario import MEASURES

if TYPE_CHECKING:
    from rich.live import Live

    from steersman.simulation import Estimate
    from steersman.simulation.sweep import CellSummary, SweepProgress, SweepResult


_LEADING: Final = ("scheduled", "pending")
_WHERE_THERE: Final = ("preempted", "failed", "waitP50", "waitP99", "maxNodes", "nodeHours", "cost")
"""Columns shown unless they are zero, or equal for every run of the sweep."""
_SECONDS: Final = frozenset({"seconds", "waitP50", "waitP99", "waitMax", "makespan"})
_UTILISATION: Final = "utilisation."
_FRAGMENTATION: Final = "fragmentation."
_ALWAYS_SHOWN: Final = ("utilisation.cpu", "utilisation.memory")


def as_lines(result: SweepResult, width: int | None) -> list[str]:
    """Return a row per cell, and a legend below."""
    return [*table(result.cells, width), *_differences(result, width), "", *wrapped(_closing(result), width)]


def _differences(result: SweepResult, width: int | None) -> list[str]:
    """Return the table of differences from the first configuration, if there are several and any
    two runs differ."""
    cells = result.compare()
    if not any(_is_somewhere(name, cells) for cell in cells for name in cell.estimates):
        return []
    title = f"Differences from {result.configurations[0]}, runs with the same seed in pairs:"
    return ["", *wrapped(title, width), *table(cells, width)]


def table(cells: list[CellSummary], width: int | None) -> list[str]:
    measures = _shown_measures(cells)
    parameters = list(cells[0].parameters)
    has_inputs = len({cell.input for cell in cells}) > 1
    rows = [("CONFIGURATION", *(["INPUT"] if has_inputs else []), *parameters, "RUNS", *map(_header, measures))]
    for cell in cells:
        names = (cell.configuration, *([cell.input] if has_inputs else []))
        values = (str(cell.parameters[name]) for name in parameters)
        numbers = (_shown(name, cell.estimates.get(name)) for name in measures)
        rows.append((*names, *values, str(cell.runs), *numbers))
    return aligned(rows, 1 + has_inputs + len(parameters), width)


def _shown_measures(cells: list[CellSummary]) -> list[str]:
    """Return the measures to show, without those that are zero everywhere, such as unrequested
    resources."""
    found = dict.fromkeys(name for cell in cells for name in cell.estimates)
    utilisation = [
        name
        for name in found
        if name.startswith(_UTILISATION) and (name in _ALWAYS_SHOWN or ("/" in name and _is_somewhere(name, cells)))
    ]
    own = [name for name in found if name not in MEASURES and not name.startswith((_UTILISATION, _FRAGMENTATION))]
    others = [name for name in _WHERE_THERE if _is_somewhere(name, cells) and _differs(name, cells)]
    return [*(name for name in _LEADING if name in found), *others, *own, *utilisation]


def _differs(name: str, cells: list[CellSummary]) -> bool:
    found = [cell.estimates[name] for cell in cells if name in cell.estimates]
    return len({each.mean for each in found}) > 1 or any(each.margin for each in found)


def _is_somewhere(name: str, cells: list[CellSummary]) -> bool:
    return any(name in cell.estimates and cell.estimates[name].mean for cell in cells)


def _header(name: str) -> str:
    text = name.removeprefix(_UTILISATION)
    if "/" in text:
        return text
    return "".join(f" {letter}" if letter.isupper() else letter for letter in text).upper()


def _shown(name: str, found: Estimate | None) -> str:
    """Format an estimate: `412.3 ±1.2`; without an interval if it is equal for all seeds."""
    if found is None:
        return "-"
    if name.startswith(_UTILISATION):
        return _with_margin(found.mean * 100, None if found.margin is None else found.margin * 100, 1, "%")
    return _with_margin(found.mean, found.margin, 1, "s" if name in _SECONDS else "")


def _with_margin(mean: float, margin: float | None, digits: int, unit: str) -> str:
    if not margin:
        return f"{round(mean, digits):g}{unit}" if abs(mean) < 1e6 else f"{mean:,.0f}{unit}"
    if margin >= 10:
        digits = 0
    while digits < 4 and margin < 10**-digits:
        digits += 1
    return f"{mean:.{digits}f}{unit} ±{margin:.{digits}f}"


def _closing(result: SweepResult) -> str:
    failed = len(result.failed)
    wrong = f", {failed} of them failed" if failed else ""
    where = f"; rows are in {result.output / 'results.parquet'}" if result.output else ""
    return f"{result.done} runs{wrong}; means over seeds, ± to both sides holds the true mean 95 times in 100{where}"


# -- progress ----------------------------------------------------------------------------------------------------------


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
        label = f" {progress.done} of {progress.runs} runs{left}"
        room = max(min(width - len(label) - 2, 40), 4)
        full = round(room * progress.done / progress.runs)
        return f"{'━' * full}{'╺' * (room - full)}{label}"


def _duration(seconds: float) -> str:
    """Format a duration: `45 s`, `3 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
