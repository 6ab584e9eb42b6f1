# SPDX-License-Identifier: Apache-2.0
"""The result of a scenario: its simulation's result, milestones, numbers and expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from steersman.simulation.results.result import Result
from steersman.simulation.scenario.measurements import CheckedExpectation
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
