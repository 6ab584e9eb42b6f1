# SPDX-License-Identifier: Apache-2.0
from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.inter_pod_affinity.hints import after_node_change
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

SKIP, QUEUE = QueueingHint.SKIP, QueueingHint.QUEUE
NEAR = make_pod("p").pod_affinity("zone", {"service": "scan"})
APART = make_pod("p").anti_affinity("zone", {"another": "label"})
BARE = make_node("node-a")
ZONE1, ZONE2, OTHER = BARE.label("zone", "zone1"), BARE.label("zone", "zone2"), BARE.label("aaa", "a")


def hint(waiting: PodBuilder, *, new: NodeBuilder, old: NodeBuilder | None = None) -> QueueingHint:
    return after_node_change(waiting.obj(), old and old.obj(), new.obj())


def test_a_new_node_helps_affinity_if_it_has_the_topology_label() -> None:
    assert hint(NEAR, new=ZONE1) is QUEUE
    assert hint(NEAR, new=OTHER) is SKIP


def test_every_new_node_helps_anti_affinity() -> None:
    assert hint(APART, new=ZONE1) is QUEUE
    assert hint(APART, new=BARE) is QUEUE


def test_a_new_node_does_not_help_a_pod_without_terms() -> None:
    assert hint(make_pod("p"), new=ZONE1) is SKIP


def test_changes_of_other_labels_do_not_help() -> None:
    for waiting in (NEAR, APART):
        assert hint(waiting, old=ZONE1, new=ZONE1.label("unrelated", "x")) is SKIP
        assert hint(waiting, old=OTHER, new=BARE.label("aaa", "b")) is SKIP


def test_a_node_that_moves_to_another_domain_helps() -> None:
    assert hint(NEAR, old=ZONE1, new=ZONE2) is QUEUE
    assert hint(APART, old=ZONE1, new=ZONE2) is QUEUE


def test_a_node_that_enters_a_domain_helps_affinity_only() -> None:
    assert hint(NEAR, old=OTHER, new=ZONE1) is QUEUE
    assert hint(APART, old=OTHER, new=ZONE1) is SKIP


def test_a_node_that_leaves_its_domain_helps_anti_affinity_only() -> None:
    assert hint(NEAR, old=ZONE1, new=OTHER) is SKIP
    assert hint(APART, old=ZONE1, new=OTHER) is QUEUE


def test_one_of_several_terms_is_enough() -> None:
    several = NEAR.pod_affinity("region", {"service": "scan"})
    assert hint(several, old=ZONE1, new=ZONE1.label("region", "r1")) is QUEUE
