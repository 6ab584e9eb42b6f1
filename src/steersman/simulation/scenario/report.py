# SPDX-License-Identifier: Apache-2.0
"""The report of a scenario: its numbers and milestones, then the report of the simulation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steersman import api
from steersman.base import duration_text
from steersman.base.report import Column, Report, Table
from steersman.simulation.report import node_groups, simulation_report
from steersman.simulation.scenario.measurements import MEASURES
from steersman.simulation.scenario.result import ScenarioResult


def scenario_report(result: ScenarioResult, commands: Sequence[str] = ()) -> Report:
    """Return the report, for `steersman.base.report.render_html`."""
    groups = node_groups(result.simulation.cluster.objects(api.Node).values())
    plain = simulation_report(result, None, groups, commands, f"What happens in the scenario {result.name}?")
    sections = [_numbers(result), _milestones(result), *plain.sections]
    is_well = result.is_as_expected and not result.stopped
    return msgspec.structs.replace(
        plain, title=f"Scenario {result.name}", answer=_answer(result, plain), fits=is_well, sections=sections
    )


def _answer(result: ScenarioResult, plain: Report) -> str:
    missed = [
        f"{check.measure} is {check.value:g}, expected {check.expected}" for check in result.checks if not check.is_met
    ]
    if missed:
        return f"Not as expected: {'; '.join(missed)}."
    return f"{plain.answer} All expectations are met." if result.checks else plain.answer


def _numbers(result: ScenarioResult) -> Table:
    checks = {check.measure: check for check in result.checks}
    values = {**result.numbers, **{check.measure: check.value for check in result.checks}}
    rows = [
        (name, value, checks[name].expected if name in checks else "", _verdict(name, result), MEASURES[name])
        for name, value in values.items()
    ]
    return Table("Numbers", ("number", "value", "expected", "met", "meaning"), rows)


def _verdict(name: str, result: ScenarioResult) -> str:
    return next(("yes" if check.is_met else "NO" for check in result.checks if check.measure == name), "")


def _milestones(result: ScenarioResult) -> Table:
    rows = [(each.at, duration_text(each.at), each.source, each.text) for each in result.milestones]
    return Table("What happened", (Column("seconds"), "time", "by", "what"), rows)
