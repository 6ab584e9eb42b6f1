# SPDX-License-Identifier: Apache-2.0
"""How many copies of a pod group fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman import Simulation, api, plan
from steersman.base.errors import InputError
from steersman.testing import make_node

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: training}
spec: {schedulingPolicy: {gang: {minCount: 3}}%s}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: worker}
spec:
  schedulingGroup: {podGroupName: training}
  containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]
"""
IN_A_RACK = ", schedulingConstraints: {topology: [{key: rack}]}"


def nodes(*racks: str) -> list[api.Node]:
    made = [make_node(f"n{number}").allocatable(cpu="4", memory="8Gi", pods="110") for number in range(len(racks))]
    return [node.label("rack", rack).obj() for node, rack in zip(made, racks, strict=True)]


def capacity(file: Path, *racks: str, constraint: str = "", gates: dict[str, bool] = GATES) -> plan.Capacity:
    file.write_text(GROUP % constraint + POD)
    with Simulation.load(nodes(*racks), emulated_version="1.37", gates=gates) as simulation:
        return plan.capacity(simulation, [file], at_least=3)


def gangs_of(answer: plan.Capacity) -> tuple[int, int, dict[str, int]]:
    assert answer.gangs is not None
    return answer.gangs.size, answer.gangs.fits, answer.gangs.per_domain


def test_gangs_are_counted_as_a_whole(tmp_path: Path) -> None:
    answer = capacity(tmp_path / "gang.yaml", "a", "a", "b")
    assert gangs_of(answer) == (3, 4, {})
    assert (answer.fits, sum(answer.per_node.values()), answer.is_met) == (12, 12, True)
    assert "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining" in answer.message


def test_gangs_in_one_domain_are_counted_by_domain(tmp_path: Path) -> None:
    answer = capacity(tmp_path / "gang.yaml", "a", "a", "b", constraint=IN_A_RACK)
    assert gangs_of(answer) == (3, 3, {"a": 2, "b": 1})
    assert answer.sentence().startswith("3 more of training fit, with 3 pods each; pod group is unschedulable")


def test_more_gangs_than_the_limit_are_not_tried(tmp_path: Path) -> None:
    file = tmp_path / "gang.yaml"
    file.write_text(GROUP % "" + POD)
    with Simulation.load(nodes(*"aaaa"), emulated_version="1.37", gates=GATES) as simulation:
        answer = plan.capacity(simulation, [file], most=12)
    assert (gangs_of(answer)[1], answer.message) == (4, "")
    assert answer.notes[0].startswith("more than 12 fit")


def test_the_simulation_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "gang.yaml").write_text(GROUP % "" + POD)
    with Simulation.load(nodes("a"), emulated_version="1.37", gates=GATES) as simulation:
        plan.capacity(simulation, [tmp_path / "gang.yaml"])
        assert not simulation.cluster.objects(api.Pod)
        assert not simulation.cluster.objects(api.PodGroup)


def test_groups_need_their_feature_gate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="GenericWorkload is off") as refused:
        capacity(tmp_path / "gang.yaml", "a", gates={})
    assert "--feature-gates GenericWorkload=true" in str(refused.value)


def test_a_pod_whose_group_is_not_in_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    with (
        Simulation.load(nodes("a"), emulated_version="1.37", gates=GATES) as simulation,
        pytest.raises(InputError, match="names a PodGroup that is missing"),
    ):
        plan.capacity(simulation, [tmp_path / "pod.yaml"])
