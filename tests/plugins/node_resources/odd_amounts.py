# SPDX-License-Identifier: Apache-2.0
"""Clusters and pods with odd amounts of resources: none, one, indivisible, too many, near the ends of number types."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.plugins.column_checks import NODE_NAMES, POD_NAMES, Change, ChangingCluster, changes
from tests.plugins.node_resources.fitting import FPGA, GPU, HUGE_PAGES, NATIVE

from steersman import api
from steersman.config import ResourceSpec
from steersman.framework.plugin import MAX_NODE_SCORE, MIN_NODE_SCORE
from steersman.framework.status import Status
from steersman.testing import PodBuilder, make_node, make_pod

UNACCOUNTED = "unknown"
RESOURCES = ("cpu", "memory", "ephemeral-storage", GPU, FPGA, HUGE_PAGES, NATIVE, UNACCOUNTED)
#: All pods of a test together use less than this of a resource, as an int64 column must.
_SHARE_OF_ALL = 2**63 // (len(POD_NAMES) + 1)

Amounts = dict[str, int]

_edges = st.sampled_from([2**46, 2**53, 2**56, 2**57, 2**60, 2**62])
_huge = st.builds(lambda edge, offset: edge + offset, _edges, st.integers(-3, 3))
_amount = st.one_of(st.sampled_from([0, 1, 2, 3, 7, 100]), st.integers(0, 10_000), st.integers(0, 2**40), _huge)
_resource = st.one_of(st.sampled_from(["cpu", "memory"]), st.sampled_from(RESOURCES))
#: By resource, often cpu and memory.
amounts: st.SearchStrategy[Amounts] = st.one_of(
    st.fixed_dictionaries({"cpu": _amount, "memory": _amount}),
    st.fixed_dictionaries({"cpu": _amount, "memory": _amount, GPU: _amount}),
    st.dictionaries(_resource, _amount, max_size=5),
)
small_amounts = amounts.map(lambda drawn: {name: amount % _SHARE_OF_ALL for name, amount in drawn.items()})


def quantities(amounts: Amounts) -> dict[str, api.Quantity]:
    """Amounts of cpu are millicores."""
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


def waiting(containers: list[Amounts], init: Amounts, overhead: Amounts, whole: Amounts) -> PodBuilder:
    pod = make_pod("waiting")
    for requests in containers:
        pod = pod.req(**quantities(requests))
    if init:
        pod = pod.init_req(**quantities(init))
    if whole:
        pod = pod.pod_req(**quantities(whole))
    return pod.overhead(**quantities(overhead)) if overhead else pod


def running(name: str, requests: Amounts, node: str, ends: bool) -> api.Pod:
    pod = make_pod(name).req(**quantities(requests)).node(node)
    return pod.terminating().obj() if ends else pod.obj()


_rarely: st.SearchStrategy[Amounts] = st.one_of(st.just({}), st.just({}), amounts)
waiting_pods: st.SearchStrategy[list[PodBuilder]] = st.lists(
    st.builds(waiting, st.lists(amounts, max_size=2), _rarely, _rarely, _rarely), min_size=1, max_size=4
)
_nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, pods, amounts: make_node(name).capacity(pods=pods, **quantities(amounts)).obj(),
    st.sampled_from(NODE_NAMES),
    st.sampled_from([0, 1, 2, 110]),
    amounts,
)
_running_pods: st.SearchStrategy[api.Pod] = st.builds(
    running, st.sampled_from(POD_NAMES), small_amounts, st.sampled_from(NODE_NAMES), st.booleans()
)
stories: st.SearchStrategy[list[Change]] = changes(_nodes, _running_pods)

_weight = st.one_of(st.just(1), st.integers(1, 100))
#: Resources to score by, often the default ones.
scored: st.SearchStrategy[tuple[ResourceSpec, ...]] = st.one_of(
    st.just((ResourceSpec(name="cpu"), ResourceSpec(name="memory"))),
    st.lists(st.builds(ResourceSpec, name=_resource, weight=_weight), min_size=1, max_size=6).map(tuple),
)


def nodes_with(amounts: list[Amounts]) -> ChangingCluster:
    """One node for each of the amounts."""
    cluster = ChangingCluster()
    for number, offered in enumerate(amounts):
        cluster.apply(make_node(f"n{number}").capacity(**quantities(offered)).obj())
    return cluster


def within_bounds(score: int | Status) -> int:
    """Odd amounts may score anything; kernels keep to 0..100."""
    assert isinstance(score, int)
    return min(max(score, MIN_NODE_SCORE), MAX_NODE_SCORE)
