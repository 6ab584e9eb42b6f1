# SPDX-License-Identifier: Apache-2.0
"""NodeAffinity says the same in its vector form."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, Change, ChangingCluster, FilterCheck, ScoreCheck, changes
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.config import NodeAffinityArgs
from steersman.framework.columns import FilterKernel
from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import ALL_ROWS
from steersman.framework.plugin import PreFilterResult
from steersman.scheduler.plugins.node_affinity import NodeAffinity
from steersman.testing import PodBuilder, exists, is_in, make_node, make_pod, not_in

NAME = "metadata.name"

names = st.sampled_from([*NODE_NAMES, "nowhere"])
labels = st.dictionaries(st.sampled_from(["disk", "size"]), st.sampled_from(["1", "5", "ssd"]))
nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, labels: make_node(name).labels(labels).obj(), st.sampled_from(NODE_NAMES), labels
)

operators = st.sampled_from(["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
expressions = st.one_of(
    st.builds(
        api.NodeSelectorRequirement,
        st.sampled_from(["disk", "size"]),
        operators,
        st.lists(st.sampled_from(["1", "3", "ssd"]), max_size=2).map(tuple),
    ),
    st.just(api.NodeSelectorRequirement("disk", "In", ("ssd",))),
    st.just(api.NodeSelectorRequirement("disk", "Resembles", ("ssd",))),
)
fields = st.one_of(
    st.builds(lambda name: api.NodeSelectorRequirement(NAME, "In", (name,)), names),
    st.builds(
        api.NodeSelectorRequirement,
        st.sampled_from([NAME, NAME, "metadata.namespace"]),
        st.sampled_from(["In", "NotIn", "Exists"]),
        st.lists(st.one_of(names, st.just("")), max_size=2).map(tuple),
    ),
)
terms = st.one_of(
    st.builds(
        api.NodeSelectorTerm,
        st.lists(expressions, max_size=2).map(tuple),
        st.lists(fields, max_size=2).map(tuple),
    ),
    st.builds(lambda field: api.NodeSelectorTerm((), (field,)), fields),
)
selectors = st.one_of(st.none(), st.builds(api.NodeSelector, st.lists(terms, max_size=3).map(tuple)))
usual_weights = st.sampled_from([0, 1, 7, 100])
preferred_terms = st.lists(st.builds(api.PreferredSchedulingTerm, usual_weights, terms), max_size=3).map(tuple)
affinities = st.one_of(st.none(), st.builds(api.NodeAffinity, selectors, preferred_terms))


def valid(affinity: api.NodeAffinity | None) -> bool:
    try:
        plugin_with(affinity)
    except Exception:
        return False
    return True


def plugin_with(added: api.NodeAffinity | None = None) -> NodeAffinity:
    return NodeAffinity(NodeAffinityArgs(added_affinity=added), FakeHandle())


def asking(node_selector: dict[str, str], affinity: api.NodeAffinity | None) -> api.Pod:
    return api.Pod(spec=api.PodSpec(node_selector=node_selector, affinity=api.Affinity(node_affinity=affinity)))


pods = st.builds(asking, st.one_of(st.just({}), labels), affinities)


@examples(60)
@given(changes(nodes), st.lists(pods, min_size=1, max_size=4), st.one_of(st.none(), affinities.filter(valid)))
def test_vector_and_scalar_form_agree(story: list[Change], pods: list[api.Pod], added: api.NodeAffinity | None) -> None:
    cluster, plugin = ChangingCluster(), plugin_with(added)
    check_filter, check_score = FilterCheck(plugin, cluster), ScoreCheck(plugin, cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check_filter(cluster.shapes.info(pod))
            check_score(cluster.shapes.info(pod))


def test_pods_that_demand_the_same_share_a_column() -> None:
    by_selector, by_affinity = (
        make_pod().node_selector("disk", "ssd"),
        make_pod().required_node_affinity(is_in("disk", "ssd")),
    )

    assert fragment(by_selector) == fragment(by_affinity) != fragment(make_pod().required_node_affinity(exists("disk")))


def test_pods_of_a_daemon_set_share_a_column() -> None:
    first, second = (daemon_pod(name).node_selector("disk", "ssd") for name in "ab")

    assert fragment(first) == fragment(second) == fragment(make_pod().node_selector("disk", "ssd"))
    assert plugin_with().filter_kernel(daemon_pod("a").info(), ChangingCluster().table) is None


def test_labels_beside_the_one_name_that_a_pod_is_restricted_to_stay() -> None:
    pod = make_pod().required_node_affinity(exists("disk"), fields=[is_in(NAME, "a")])

    assert fragment(pod) == fragment(make_pod().required_node_affinity(exists("disk")))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            make_pod().required_node_affinity(fields=[is_in(NAME, "a"), not_in(NAME, "a")]),
            id="a name that is excluded",
        ),
        pytest.param(make_pod().required_node_affinity(fields=[is_in(NAME, "a", "b")]), id="unusable term"),
        pytest.param(
            make_pod().required_node_affinity(fields=[is_in(NAME, "a"), is_in("other", "")]), id="another field as well"
        ),
        pytest.param(
            make_pod()
            .required_node_affinity(exists("disk"), fields=[is_in(NAME, "a")])
            .required_node_affinity(fields=[is_in(NAME, "b")]),
            id="labels that go with one of the names",
        ),
        pytest.param(
            make_pod().required_node_affinity(fields=[is_in(NAME, "a")]).required_node_affinity(exists("disk")),
            id="no restriction",
        ),
    ],
)
def test_names_stay_where_the_restriction_alone_does_not_say_it_all(pod: PodBuilder) -> None:
    cluster = ChangingCluster()
    for name in ("a", "b", "c"):
        cluster.apply(make_node(name).obj())
    plugin, state, info = plugin_with(), CycleState(), pod.info()
    restriction = plugin.pre_filter(state, info, ())
    kernel = plugin.filter_kernel(info, cluster.table)
    assert isinstance(kernel, FilterKernel)

    for row, reason in zip(cluster.table.live_rows(), kernel.rows(ALL_ROWS), strict=False):
        node = cluster.table.info(row)
        if not isinstance(restriction, PreFilterResult) or node.name in restriction.node_names:
            assert bool(reason) == (plugin.filter(state, info, node) is not None)


def fragment(pod: PodBuilder) -> object:
    return plugin_with().filter_fragment(pod.info())


def daemon_pod(node: str) -> PodBuilder:
    """As the DaemonSet controller makes them."""
    return make_pod(f"daemon-{node}").required_node_affinity(fields=[is_in(NAME, node)])
