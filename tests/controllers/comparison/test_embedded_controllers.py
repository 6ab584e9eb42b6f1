# SPDX-License-Identifier: Apache-2.0
"""Our controllers make of every scenario what kube-controller-manager v1.36.4 was recorded to make of it."""

from __future__ import annotations

import pytest
from tests.controllers.comparison.embedded_side import EmbeddedSide
from tests.controllers.comparison.masking import differences
from tests.controllers.comparison.recordings import recorded_result
from tests.controllers.comparison.running import Run
from tests.controllers.comparison.scenario import Scenario, all_scenarios


@pytest.mark.parametrize("scenario", all_scenarios(), ids=lambda scenario: scenario.name)
def test_our_controllers_do_what_the_real_ones_do(scenario: Scenario) -> None:
    known = recorded_result(scenario)
    result = Run(scenario, EmbeddedSide(scenario), known.applied).run()
    assert differences(known.snapshots, result.snapshots) == []
    assert result.refusals == known.refusals
