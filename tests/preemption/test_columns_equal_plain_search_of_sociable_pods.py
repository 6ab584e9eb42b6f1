# SPDX-License-Identifier: Apache-2.0
"""The vector dry run says what the plain one says also for pods that look at other pods: by spreading and by affinity."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.preemption.clusters import PreemptionCluster
from tests.preemption.test_columns_equal_plain_search import (
    Cast,
    check,
    nodes,
    pods,
    preemptors,
    searches,
    tell_a_story,
)

from steersman.scheduler.preemption import reprieve
from steersman.scheduler.preemption.column_dry_run import ColumnDryRun
from steersman.scheduler.preemption.dry_run import FullSearch
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

HOST, ZONE = "kubernetes.io/hostname", "zone"
SELECTORS: tuple[dict[str, str], ...] = ({"app": "web"}, {"app": "db"}, {"tier": "front"}, {})

a_key = st.sampled_from([HOST, ZONE])
a_selector = st.sampled_from(SELECTORS)


@st.composite
def placed_nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    """Most of them have a host name and a zone."""
    node = draw(nodes(name))
    if draw(st.integers(0, 9)):
        node = node.label(HOST, name)
    return node.label(ZONE, draw(st.sampled_from("abc"))) if draw(st.integers(0, 9)) else node


@st.composite
def existing_pods(draw: st.DrawFn, name: str) -> PodBuilder:
    """Some object to others; some are on their way out."""
    pod = draw(pods(name))
    if draw(st.integers(0, 5)) == 0:
        pod = pod.anti_affinity(draw(a_key), draw(a_selector))
    if draw(st.integers(0, 9)) == 0:
        pod = pod.namespace("elsewhere")
    return pod.terminating() if draw(st.integers(0, 9)) == 0 else pod


@st.composite
def with_spreading(draw: st.DrawFn, pod: PodBuilder) -> PodBuilder:
    return pod.spread(
        draw(a_key),
        max_skew=draw(st.integers(1, 3)),
        selector=draw(st.sampled_from([*SELECTORS, None])),
        min_domains=draw(st.sampled_from([None, None, 2, 5])),
        node_affinity_policy=draw(st.sampled_from([None, "Ignore"])),
        node_taints_policy=draw(st.sampled_from([None, "Honor"])),
    )


@st.composite
def with_terms(draw: st.DrawFn, pod: PodBuilder, kind: str) -> PodBuilder:
    namespaces = draw(st.sampled_from([(), ("default", "elsewhere")]))
    reach: dict[str, str] | None = draw(st.sampled_from([None, None, {}]))
    add = pod.pod_affinity if kind == "near" else pod.anti_affinity
    return add(draw(a_key), draw(a_selector), namespaces=namespaces, namespace_selector=reach)


@st.composite
def sociable_preemptors(draw: st.DrawFn) -> PodBuilder:
    pod = draw(preemptors())
    for kind in draw(st.lists(st.sampled_from(["spread", "spread", "near", "apart"]), min_size=1, max_size=3)):
        pod = draw(with_spreading(pod) if kind == "spread" else with_terms(pod, kind))
    return pod


SOCIABLE = Cast(placed_nodes, existing_pods, sociable_preemptors)


@examples(40)
@given(st.data())
def test_every_search_finds_the_same(data: st.DataObject) -> None:
    tell_a_story(data, SOCIABLE)


@examples(15)
@given(st.data())
def test_every_search_finds_the_same_when_rows_are_sorted_out_by_sums(data: st.DataObject) -> None:
    with mock.patch.object(reprieve, "PRUNE_ABOVE_ROWS", 2):
        tell_a_story(data, SOCIABLE)


def full_nodes(*labels: str) -> PreemptionCluster:
    """Nodes that a pod of lower priority fills, one each, with these values of the label `app`."""
    made = [make_node(f"n{i}").label(HOST, f"n{i}").capacity(cpu="4", pods=10) for i in range(len(labels))]
    there = [make_pod(f"low-{i}").label("app", app).node(f"n{i}").req(cpu="4") for i, app in enumerate(labels)]
    return PreemptionCluster(made, there)


def candidates(cluster: PreemptionCluster, pod: PodBuilder) -> list[str]:
    found = searches(cluster, ColumnDryRun(), pod, FullSearch())
    check(found, full=True)
    (_, by_columns, _) = found
    assert by_columns is not None
    return sorted(candidate.node for candidate in by_columns.candidates)


def test_an_unwanted_pod_that_is_nominated_to_a_node_counts_there() -> None:
    cluster = full_nodes("batch", "batch")
    cluster.nominate(make_pod("rival").label("app", "web").priority(100).req(cpu="1"), "n0")
    hermit = make_pod("hermit").priority(100).req(cpu="2").anti_affinity(HOST, {"app": "web"})
    assert candidates(cluster, hermit) == ["n1"]


def test_a_pod_may_start_its_group_where_the_last_of_it_would_go() -> None:
    cluster = full_nodes("web", "batch")
    sociable = make_pod("sociable").label("app", "web").priority(100).req(cpu="2").pod_affinity(HOST, {"app": "web"})
    assert candidates(cluster, sociable) == ["n0"]
