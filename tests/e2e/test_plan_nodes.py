# SPDX-License-Identifier: Apache-2.0
"""The bundled case of `plan nodes`, 12 pools and 3,000 pods: half a minute of one core, which is too long for `make test`."""

from __future__ import annotations

from pathlib import Path

from steersman import Simulation, api, plan

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "node_pools"


def test_the_gap_of_the_bundled_case_is_below_five_percent_and_its_plan_leaves_nothing_pending() -> None:
    workloads, pools = EXAMPLE / "workloads.yaml", EXAMPLE / "pools" / "pools.yaml"
    new: list[api.Node] = []
    answer = plan.nodes(Simulation.load(workloads), pools, on_nodes=new.extend)
    assert answer.is_met
    assert answer.gap is not None
    assert answer.gap < 0.05
    result = Simulation.load(workloads, new).run()
    assert not result.pending
    assert result.summary.pods > 3000
