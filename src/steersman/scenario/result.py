# SPDX-License-Identifier: Apache-2.0
"""The result of a scenario: that of its simulation with milestones, numbers and what was expected of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from steersman.scenario.expectations import CheckedExpectation
from steersman.sim import Result, Simulation

MilestoneSource: TypeAlias = Literal["timeline", "generator", "autoscaler", "stop"]


class Milestone(msgspec.Struct, frozen=True):
    """Something worth telling that happened at a time."""

    #: Seconds since the start.
    at: float
    source: MilestoneSource
    text: str


class ScenarioResult(Result):
    """A `Result` with what only scenarios have."""

    name: str
    #: What parameters stood for.
    parameters: Mapping[str, Any]
    seed: int
    #: In the order of time.
    milestones: Sequence[Milestone]
    #: By name, as in `measurements.MEASURES`; those that the scenario asks for.
    numbers: Mapping[str, float]
    #: What was expected, in the order of the document.
    checks: Sequence[CheckedExpectation]
    #: The simulation as the scenario left it, to look at or to go on with; not there after pickling.
    simulation: Simulation

    @classmethod
    def of(
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
        """The result of the simulation, and what the scenario adds."""
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
        """For programs: that of the simulation, with a part `scenario`."""
        scenario = {
            "name": self.name,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "milestones": list(self.milestones),
            "numbers": dict(self.numbers),
            "expectations": list(self.checks),
        }
        return {"scenario": msgspec.to_builtins(scenario), **super().to_dict()}
