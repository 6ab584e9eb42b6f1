# SPDX-License-Identifier: Apache-2.0
"""Scenarios: files with the events of a cluster over time, executed in a simulation.

    result = run_scenario("black-friday.yaml", seed=1, parameters={"rate": 240})
    result.numbers["waitP99"], result.is_as_expected

Read `document` first: the file format. `loading` checks it, `execution` runs it with `timeline`,
`actions` and `generators`; `measurements` produces the result.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "document": "ScenarioDocument json_schema",
        "execution": "Execution open_scenario run_scenario",
        "loading": "Scenario ScenarioSource load_scenario",
        "measurements": "CheckedExpectation MEASURES",
        "result": "Milestone ScenarioResult scenario_report",
    },
)
