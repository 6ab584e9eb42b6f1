# SPDX-License-Identifier: Apache-2.0
"""The filter of NodeResourcesFit says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import Change, ChangingCluster, FilterCheck
from tests.plugins.node_resources.fitting import FPGA, GPU, fit_plugin
from tests.plugins.node_resources.odd_amounts import RESOURCES, nodes_with, stories, waiting_pods

from steersman.config import NodeResourcesFitArgs
from steersman.framework.nodes_view import ALL_ROWS
from steersman.framework.status import Status, unresolvable, unschedulable
from steersman.scheduler.plugins.node_resources import NodeResourcesFit
from steersman.scheduler.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS, insufficient_reason
from steersman.testing import PodBuilder, make_node, make_pod

ignoring = st.builds(
    NodeResourcesFitArgs,
    ignored_resources=st.lists(st.sampled_from(RESOURCES), max_size=2).map(tuple),
    ignored_resource_groups=st.lists(st.sampled_from(["example.com", "kubernetes.io"]), max_size=1).map(tuple),
)


@examples(120)
@given(ignoring, stories, waiting_pods)
def test_vector_and_scalar_form_agree(args: NodeResourcesFitArgs, story: list[Change], pods: list[PodBuilder]) -> None:
    cluster = ChangingCluster()
    check = FilterCheck(fit_plugin(args), cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check(cluster.shapes.info(pod.obj()))


def statuses(plugin: NodeResourcesFit, pod: PodBuilder, cluster: ChangingCluster) -> list[Status | None]:
    """By node, as the kernel says of all rows at once."""
    reasons = plugin.filter_kernel(pod.info(), cluster.table).rows(ALL_ROWS)
    return [plugin.statuses[reasons[row]] if reasons[row] else None for row in cluster.table.live_rows()]


def test_every_set_of_lacking_resources_has_its_own_reasons() -> None:
    cluster = nodes_with([{"cpu": 5, "memory": 5}, {"cpu": 5}, {"memory": 5}, {}])
    cluster.apply(make_node("full").capacity(cpu="5m", memory=5, pods=0).obj())

    found = statuses(fit_plugin(), make_pod().req(cpu="1m", memory=1), cluster)

    no_cpu, no_memory = insufficient_reason("cpu"), insufficient_reason("memory")
    assert found == [
        None,
        unresolvable(no_memory),
        unresolvable(no_cpu),
        unresolvable(no_cpu, no_memory),
        unschedulable(REASON_TOO_MANY_PODS),
    ]


def test_removing_pods_helps_where_the_node_is_large_enough_in_every_lacking_resource() -> None:
    cluster = nodes_with([{"cpu": 10, GPU: 2}, {"cpu": 10, GPU: 8}])
    for node in ("n0", "n1"):
        cluster.apply(make_pod(f"on-{node}").req(cpu="9m", **{GPU: 2}).node(node).obj())

    found = statuses(fit_plugin(), make_pod().req(cpu="3m", **{GPU: 4}), cluster)

    no_cpu, no_gpu = insufficient_reason("cpu"), insufficient_reason(GPU)
    assert found == [unresolvable(no_cpu, no_gpu), unschedulable(no_cpu)]


def test_pods_may_request_any_number_of_resources() -> None:
    many = {f"example.com/device-{number:02}": 1 for number in range(70)}
    fewer = dict.fromkeys(list(many)[1:], 1)
    cluster = nodes_with([many, fewer, {}])

    found = statuses(fit_plugin(), make_pod().req(**many), cluster)

    assert found == [
        None,
        unresolvable(insufficient_reason("example.com/device-00")),
        unresolvable(*map(insufficient_reason, many)),
    ]


def test_pods_with_the_same_checked_requests_share_a_column() -> None:
    plugin = fit_plugin(NodeResourcesFitArgs(ignored_resources=(FPGA,)))
    pods = (
        make_pod("one").req(memory=5, cpu="2m"),
        make_pod("other").req(cpu="1m", memory=5).req(cpu="1m", **{FPGA: 3, GPU: 0}).label("app", "web"),
    )

    assert len({plugin.filter_fragment(pod.info()) for pod in pods}) == 1
