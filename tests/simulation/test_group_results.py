# SPDX-License-Identifier: Apache-2.0
"""Pod groups in the result of a simulation."""

from __future__ import annotations

from steersman import Simulation, api
from steersman.simulation import GroupResult
from steersman.testing import make_composite_pod_group, make_node, make_pod, make_pod_group

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}


def node(name: str, rack: str) -> api.Node:
    return make_node(name).allocatable(cpu="4", memory="8Gi", pods="110").label("rack", rack).obj()


def members(group: str, count: int, cpu: str = "1") -> list[api.Pod]:
    return [make_pod(f"{group}-{index}").req(cpu=cpu).in_group(group).obj() for index in range(count)]


def groups_of(*objects: api.Object | list[api.Pod]) -> dict[str, GroupResult]:
    with Simulation.load(objects, emulated_version="1.37", gates=GATES) as simulation:
        return dict(simulation.run().groups)


def test_a_scheduled_gang_has_its_domain_and_no_reason() -> None:
    gang = make_pod_group("gang").gang(2).topology("rack").obj()
    groups = groups_of(node("n1", "a"), gang, members("gang", 2))
    assert groups == {
        "default/gang": GroupResult("default/gang", pods=2, placed=2, min_count=2, topology_key="rack", domains=("a",))
    }
    assert not groups["default/gang"].is_pending


def test_a_gang_that_fits_nowhere_has_the_condition_of_its_group() -> None:
    found = groups_of(node("n1", "a"), make_pod_group("gang").gang(5).obj(), members("gang", 5))["default/gang"]
    assert (found.pods, found.placed, found.reason, found.is_pending) == (5, 0, "Unschedulable", True)
    assert "minCount (5) cannot be satisfied: 4 scheduled" in found.message


def test_a_gang_without_enough_pods_and_a_missing_group_have_reasons() -> None:
    groups = groups_of(node("n1", "a"), make_pod_group("few").gang(3).obj(), members("few", 1), members("lost", 2))
    assert (groups["default/few"].reason, groups["default/few"].message) == ("Incomplete", "needs 3 pods and has 1")
    assert (groups["default/lost"].reason, groups["default/lost"].pods) == ("NotFound", 2)


def test_a_basic_group_is_scheduled_with_its_first_member() -> None:
    found = groups_of(node("n1", "a"), make_pod_group("basic").basic().obj(), members("basic", 2, "3"))["default/basic"]
    assert (found.placed, found.pods, found.min_count, found.is_pending) == (1, 2, None, False)


def test_a_leaf_of_a_tree_names_its_root() -> None:
    root, leaf = make_composite_pod_group("root").gang(1).obj(), make_pod_group("leaf").gang(1).parent("root").obj()
    found = groups_of(node("n1", "a"), root, leaf, members("leaf", 1))["default/leaf"]
    assert (found.root, found.placed) == ("compositepodgroup/default/root", 1)


def test_the_document_has_groups_only_if_there_are_any() -> None:
    with Simulation.load(node("n1", "a"), make_pod("alone").obj(), emulated_version="1.37", gates=GATES) as plain:
        assert "groups" not in plain.run().to_dict()
        plain.add([make_pod_group("gang").gang(1).obj(), *members("gang", 1)])
        (group,) = plain.run().to_dict()["groups"]
    assert group == {"group": "default/gang", "pods": 1, "placed": 1, "minCount": 1}
