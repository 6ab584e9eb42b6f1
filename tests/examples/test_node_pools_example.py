# SPDX-License-Identifier: Apache-2.0
"""The example with twelve node pools, with some of its workloads and fewer replicas; `make e2e` plans for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from steersman import Simulation, api, plan
from steersman.simulation import load_pools

EXAMPLE = Path(__file__).parents[2] / "examples" / "node_pools"
POOLS = EXAMPLE / "pools" / "pools.yaml"


def reduced(workload: dict[str, Any]) -> dict[str, Any]:
    """The workload with one replica of twenty; a DaemonSet has none to lose."""
    replicas = workload["spec"].get("replicas")
    return workload if replicas is None else {**workload, "spec": {**workload["spec"], "replicas": -(-replicas // 20)}}


def test_every_fifth_workload_gets_a_plan_that_leaves_nothing_pending(tmp_path: Path) -> None:
    workloads = tmp_path / "workloads.yaml"
    documents = list(yaml.safe_load_all((EXAMPLE / "workloads.yaml").read_text()))
    workloads.write_text(yaml.safe_dump_all(map(reduced, documents[::5])))
    new: list[api.Node] = []
    answer = plan.nodes(Simulation.load(workloads), POOLS, on_nodes=new.extend)
    assert answer.is_met
    result = Simulation.load(workloads, new).run()
    assert not result.pending
    assert result.summary.pods > 25


def test_there_are_as_many_pools_and_workloads_as_its_page_says() -> None:
    documents = list(yaml.safe_load_all((EXAMPLE / "workloads.yaml").read_text()))
    kinds = [document["kind"] for document in documents]
    assert (len(load_pools(POOLS).pools), kinds.count("DaemonSet")) == (12, 3)
    assert len(kinds) - 3 == 38
