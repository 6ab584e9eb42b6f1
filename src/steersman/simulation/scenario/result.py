# SPDX-License-Identifier: Apache-2.0
"""The result of a scenario: its simulation's result, milestones, numbers and expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from steersman import api
from steersman.base import duration_text
from steersman.base.report import Column, Report, Table
from steersman.simulation.report import node_groups, simulation_report
from steersman.simulation.results.result import Result
from steersman.simulation.scenario.measurements import MEASURES, CheckedExpectation
from steersman.simulation.simulation import Simulation

MilestoneSource: TypeAlias = Literal["timeline", "generator", "autoscaler", "stop"]


class Milestone(msgspec.Struct, frozen=True):
    """A notable event of the scenario."""

    #: Seconds since the start.
    at: float
    source: MilestoneSource
    text: str


class ScenarioResult(Result):
    """A `Result` with the attributes of scenarios."""

    name: str
    #: Values of the parameters.
    parameters: Mapping[str, Any]
    seed: int
    #: Milestones in chronological order.
    milestones: Sequence[Milestone]
    #: Name (see `measurements.MEASURES`) → value, for the measures that the scenario reports.
    numbers: Mapping[str, float]
    #: Checked expectations in the order of the document.
    checks: Sequence[CheckedExpectation]
    #: The simulation in its final state, for inspection or continuation; missing after pickling.
    simulation: Simulation

    @classmethod
    def from_run(
        cls,
        result: Result,
        *,
        name: str,
        parameters: Mapping[str, Any],
        seed: int,
        milestones: Sequence[Milestone],
        numbers: Mapping[str, float],
        checks: Sequence[CheckedExpectation],
        simulation: Simulation,
    ) -> ScenarioResult:
        """Return the simulation's result with the attributes of the scenario."""
        made = cls.__new__(cls)
        made.__dict__.update(result.__dict__)
        made.name, made.parameters, made.seed = name, parameters, seed
        made.milestones, made.numbers, made.checks = milestones, numbers, checks
        made.simulation = simulation
        return made

    @property
    def is_as_expected(self) -> bool:
        return all(check.is_met for check in self.checks)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("simulation", None)
        return state

    def to_dict(self) -> dict[str, Any]:
        """Return the simulation's document with a key `scenario`."""
        scenario = {
            "name": self.name,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "milestones": list(self.milestones),
            "numbers": dict(self.numbers),
            "expectations": list(self.checks),
        }
        return {"scenario": msgspec.to_builtins(scenario), **super().to_dict()}


# -- the report --------------------------------------------------------------------------------------------------------


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
