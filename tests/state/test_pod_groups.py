# SPDX-License-Identifier: Apache-2.0
"""Pod groups with their members by state, as the cache and `ingest` report them."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.base.graph_copy import GraphCopy
from steersman.framework import GroupKey, GroupKind
from steersman.scheduler.state import Cache, ObjectStore, PodGroupTable, StateInvariantError
from steersman.scheduler.state.pod_groups import GroupMembers
from steersman.testing import PodBuilder, make_composite_pod_group, make_node, make_pod, make_pod_group

DEPTH = 1000


def leaf(name: str) -> GroupKey:
    return GroupKey(GroupKind.POD_GROUP, "default", name)


def composite(name: str) -> GroupKey:
    return GroupKey(GroupKind.COMPOSITE, "default", name)


class Cluster:
    """A cache with a table of groups."""

    def __init__(self) -> None:
        self.groups = PodGroupTable()
        self.cache = Cache(ObjectStore(), pod_groups=self.groups)
        self.cache.set_node(make_node("n1").capacity(cpu=8, pods=110).obj())

    def add(self, pod: PodBuilder) -> None:
        self.groups.put(pod.obj())

    def assume(self, pod: PodBuilder) -> None:
        self.cache.assume(self.cache.shapes.info(pod.obj()), "n1")

    def names(self, group: str = "gang") -> tuple[list[str], list[str], list[str]]:
        """Return the names of unscheduled, assumed and assigned members."""
        state = self.groups.state("default", group)
        unscheduled, assumed, assigned = (
            sorted(pod.metadata.name for pod in pods.values())
            for pods in (state.unscheduled, state.assumed, state.assigned)
        )
        return unscheduled, assumed, assigned


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


FIRST, SECOND = make_pod("first").in_group("gang"), make_pod("second").in_group("gang")


class TestMembers:
    def test_a_group_has_members_before_its_object_exists(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        assert cluster.names() == (["first"], [], [])
        assert cluster.groups.pod_group("default", "gang") is None

    def test_a_pod_without_a_group_is_no_member(self, cluster: Cluster) -> None:
        cluster.add(make_pod("single"))
        assert list(cluster.groups.members()) == []

    def test_an_assumed_member_is_shown_on_its_node(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.assume(FIRST)
        state = cluster.groups.state("default", "gang")
        assert [pod.spec.node_name for pod in state.assumed.values()] == ["n1"]
        assert (state.count, state.scheduled_count) == (1, 1)
        cluster.cache.validate_state()

    def test_a_forgotten_member_is_unscheduled_again(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.assume(FIRST)
        cluster.cache.forget(FIRST.info())
        assert cluster.names() == (["first"], [], [])

    def test_a_bound_member_is_assigned(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.assume(FIRST)
        cluster.cache.add_pod(FIRST.node("n1").obj())
        assert cluster.names() == ([], [], ["first"])
        cluster.cache.validate_state()

    def test_a_running_pod_is_a_member(self, cluster: Cluster) -> None:
        cluster.cache.add_pod(FIRST.node("n1").obj())
        assert cluster.names() == ([], [], ["first"])
        cluster.cache.remove_pod(FIRST.node("n1").obj())
        assert cluster.names() == ([], [], [])
        cluster.cache.validate_state()

    def test_an_assumed_member_stays_assumed_after_an_update(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.assume(FIRST)
        cluster.add(FIRST.label("changed", "yes"))
        assert cluster.names() == ([], ["first"], [])

    def test_a_deleted_member_cannot_be_assumed(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.add(SECOND)
        cluster.groups.remove(FIRST.obj())
        cluster.groups.assume(FIRST.obj(), "n1")
        assert cluster.names() == (["second"], [], [])

    def test_validation_finds_a_member_in_the_wrong_state(self, cluster: Cluster) -> None:
        cluster.cache.add_pod(FIRST.node("n1").obj())
        cluster.groups.remove(FIRST.node("n1").obj())
        with pytest.raises(StateInvariantError, match="members on nodes"):
            cluster.cache.validate_state()


class TestHierarchy:
    def test_children_are_ordered_by_creation_and_then_by_name(self, cluster: Cluster) -> None:
        for name, created in (("c", "2031-01-01T00:00:02Z"), ("b", "2031-01-01T00:00:01Z"), ("a", ""), ("d", "")):
            group = make_pod_group(name).parent("root")
            cluster.groups.set_group((group.created(created) if created else group).obj())
        assert [key.name for key in cluster.groups.children(composite("root"))] == ["a", "d", "b", "c"]

    def test_a_group_without_a_parent_is_its_own_root(self, cluster: Cluster) -> None:
        cluster.groups.set_group(make_pod_group("gang").obj())
        assert cluster.groups.root(leaf("gang")) == leaf("gang")

    def test_a_group_has_no_root_while_an_ancestor_is_missing(self, cluster: Cluster) -> None:
        cluster.groups.set_group(make_pod_group("gang").parent("root").obj())
        assert cluster.groups.root(leaf("gang")) is None
        cluster.groups.set_group(make_composite_pod_group("root").obj())
        assert cluster.groups.root(leaf("gang")) == composite("root")
        cluster.groups.remove_group(make_composite_pod_group("root").obj())
        assert cluster.groups.root(leaf("gang")) is None

    def test_groups_that_form_a_cycle_have_no_root(self, cluster: Cluster) -> None:
        cluster.groups.set_group(make_pod_group("gang").parent("a").obj())
        cluster.groups.set_group(make_composite_pod_group("a").parent("b").obj())
        cluster.groups.set_group(make_composite_pod_group("b").parent("a").obj())
        assert [cluster.groups.root(key) for key in (leaf("gang"), composite("a"), composite("b"))] == [None] * 3
        assert list(cluster.groups.hierarchy.leaves(composite("a"))) == [leaf("gang")]

    def test_parents_are_in_the_namespace_of_the_group(self, cluster: Cluster) -> None:
        cluster.groups.set_group(make_composite_pod_group("root").namespace("other").obj())
        cluster.groups.set_group(make_pod_group("gang").parent("root").obj())
        assert cluster.groups.root(leaf("gang")) is None

    def test_parents_are_ignored_without_the_gate(self) -> None:
        groups = PodGroupTable(has_composites=False)
        groups.set_group(make_composite_pod_group("root").obj())
        groups.set_group(make_pod_group("gang").parent("root").obj())
        assert groups.root(leaf("gang")) == leaf("gang")
        assert groups.composite("default", "root") is None

    def test_a_recreated_group_may_have_another_parent(self, cluster: Cluster) -> None:
        for name in ("a", "b"):
            cluster.groups.set_group(make_composite_pod_group(name).obj())
        cluster.groups.set_group(make_pod_group("gang").parent("a").obj())
        cluster.groups.set_group(make_pod_group("gang").parent("b").obj())
        assert cluster.groups.root(leaf("gang")) == composite("b")
        assert cluster.groups.children(composite("a")) == []
        cluster.cache.validate_state()

    def test_deep_trees_are_walked(self, cluster: Cluster) -> None:
        cluster.groups.set_group(make_composite_pod_group("c0").obj())
        for level in range(1, DEPTH):
            cluster.groups.set_group(make_composite_pod_group(f"c{level}").parent(f"c{level - 1}").obj())
        cluster.groups.set_group(make_pod_group("gang").parent(f"c{DEPTH - 1}").obj())
        assert cluster.groups.root(leaf("gang")) == composite("c0")
        tree = cluster.groups.hierarchy.tree(composite("c0"))
        assert len(tree) == DEPTH + 1
        assert [group.key for group in tree[composite("c0")].leaves()] == [leaf("gang")]

    def test_a_tree_has_its_children_in_order(self, cluster: Cluster) -> None:
        cluster.groups.set_group(make_composite_pod_group("root").obj())
        for name in ("b", "a"):
            cluster.groups.set_group(make_composite_pod_group(name).parent("root").obj())
            cluster.groups.set_group(make_pod_group(f"{name}-2").parent(name).obj())
            cluster.groups.set_group(make_pod_group(f"{name}-1").parent(name).obj())
        root = cluster.groups.hierarchy.tree(composite("root"))[composite("root")]
        assert [group.key.name for group in root.leaves()] == ["a-1", "a-2", "b-1", "b-2"]


class TestForks:
    def test_a_copy_and_its_original_change_independently(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.add(SECOND)
        fork: Cluster = GraphCopy().copied(cluster)
        cluster.assume(FIRST)
        fork.assume(SECOND)
        assert cluster.names() == (["second"], ["first"], [])
        assert fork.names() == (["first"], ["second"], [])
        fork.groups.set_group(make_composite_pod_group("root").obj())
        fork.groups.set_group(make_pod_group("gang").parent("root").obj())
        assert cluster.groups.group(leaf("gang")) is None
        assert cluster.groups.children(composite("root")) == []
        for one in (cluster, fork):
            one.cache.validate_state()

    def test_members_are_copied_only_when_they_change(self, cluster: Cluster) -> None:
        cluster.add(FIRST)
        cluster.add(make_pod("other").in_group("other"))
        fork: Cluster = GraphCopy().copied(cluster)
        fork.add(SECOND)
        shared: list[GroupMembers] = [one.groups.state("default", "other") for one in (cluster, fork)]
        assert shared[0] is shared[1]
        assert cluster.names() == (["first"], [], [])
        assert isinstance(cluster.groups.state("default", "gang").unscheduled["uid-pod-default-first"], api.Pod)
