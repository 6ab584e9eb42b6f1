# SPDX-License-Identifier: Apache-2.0
"""The vector dry run, pruned or detailed, says what the plain one says, whatever happened to the cluster before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

import msgspec
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.preemption.clusters import NOW, PROFILE, PreemptionCluster

from steersman import api
from steersman.base.rng import SeededRng
from steersman.config import DefaultPreemptionArgs
from steersman.scheduler.preemption import reprieve
from steersman.scheduler.preemption.candidates import Candidate, CandidateChoice
from steersman.scheduler.preemption.column_dry_run import ColumnDryRun
from steersman.scheduler.preemption.disruption_budgets import Budgets
from steersman.scheduler.preemption.dry_run import (
    CandidateSearch,
    DryRunQuestion,
    DryRuns,
    FullSearch,
    SampledSearch,
    SearchBounds,
    search_node_by_node,
)
from steersman.scheduler.state.row_info import LiveNodes
from steersman.testing import NodeBuilder, PodBuilder, make_disruption_budget, make_node, make_pod

NODES = [f"n{index}" for index in range(5)]
PRIORITIES = (-10, 0, 0, 5, 100)
LABELS: tuple[dict[str, str], ...] = ({}, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "front"})
PORTS = (80, 443)
#: Clocks differ: a pod may seem to start in the future.
STARTS = ("2029-12-31T00:00:00Z", "2030-01-02T00:00:00Z", "2031-01-01T00:00:00Z")

GPU = "example.com/gpu"

a_node = st.sampled_from(NODES)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    node = make_node(name).capacity(cpu=draw(st.integers(4, 6)), memory=draw(st.sampled_from([4, 8])))
    node = node.capacity(pods=draw(st.integers(4, 6)), **{GPU: draw(st.integers(0, 2))})
    if draw(st.booleans()):
        node = node.label("disk", "ssd")
    return node.taint("dedicated") if draw(st.integers(0, 8)) == 0 else node


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodBuilder:
    pod = make_pod(name).priority(draw(st.sampled_from(PRIORITIES)))
    pod = pod.req(cpu=draw(st.integers(0, 2)), memory=draw(st.integers(0, 2)))
    if draw(st.integers(0, 5)) == 0:
        pod = pod.req(**{GPU: 1})
    for key, value in draw(st.sampled_from(LABELS)).items():
        pod = pod.label(key, value)
    if draw(st.integers(0, 7)) == 0:
        pod = pod.host_port(draw(st.sampled_from(PORTS)), ip=draw(st.sampled_from(["", "10.0.0.1"])))
    start = draw(st.integers(-1, 3))
    return pod.started(f"2030-01-01T00:00:0{start}Z") if start >= 0 else pod


@st.composite
def preemptors(draw: st.DrawFn) -> PodBuilder:
    pod = draw(pods("preemptor")).priority(draw(st.sampled_from([5, 100, 1000]))).req(cpu=draw(st.integers(2, 4)))
    return pod.node_selector("disk", "ssd") if draw(st.integers(0, 5)) == 0 else pod


@st.composite
def budgets(draw: st.DrawFn, name: str) -> api.PodDisruptionBudget:
    selector = draw(st.sampled_from([{"app": "web"}, {"app": "db"}, {"tier": "front"}, {}]))
    return make_disruption_budget(name).selector(selector).allows(draw(st.integers(0, 2))).obj()


@dataclass(frozen=True)
class Cast:
    """Who appears in a story."""

    nodes: Callable[[str], st.SearchStrategy[NodeBuilder]]
    pods: Callable[[str], st.SearchStrategy[PodBuilder]]
    preemptors: Callable[[], st.SearchStrategy[PodBuilder]]


#: Pods whose filters are all local.
SOLITARY = Cast(nodes, pods, preemptors)

Change = Callable[[PreemptionCluster], None]


@st.composite
def arrivals(draw: st.DrawFn, index: int, cast: Cast) -> Change:
    pod = draw(cast.pods(f"pod-{index}")).node(draw(a_node)).obj()
    return lambda cluster: cluster.setting.change(pod)


@st.composite
def changes(draw: st.DrawFn, index: int, cast: Cast) -> Change:
    kind = draw(st.sampled_from(["pod", "pod", "pod", "leave", "start", "start", "node", "nominate", "budget"]))
    if kind == "pod":
        return draw(arrivals(index, cast))
    if kind == "node":
        node = draw(cast.nodes(draw(a_node))).obj()
        return lambda cluster: cluster.setting.change(node)
    if kind == "nominate":
        rival, target = draw(cast.pods(f"rival-{index}")), draw(a_node)
        return lambda cluster: cluster.nominate(rival, target)
    if kind == "budget":
        budget = draw(budgets(f"budget-{draw(st.integers(0, 2))}"))
        return lambda cluster: cluster.setting.change(budget)
    position, start = draw(st.integers(0, 30)), draw(st.sampled_from(STARTS))
    return lambda cluster: leave(cluster, position) if kind == "leave" else start_late(cluster, position, start)


def leave(cluster: PreemptionCluster, position: int) -> None:
    records = list(cluster.setting.cache.pods())
    if records:
        cluster.setting.cache.remove_pod(records[position % len(records)].info.pod)


def start_late(cluster: PreemptionCluster, position: int, start: str) -> None:
    records = list(cluster.setting.cache.pods())
    if records:
        pod = PodBuilder(records[position % len(records)].info.pod)
        cluster.setting.cache.update_pod(pod.started(start).obj())


def searches(
    cluster: PreemptionCluster, columns: ColumnDryRun, pod: PodBuilder, search: CandidateSearch
) -> list[DryRuns | None]:
    """Plain, detailed and pruned, in this order; the vector ones are None where the plain one has to do it."""
    info = cluster.pending(pod)
    evaluation = cluster.setting.cycle.evaluate(cluster.setting.profiles[PROFILE], info)
    if evaluation.feasible_count:
        return []
    question = DryRunQuestion(
        pod=info,
        statuses=evaluation.statuses(),
        state=evaluation.deferred_state(),
        what_if=cluster.setting.cycle.what_if(PROFILE),
        budgets=Budgets(cluster.setting.objects.list(api.PodDisruptionBudget)),
        search=search,
        detailed=True,
        now=NOW,
    )
    nodes = LiveNodes(cluster.setting.cache.nodes)
    pruned = columns.search(msgspec.structs.replace(question, detailed=False))
    return [search_node_by_node(question, nodes), columns.search(question), pruned]


def summary(candidate: Candidate) -> tuple[str, tuple[str, ...], int]:
    return candidate.node, tuple(victim.name for victim in candidate.victims), candidate.pdb_violations


def choice_summary(choice: CandidateChoice | None) -> object:
    return choice and (summary(choice.candidate), choice.rule, choice.ties)


class RepeatedSearch:
    """Answers every question of a preemption alike."""

    def __init__(self, search: CandidateSearch) -> None:
        self._search = search
        self._bounds: dict[int, SearchBounds] = {}

    def bounds(self, nodes: int) -> SearchBounds:
        if nodes not in self._bounds:
            self._bounds[nodes] = self._search.bounds(nodes)
        return self._bounds[nodes]


@examples(60)
@given(st.data())
def test_every_search_finds_the_same(data: st.DataObject) -> None:
    tell_a_story(data, SOLITARY)


@examples(40)
@given(st.data())
def test_every_search_finds_the_same_when_rows_are_sorted_out_by_sums(data: st.DataObject) -> None:
    with mock.patch.object(reprieve, "PRUNE_ABOVE_ROWS", 2):
        tell_a_story(data, SOLITARY)


def tell_a_story(data: st.DataObject, cast: Cast) -> None:
    """Things happen, and now and then somebody preempts."""
    cluster = PreemptionCluster([data.draw(cast.nodes(name)) for name in NODES])
    for index in range(data.draw(st.integers(10, 30))):
        data.draw(arrivals(index, cast))(cluster)
    if data.draw(st.booleans()):
        cluster.setting.change(data.draw(budgets("budget-0")))
    columns = ColumnDryRun()
    for step in range(data.draw(st.integers(1, 4))):
        for index in range(data.draw(st.integers(0, 4))):
            data.draw(changes(100 * (step + 1) + index, cast))(cluster)
        sampled = SampledSearch(
            DefaultPreemptionArgs(data.draw(st.sampled_from([0, 50])), data.draw(st.integers(1, 3))),
            SeededRng(data.draw(st.integers(0, 9))),
        )
        preemptor = data.draw(cast.preemptors())
        for search in (FullSearch(), RepeatedSearch(sampled)):
            check(searches(cluster, columns, preemptor, search), full=isinstance(search, FullSearch))


def check(found: list[DryRuns | None], full: bool) -> None:
    if not found:
        return
    plain, detailed, pruned = found
    assert plain is not None
    assert detailed is not None
    assert pruned is not None
    assert choice_summary(detailed.choice) == choice_summary(plain.choice)
    assert choice_summary(pruned.choice) == choice_summary(plain.choice)
    assert sorted(map(summary, detailed.candidates)) == sorted(map(summary, plain.candidates))
    assert detailed.candidate_count == pruned.candidate_count == plain.candidate_count
    assert detailed.examined == pruned.examined == plain.examined
    if full:
        assert rejected(detailed) == rejected(plain)
    if plain.choice is None:
        assert rejected(pruned) == rejected(plain)


def rejected(runs: DryRuns) -> dict[object, list[str]]:
    return {status: sorted(names) for status, names in runs.statuses.groups.items()}
