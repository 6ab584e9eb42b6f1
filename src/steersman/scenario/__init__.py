# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what happens to a cluster over time, from a file, carried out in a simulation.

    result = run_scenario("black-friday.yaml", seed=1, parameters={"rate": 240})
    result.numbers["waitP99"], result.is_as_expected

Read `document` first: what users write. `loading` checks it, `execution` carries it out with the help of `timeline`, `actions`
and `generators`; `measurements` and `expectations` are what comes of it.
"""

from steersman.scenario.document import ScenarioDocument, json_schema
from steersman.scenario.execution import run_scenario
from steersman.scenario.expectations import CheckedExpectation
from steersman.scenario.loading import Scenario, ScenarioSource, load_scenario
from steersman.scenario.measurements import MEASURES
from steersman.scenario.result import Milestone, ScenarioResult

__all__ = [
    "MEASURES",
    "CheckedExpectation",
    "Milestone",
    "Scenario",
    "ScenarioDocument",
    "ScenarioResult",
    "ScenarioSource",
    "json_schema",
    "load_scenario",
    "run_scenario",
]
