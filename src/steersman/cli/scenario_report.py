# SPDX-License-Identifier: Apache-2.0
"""The result of a scenario as text: milestones, numbers, expectations, and pending pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from steersman.base import aligned, duration_text, printable, wrap_hanging, wrapped
from steersman.cli import simulation_report
from steersman.cli.explain import answer_texts
from steersman.simulation.scenario import MEASURES

if TYPE_CHECKING:
    from steersman.explain import PodExplanation
    from steersman.simulation.scenario import ScenarioResult

MAX_MILESTONES: Final = 60
"""Maximum number of milestones printed, the first and the last ones; JSON and YAML contain all."""
_TIMES: Final = ("seconds", "waitP50", "waitP99", "waitMax", "makespan")


def as_table(
    result: ScenarioResult,
    explanations: Sequence[PodExplanation],
    most_nodes: int | None,
    most_pending: int,
    width: int | None,
) -> str:
    """`most_nodes` of those that fit in an explanation, None: every node; `width` in characters, None: no limit."""
    return "\n".join(_sections(result, explanations, most_nodes, most_pending, width))


def _sections(
    result: ScenarioResult,
    explanations: Sequence[PodExplanation],
    most_nodes: int | None,
    most_pending: int,
    width: int | None,
) -> Iterator[str]:
    yield from wrapped(_title(result), width)
    yield ""
    yield from _milestones(result, width)
    yield ""
    if result.pending:
        yield from _pending(result, most_pending, width)
        yield ""
    for text in answer_texts(explanations, most_nodes, width, result.notes):
        yield text
        yield ""
    yield from _numbers(result, width)
    yield ""
    yield from wrapped(simulation_report.summary_line(result), width)


def _title(result: ScenarioResult) -> str:
    settings = "".join(f", {name}={value}" for name, value in result.parameters.items())
    return printable(f"Scenario {result.name}: seed {result.seed}{settings}")


def _milestones(result: ScenarioResult, width: int | None) -> Iterator[str]:
    told = [(duration_text(milestone.at), milestone.text) for milestone in result.milestones]
    left_out = len(told) - MAX_MILESTONES
    if left_out > 0:
        half = MAX_MILESTONES // 2
        told[half:-half] = [("…", f"({left_out} more; -o json has all)")]
    column = max((len(time) for time, _ in told), default=0)
    column = max(column, len("TIME"))
    yield f"{'TIME':>{column}}  WHAT HAPPENED"
    for time, text in told:
        yield from wrap_hanging(f"{time:>{column}}  ", printable(text), width)


def _pending(result: ScenarioResult, most: int, width: int | None) -> Iterator[str]:
    yield "PENDING"
    pending = list(result.pending.values())
    for placement in pending[:most]:
        yield f"{placement.pod} ({placement.reason}, since {duration_text(placement.since or 0.0)})"
        yield from wrapped(f"  {printable(placement.message)}", width)
    if len(pending) > most:
        yield f"({len(pending) - most} more; -o json has all)"


def _numbers(result: ScenarioResult, width: int | None) -> Iterator[str]:
    expected = {check.measure: check for check in result.checks}
    values = {**result.numbers, **{check.measure: check.value for check in result.checks}}
    rows = [("NUMBER", "VALUE", *(("EXPECTED",) if expected else ()), "MEANING")]
    for name, value in values.items():
        check = expected.get(name)
        verdict = "" if check is None else f"{check.expected} {'met' if check.is_met else 'NOT MET'}"
        rows.append((name, _shown(name, value), *((verdict,) if expected else ()), MEASURES[name]))
    yield from aligned(rows, width=width)


def _shown(name: str, value: float) -> str:
    return duration_text(value) if name in _TIMES else f"{value:,.10g}"
