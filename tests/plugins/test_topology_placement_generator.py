# SPDX-License-Identifier: Apache-2.0
"""TopologyPlacementGenerator divides the nodes by the topology key of the group."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.plugins.group_handles import Group, GroupHandle

from steersman.framework import CycleState, Placement, Status, error
from steersman.scheduler.plugins.topology_placement_generator import TopologyPlacementGenerator
from steersman.testing import PodBuilder, make_composite_pod_group, make_node, make_pod, make_pod_group

RACKS = {"n1": "r1", "n2": "r2", "n3": "r1", "n4": None}
NODES = [
    (make_node(name).label("rack", rack) if rack is not None else make_node(name)).info()
    for name, rack in RACKS.items()
]
ALL = Placement("", tuple(RACKS))
GANG = make_pod_group("gang").gang(2).topology("rack")
UNKNOWN = "cannot determine domain for already scheduled pods: "


def generated(
    group: Group, members: Sequence[PodBuilder] = (), parent: Placement = ALL, others: Sequence[Group] = ()
) -> dict[str, tuple[str, ...]] | Status:
    handle = GroupHandle([group, *others], members, nodes=NODES, gates={"CompositePodGroup": True})
    placements = TopologyPlacementGenerator(None, handle).generate_placements(CycleState(), handle.info(group), parent)
    if isinstance(placements, Status):
        return placements
    return {placement.name: placement.node_names for placement in placements}


def running(name: str, node: str, group: str = "gang") -> PodBuilder:
    return make_pod(name).in_group(group).node(node)


def test_a_group_without_a_constraint_has_the_placement_of_its_parent() -> None:
    assert generated(make_pod_group("gang").gang(2), parent=Placement("r1", ("n1",))) == {"r1": ("n1",)}


def test_each_value_of_the_label_is_a_placement() -> None:
    assert generated(GANG) == {"r1": ("n1", "n3"), "r2": ("n2",)}


def test_only_nodes_of_the_parent_placement_are_candidates() -> None:
    assert generated(GANG, parent=Placement("zone", ("n2", "n3", "gone"))) == {"r2": ("n2",), "r1": ("n3",)}


def test_running_members_leave_their_domain() -> None:
    assert generated(GANG, [running("a", "n3"), make_pod("b").in_group("gang")]) == {"r1": ("n1", "n3")}


def test_members_of_all_descendants_of_a_composite_group_count() -> None:
    root = make_composite_pod_group("root").gang(1).topology("rack")
    leaf = make_pod_group("leaf").gang(1).parent("root")
    assert generated(root, [running("a", "n2", "leaf")], others=[leaf]) == {"r2": ("n2",)}


def test_no_node_with_the_label_is_no_placement() -> None:
    assert generated(GANG, parent=Placement("", ("n4",))) == {}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (("n1", "n2"), "more than 1 domain found for pod group: r1, r2"),
        (("n4",), "no topology domain found for pod default/a"),
        (("gone",), 'getting node for pod default/a: nodeinfo not found for node name "gone"'),
    ],
)
def test_running_members_outside_of_one_domain_are_an_error(nodes: Sequence[str], message: str) -> None:
    members = [running(name, node) for name, node in zip("ab", nodes, strict=False)]
    assert generated(GANG, members) == error(UNKNOWN + message)
