# SPDX-License-Identifier: Apache-2.0
"""The same objects and changes for kube-controller-manager, now, and for our controllers: what they leave is equal."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

import pytest
from tests.controllers.comparison.embedded_side import EmbeddedSide
from tests.controllers.comparison.masking import differences
from tests.controllers.comparison.running import Result, Run
from tests.controllers.comparison.scenario import Scenario, all_scenarios


@pytest.mark.parametrize("scenario", all_scenarios(), ids=lambda scenario: scenario.name)
def test_our_controllers_do_what_the_real_ones_do(
    scenario: Scenario, real_results: Mapping[str, Future[Result]]
) -> None:
    real = real_results[scenario.name].result()
    ours = Run(scenario, EmbeddedSide(scenario), real.applied).run()

    assert differences(real.snapshots, ours.snapshots) == []
    assert ours.refusals == real.refusals
