# SPDX-License-Identifier: Apache-2.0
"""Properties of groups on random clusters: all or nothing, the same decisions by both engines, and no remains of attempts,
whichever plugin fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st
from tests.assembly.group_host import WITH_TOPOLOGY, WITH_TREES, WITHOUT_TOPOLOGY, AnyBuilder, GroupHost, small_node

from steersman.base import InternalErrors
from steersman.config import FeatureGates
from steersman.framework import (
    CycleState,
    FilterPlugin,
    NodeInfo,
    PermitPlugin,
    PermitResult,
    PlacementFeasiblePlugin,
    PlacementProgress,
    Plugin,
    PodGroupInfo,
    PodInfo,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
)
from steersman.scheduler.cycle import GroupAttempt
from steersman.testing import PodBuilder, make_composite_pod_group, make_pod, make_pod_group

KINDS = ("plain", "plain", "port", "shy", "social", "spread")
RACK = "rack"


class Member(NamedTuple):
    cpu: int
    kind: str


class Group(NamedTuple):
    members: list[Member]
    #: None for a basic group.
    minimum: int | None
    priority: int
    has_topology: bool
    is_in_tree: bool


class Case(NamedTuple):
    node_cpus: list[int]
    #: Node and size of running pods.
    running: list[tuple[int, int]]
    groups: list[Group]
    needed_children: int
    tree_has_topology: bool
    singles: list[int]


def cases() -> st.SearchStrategy[Case]:
    member = st.builds(Member, st.integers(1, 4), st.sampled_from(KINDS))
    group = st.builds(
        Group,
        st.lists(member, min_size=1, max_size=6),
        st.none() | st.integers(1, 6),
        st.integers(0, 1),
        st.booleans(),
        st.booleans(),
    )
    return st.builds(
        Case,
        st.lists(st.integers(1, 8), min_size=1, max_size=6),
        st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=4),
        st.lists(group, min_size=1, max_size=4),
        st.integers(1, 3),
        st.booleans(),
        st.lists(st.integers(1, 3), max_size=2),
    )


def pod_of(name: str, member: Member) -> PodBuilder:
    pod = make_pod(name).req(cpu=str(member.cpu)).label("app", member.kind)
    if member.kind == "port":
        return pod.host_port(8080)
    if member.kind == "shy":
        return pod.anti_affinity("kubernetes.io/hostname", {"app": "shy"})
    if member.kind == "social":
        return pod.pod_affinity(RACK, {"app": "social"})
    return pod.spread(RACK, selector={"app": "spread"}) if member.kind == "spread" else pod


def objects_of(case: Case, gates: FeatureGates) -> list[AnyBuilder]:
    has_trees, has_topology = gates.enabled("CompositePodGroup"), gates.enabled("TopologyAwareWorkloadScheduling")
    objects: list[AnyBuilder] = [
        small_node(f"n{index}", cpu, rack="ab"[index % 2]).label("kubernetes.io/hostname", f"n{index}")
        for index, cpu in enumerate(case.node_cpus)
    ]
    for index, (node, cpu) in enumerate(case.running):
        if node < len(case.node_cpus):
            objects.append(make_pod(f"run{index}").req(cpu=str(cpu)).node(f"n{node}").phase("Running"))
    tree = make_composite_pod_group("tree").gang(case.needed_children)
    objects += [tree.topology(RACK) if case.tree_has_topology else tree] if has_trees else []
    for index, group in enumerate(case.groups):
        is_child = has_trees and group.is_in_tree
        priority = 0 if is_child else group.priority
        made = make_pod_group(f"g{index}").priority(priority)
        made = made.basic() if group.minimum is None else made.gang(group.minimum)
        made = made.topology(RACK) if has_topology and group.has_topology else made
        objects.append(made.parent("tree") if is_child else made)
        objects += [
            pod_of(f"g{index}-{place}", member).priority(priority).in_group(f"g{index}")
            for place, member in enumerate(group.members)
        ]
    objects += [make_pod(f"single{index}").req(cpu=str(cpu)) for index, cpu in enumerate(case.singles)]
    return objects


def result(host: GroupHost) -> object:
    host.run()
    messages = {name: failure.message for name, failure in host.writer.failures.items()}
    cycles = [
        (cycle.group, cycle.outcome, [plain(attempt) for attempt in cycle.attempts], cycle.placement)
        for cycle in host.cycles.all
    ]
    return dict(host.nodes), messages, cycles


def plain(attempt: GroupAttempt) -> object:
    """Return the attempt with the message of its refusal, which both engines compute with their own statuses."""
    refusal = None if attempt.refusal is None else (attempt.refusal.pod.key, attempt.refusal.message)
    return attempt.group, attempt.placement, attempt.members, attempt.status, refusal


@pytest.mark.parametrize("gates", [WITHOUT_TOPOLOGY, WITH_TOPOLOGY, WITH_TREES], ids=["plain", "topology", "trees"])
@given(case=cases())
def test_both_engines_decide_the_same_on_groups(gates: FeatureGates, case: Case) -> None:
    columnar, scalar = (GroupHost(*objects_of(case, gates), gates=gates, scalar=scalar) for scalar in (False, True))
    assert result(columnar) == result(scalar)


@pytest.mark.parametrize("gates", [WITHOUT_TOPOLOGY, WITH_TOPOLOGY, WITH_TREES], ids=["plain", "topology", "trees"])
@given(case=cases())
def test_a_gang_is_bound_with_enough_members_in_one_domain_or_not_at_all(gates: FeatureGates, case: Case) -> None:
    host = GroupHost(*objects_of(case, gates), gates=gates)
    host.run()
    assert host.assumed == 0
    racks = {f"n{index}": "ab"[index % 2] for index in range(len(case.node_cpus))}
    for index, group in enumerate(case.groups):
        nodes = [node for name, node in host.nodes.items() if name.startswith(f"g{index}-")]
        assert not nodes or len(nodes) >= (group.minimum or 1)
        if group.has_topology and gates.enabled("TopologyAwareWorkloadScheduling"):
            assert len({racks[node] for node in nodes}) <= 1


# -- plugins that fail -------------------------------------------------------------------------------------------------


class Torn(RuntimeError):
    """Stands for a programming error."""


class Failing:
    """Base of plugins that raise on the call with this number."""

    calls = 0
    fails_at = 0

    @classmethod
    def count(cls) -> None:
        cls.calls += 1
        if cls.calls == cls.fails_at:
            raise Torn("call")


class FailingPreFilter(Failing, PreFilterPlugin):
    name = "FailingPreFilter"

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        self.count()


class FailingFilter(Failing, FilterPlugin):
    name = "FailingFilter"

    def filter(self, pod: PodInfo, node: NodeInfo) -> None:
        self.count()


class FailingScore(Failing, ScorePlugin):
    name = "FailingScore"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        self.count()
        return 0


class FailingReserve(Failing, ReservePlugin):
    name = "FailingReserve"

    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        self.count()
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """Nothing is reserved."""


class FailingPermit(Failing, PermitPlugin):
    name = "FailingPermit"

    def permit(self, pod: PodInfo, node: str) -> PermitResult | None:
        self.count()
        return None


class FailingFeasible(Failing, PlacementFeasiblePlugin):
    name = "FailingFeasible"

    def placement_feasible(self, state: CycleState, group: PodGroupInfo, progress: PlacementProgress) -> Status | None:
        self.count()
        return None


FAILING: tuple[type[Plugin], ...] = (
    FailingPreFilter,
    FailingFilter,
    FailingScore,
    FailingReserve,
    FailingPermit,
    FailingFeasible,
)


@pytest.mark.parametrize("plugin", FAILING, ids=lambda plugin: plugin.name)
@given(fails_at=st.integers(1, 14), has_topology=st.booleans())
def test_a_plugin_that_fails_in_the_cycle_of_a_gang_leaves_nothing_of_it(
    plugin: type[Failing], fails_at: int, has_topology: bool
) -> None:
    plugin.calls, plugin.fails_at = 0, fails_at
    group = make_pod_group("gang").gang(3)
    host = GroupHost(
        small_node("n1", 2, rack="a"),
        small_node("n2", 2, rack="a"),
        group.topology(RACK) if has_topology else group,
        *(make_pod(f"p{index}").req(cpu="1").in_group("gang") for index in range(3)),
        gates=WITH_TOPOLOGY if has_topology else WITHOUT_TOPOLOGY,
        plugins=[plugin],  # type: ignore[list-item]
        internal_errors=InternalErrors(),
    )
    host.run()
    assert host.assumed == 0 or len(host.scheduler.waiting_pods)
    for _ in range(3):
        host.pass_time(60)
        host.run()
    waiting = len(host.scheduler.waiting_pods)
    assert host.assumed == waiting
    assert len(host.nodes) in (0, 3) or waiting or plugin is FailingPermit
