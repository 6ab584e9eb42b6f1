# SPDX-License-Identifier: Apache-2.0
"""A scenario is recorded like any simulation, its autoscaler included."""

from __future__ import annotations

from pathlib import Path

import steersman
from steersman.record import record_simulation, replay
from steersman.simulation.scenario import open_scenario, run_scenario

EXAMPLE = Path(steersman.__file__).parents[2] / "examples" / "shop_day" / "scenario.yaml"


def test_a_recorded_scenario_is_replayed_to_the_last_score(tmp_path: Path) -> None:
    execution = open_scenario(EXAMPLE, until=1800.0)
    with record_simulation(execution.simulation, tmp_path):
        result = execution.run()
    found = replay(tmp_path)
    assert found.is_same
    assert found.same == found.recorded > 5
    assert not found.notes
    assert result.to_dict() == run_scenario(EXAMPLE, until=1800.0).to_dict(), "recording changes nothing"
