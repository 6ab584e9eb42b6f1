# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate --scenario FILE`: runs a scenario and prints its result.

`simulate` has the options and calls `simulate_scenario`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from steersman.cli.explain import MAX_NODES
from steersman.cli.output import say_answer, say_note
from steersman.cli.parameters import Given, parse_gates
from steersman.cli.progress import working
from steersman.cli.record import recording
from steersman.cli.report_file import command_line, write_report
from steersman.cli.simulate import conclude
from steersman.cli.terminal import terminal_width

if TYPE_CHECKING:
    from steersman.simulation.scenario import Milestone

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
    from steersman.cli import scenario_report, simulation_report
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
        lambda: scenario_report.as_table(result, explanations, most_nodes, MAX_PENDING, terminal_width()),
    )
    if given["report_file"] is not None:
        from steersman.simulation.scenario import scenario_report as report_of_scenario

        write_report(report_of_scenario(result, [command_line()]), given["report_file"])
    unmet = [
        f"{check.measure} is {check.value:g}, expected {check.expected}" for check in result.checks if not check.is_met
    ]
    conclude(result, given["fail_on_pending"], unmet)


def _line(milestone: Milestone) -> str:
    from steersman.base import duration_text

    return f"{duration_text(milestone.at)} {milestone.text}"
