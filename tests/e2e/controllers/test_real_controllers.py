# SPDX-License-Identifier: Apache-2.0
"""What kube-controller-manager makes of every scenario is what has been recorded of it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

import pytest
from tests.controllers.comparison.masking import differences
from tests.controllers.comparison.recordings import record, recorded_result
from tests.controllers.comparison.running import Result
from tests.controllers.comparison.scenario import Scenario, all_scenarios


@pytest.mark.parametrize("scenario", all_scenarios(), ids=lambda scenario: scenario.name)
def test_the_real_controllers_do_what_was_recorded(
    scenario: Scenario, real_results: Mapping[str, Future[Result]], request: pytest.FixtureRequest
) -> None:
    result = real_results[scenario.name].result()
    if request.config.getoption("--record", default=False):
        record(scenario, result)
    known = recorded_result(scenario)

    assert differences(known.snapshots, result.snapshots) == []
    assert result.refusals == known.refusals
