# SPDX-License-Identifier: Apache-2.0
"""Scenarios: files with the events of a cluster over time, executed in a simulation.

    result = run_scenario("black-friday.yaml", seed=1, parameters={"rate": 240})
    result.numbers["waitP99"], result.is_as_expected

Read `document` first: the file format. `loading` checks it, `execution` runs it with `timeline`,
`actions` and `generators`; `measurements` and `expectations` produce the result.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.simulation.scenario.document import ScenarioDocument as ScenarioDocument, json_schema as json_schema
    from steersman.simulation.scenario.execution import (
        Execution as Execution,
        open_scenario as open_scenario,
        run_scenario as run_scenario,
    )
    from steersman.simulation.scenario.expectations import CheckedExpectation as CheckedExpectation
    from steersman.simulation.scenario.loading import (
        Scenario as Scenario,
        ScenarioSource as ScenarioSource,
        load_scenario as load_scenario,
    )
    from steersman.simulation.scenario.measurements import MEASURES as MEASURES
    from steersman.simulation.scenario.report import scenario_report as scenario_report
    from steersman.simulation.scenario.result import Milestone as Milestone, ScenarioResult as ScenarioResult
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "document": "ScenarioDocument json_schema",
            "execution": "Execution open_scenario run_scenario",
            "expectations": "CheckedExpectation",
            "loading": "Scenario ScenarioSource load_scenario",
            "measurements": "MEASURES",
            "report": "scenario_report",
            "result": "Milestone ScenarioResult",
        },
    )
