# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate --scenario FILE`: runs a scenario and prints its result.

`simulate` has the options and calls `simulate_scenario`. The text has milestones, numbers,
expectations, and pending pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.base import aligned, duration_text, printable, wrap_hanging, wrapped
from steersman.cli import simulation_report
from steersman.cli.explain import MAX_NODES, answer_texts
from steersman.cli.output import say_answer, say_note, terminal_width
from steersman.cli.parameters import Given, parse_gates
from steersman.cli.progress import working
from steersman.cli.record import recording
from steersman.cli.report_file import command_line, write_report
from steersman.cli.simulate import conclude
from steersman.simulation.scenario import MEASURES

if TYPE_CHECKING:
    from steersman.explain import PodExplanation
    from steersman.simulation.scenario import Milestone, ScenarioResult


MAX_PENDING: Final = 10
"""Maximum number of pending pods printed; JSON and YAML contain all."""
_NOT_WITH_A_SCENARIO: Final = {"example": "--example", "kubelet_policy": "--kubelet-policy"}


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parse `name=value` strings; values are parsed as YAML: numbers, booleans, strings. Raises
    `click.UsageError`."""
    from steersman.api import yaml_documents
    from steersman.base import InputError

    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--set {setting!r} is not of the form name=value.")
        try:
            value = next(yaml_documents.documents(text), "")
        except InputError:
            value = text
        found[name.strip()] = value if isinstance(value, str | int | float | bool) else text
    return found


def simulate_scenario(given: Given) -> None:
    """Run the scenario selected by the options of `simulate`, print the result and set the exit
    code."""
    from steersman.explain import explain_pod
    from steersman.simulation.scenario import open_scenario

    for option, flag in _NOT_WITH_A_SCENARIO.items():
        if given[option]:
            raise click.UsageError(f"{flag} and --scenario do not go together: the scenario says it.")
    if not given["controllers"]:
        raise click.UsageError("--no-controllers and --scenario do not go together: write controllers: false there.")
    with working("running the scenario") as show:
        execution = open_scenario(
            given["scenario"],
            sources=given["files"],
            config=given["config_file"],
            plugins=given["plugins"],
            gates=parse_gates(given["feature_gates"], given["emulated_version"]),
            seed=given["seed"],
            parameters=parse_settings(given["settings"]),
            until=given["until"],
            extenders=given["extenders"],
            on_milestone=lambda milestone: show(_line(milestone)),
        )
        with recording(execution.simulation, given["record_directory"]):
            result = execution.run()
        explanations = [explain_pod(result.simulation, pod) for pod in given["explain"]]
    for note in result.notes:
        say_note(note)
    most_nodes = None if given["all_nodes"] else MAX_NODES
    say_answer(
        given["output"],
        lambda: simulation_report.as_document(result, explanations),
        lambda: as_table(result, explanations, most_nodes, MAX_PENDING, terminal_width()),
    )
    if given["report_file"] is not None:
        from steersman.simulation.scenario import scenario_report

        write_report(scenario_report(result, [command_line()]), given["report_file"])
    unmet = [
        f"{check.measure} is {check.value:g}, expected {check.expected}" for check in result.checks if not check.is_met
    ]
    conclude(result, given["fail_on_pending"], unmet)


def _line(milestone: Milestone) -> str:
    from steersman.base import duration_text

    return f"{duration_text(milestone.at)} {milestone.text}"


# -- text --------------------------------------------------------------------------------------------------------------


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
    """`most_nodes` of those that fit in an explanation, None: every node; `width` in characters,
    None: no limit."""
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
    rows = [(duration_text(milestone.at), milestone.text) for milestone in result.milestones]
    left_out = len(rows) - MAX_MILESTONES
    if left_out > 0:
        half = MAX_MILESTONES // 2
        rows[half:-half] = [("…", f"({left_out} more; -o json has all)")]
    column = max((len(time) for time, _ in rows), default=0)
    column = max(column, len("TIME"))
    yield f"{'TIME':>{column}}  WHAT HAPPENED"
    for time, text in rows:
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
