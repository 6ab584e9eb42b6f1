# SPDX-License-Identifier: Apache-2.0
"""Properties of preemption by groups on random clusters with groups of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from unittest.mock import patch

from hypothesis import given, strategies as st
from tests.preemption.group_clusters import GroupCluster, node, running

from steersman import api
from steersman.framework import CycleState, PlacedPod
from steersman.scheduler.cycle.what_if import ProfileWhatIf
from steersman.scheduler.preemption import GroupPreemptionReport
from steersman.scheduler.preemption.victims import Victim, grouped_pods
from steersman.testing import PodBuilder, make_composite_pod_group, make_disruption_budget, make_pod, make_pod_group

NODES = ("n1", "n2", "n3", "n4")
ZONES = {"n1": "a", "n2": "a", "n3": "b", "n4": "b"}
PRIORITY = 5
LOCAL = ("plain", "port")
ACROSS_NODES = ("plain", "spread", "shy", "social")


class Running(NamedTuple):
    node: str
    cpu: int
    priority: int
    group: str
    app: str
    second: int
    has_port: bool


class Case(NamedTuple):
    pods: list[Running]
    #: Priority and disruption mode of the groups "one" and "two", and of their parent "root".
    groups: list[tuple[int, bool]]
    has_root: bool
    #: Requests and kind of the members.
    members: list[tuple[int, str]]
    needed: int
    allowed: int


def cases(kinds: tuple[str, ...]) -> st.SearchStrategy[Case]:
    pod = st.builds(
        Running,
        st.sampled_from(NODES),
        st.integers(1, 3),
        st.integers(0, 6),
        st.sampled_from(["", "", "one", "two", "gone"]),
        st.sampled_from(["web", "db"]),
        st.integers(0, 9),
        st.booleans(),
    )
    group = st.tuples(st.integers(0, 6), st.booleans())
    members = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(kinds)), min_size=1, max_size=4)
    return st.builds(
        Case,
        st.lists(pod, max_size=10),
        st.lists(group, min_size=3, max_size=3),
        st.booleans(),
        members,
        st.integers(1, 4),
        st.integers(0, 2),
    )


def cluster_of(case: Case) -> GroupCluster:
    (one, two, root) = case.groups
    objects: list[api.Object] = [
        make_pod_group("new").priority(PRIORITY).obj(),
        make_disruption_budget("web").selector({"app": "web"}).allows(case.allowed).obj(),
    ]
    for name, (priority, is_unit) in (("one", one), ("two", two)):
        builder = make_pod_group(name).priority(priority)
        builder = builder.disrupted_as_one() if is_unit else builder
        objects.append((builder.parent("root") if case.has_root else builder).obj())
    if case.has_root:
        parent = make_composite_pod_group("root").priority(root[0])
        objects.append((parent.disrupted_as_one() if root[1] else parent).obj())
    nodes = [node(name).label("zone", ZONES[name]) for name in NODES]
    return GroupCluster(nodes, pods_of(case), objects)


def pods_of(case: Case) -> Iterator[PodBuilder]:
    """Yield the running pods; at most one of a node has the host port."""
    used: set[str] = set()
    for index, drawn in enumerate(case.pods):
        pod = running(f"run-{index}", drawn.node, str(drawn.cpu), drawn.priority, drawn.group, drawn.second)
        if drawn.has_port and drawn.node not in used:
            used.add(drawn.node)
            pod = pod.host_port(80)
        yield pod.label("app", drawn.app)


def member(index: int, cpu: int, kind: str) -> PodBuilder:
    pod = make_pod(f"new-{index}").req(cpu=str(cpu)).label("app", "web")
    if kind == "port":
        return pod.host_port(80)
    if kind == "spread":
        return pod.spread("zone", selector={"app": "web"})
    if kind == "shy":
        return pod.anti_affinity("zone", {"app": "db"})
    return pod.pod_affinity("zone", {"app": "web"}) if kind == "social" else pod


def decide(cluster: GroupCluster, case: Case) -> GroupPreemptionReport | None:
    group = cluster.group("new", [member(index, *drawn) for index, drawn in enumerate(case.members)])
    result, _ = cluster.preempt_for(group, min(case.needed, len(case.members)))
    if result is None:
        return None
    assert isinstance(result.report, GroupPreemptionReport)
    return result.report


def all_fit(cluster: GroupCluster, report: GroupPreemptionReport, gone: list[Victim]) -> bool:
    """Return whether the members pass the filters on their nominated nodes without these victims, one after the
    other."""
    what_if = cluster.setting.cycle.what_if("default-scheduler")
    nodes, pods = cluster.setting.cache.nodes, cluster.setting.scheduler.pods
    with what_if.without(PlacedPod(pod, at.name) for victim in gone for pod, at in victim.placed()):
        placed: list[PlacedPod] = []
        try:
            for key, name in report.nominated.items():
                info, row = cluster.setting.info(pods[key]), nodes.row_of(name)
                state = CycleState()
                what_if.complete(state, info)
                assert row is not None
                if what_if.filter(state, info, nodes.info(row)) is not None:
                    return False
                nodes.add_pod(info, name)
                placed.append(PlacedPod(info, name))
        finally:
            for info, name in placed:
                nodes.remove_pod(info, name)
    return True


def pods_by_node(cluster: GroupCluster) -> list[tuple[str, list[str]]]:
    table = cluster.setting.cache.nodes
    return [(table.names[row], list(table.pods_on[row])) for row in table.live_rows()]


@given(cases(LOCAL) | cases(ACROSS_NODES))
def test_victims_are_less_important_than_the_group_and_the_cluster_stays_the_same(case: Case) -> None:
    cluster = cluster_of(case)
    before = pods_by_node(cluster)
    report = decide(cluster, case)
    assert pods_by_node(cluster) == before
    cluster.setting.cache.validate_state()
    cluster.setting.cycle.validate_state()
    assert cluster.simulations <= 1
    if report is None:
        assert len(cluster.plugin.executor) == 0
    else:
        assert all(unit.priority < PRIORITY for unit in report.units)
        assert len(report.nominated) >= min(case.needed, len(case.members))


@given(cases(LOCAL) | cases(ACROSS_NODES))
def test_units_are_evicted_whole(case: Case) -> None:
    cluster = cluster_of(case)
    report = decide(cluster, case)
    evicted = {pod.uid for unit in report.units for pod in unit.pods} if report is not None else set()
    groups = cluster.setting.cache.pod_groups
    assert groups is not None
    handle = cluster.plugin.evaluator._handle
    for unit in grouped_pods(handle, groups).victims_on_all(handle.nodes.all(), 1000):
        here = {pod.uid for pod in unit.pods}
        assert here <= evicted or not here & evicted


@given(cases(LOCAL))
def test_all_members_fit_without_the_victims_and_not_with_any_of_them(case: Case) -> None:
    cluster = cluster_of(case)
    report = decide(cluster, case)
    if report is None:
        return
    units = list(report.units)
    assert all_fit(cluster, report, units)
    for spared in units:
        assert not all_fit(cluster, report, [unit for unit in units if unit is not spared])


@given(cases(LOCAL) | cases(ACROSS_NODES))
def test_checking_only_members_on_the_nodes_of_a_victim_changes_nothing(case: Case) -> None:
    """Reference: every member is checked after every victim."""
    fast = decide(cluster_of(case), case)
    with patch.object(ProfileWhatIf, "is_local", lambda *_: False):
        plain = decide(cluster_of(case), case)
    assert summary(fast) == summary(plain)


def summary(report: GroupPreemptionReport | None) -> object:
    return report and (report.to_dict(), [pod.name for pod in report.victims])
