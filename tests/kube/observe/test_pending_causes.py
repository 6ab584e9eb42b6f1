# SPDX-License-Identifier: Apache-2.0
"""Pending pods are counted by reason code, from the diagnoses of their last attempts."""

from __future__ import annotations

from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman import api
from steersman.framework import FilterPlugin
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.testing import make_node, make_pod


def causes(cluster: MeasuredCluster) -> dict[str, float]:
    lines = [line for line in cluster.text().splitlines() if line.startswith("steersman_pending_pods{")]
    return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in lines}


def test_pods_of_failed_attempts_are_counted_by_cause(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    cluster.add_pod("huge", cpu="99")
    cluster.store.create(make_pod("picky").node_selector("disk", "ssd").obj())
    cluster.store.create(make_pod("held").gate("wait").obj())
    cluster.store.create(make_pod("lost").pvc("nowhere").obj())
    cluster.run()
    cluster.add_pod("new")
    assert causes(cluster) == {"InsufficientResources": 2, "NodeAffinity": 1, "HeldBack": 1, "Volumes": 1}


def test_the_filter_that_objects_latest_decides(cluster: MeasuredCluster) -> None:
    for index in range(5):
        cluster.store.create(make_node(f"tainted-{index}").capacity(cpu="64", pods=9).taint("a", "b").obj())
    cluster.add_pod("big", cpu="9")
    cluster.run()
    assert causes(cluster) == {"InsufficientResources": 1}


def test_a_pod_that_is_placed_or_gone_does_not_wait_any_more(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    cluster.add_pod("other", cpu="9")
    cluster.run()
    cluster.store.delete(api.Pod, "default/other")
    assert causes(cluster) == {"InsufficientResources": 1}
    cluster.store.create(make_node("large").capacity(cpu="16", memory="8Gi", pods=20).obj())
    cluster.wait(20)
    cluster.run()
    assert causes(cluster) == {"InsufficientResources": 0}


def test_without_nodes_that_is_the_cause(cluster: MeasuredCluster) -> None:
    cluster.store.delete(api.Node, "n1")
    cluster.add_pod("web")
    cluster.run()
    assert causes(cluster) == {"NoNodes": 1}


class Broken(FilterPlugin):
    name = "Broken"

    def filter(self, pod: PodInfo, node: NodeInfo) -> None:
        raise ValueError("oh")


def test_a_plugin_that_fails_is_an_error() -> None:
    cluster = MeasuredCluster([Broken])
    cluster.add_pod("web")
    cluster.run()
    assert causes(cluster) == {"Error": 1}


def test_what_is_kept_of_pods_that_come_and_go_is_bounded(cluster: MeasuredCluster) -> None:
    for index in range(1500):
        cluster.add_pod(f"big-{index}", cpu="9")
        cluster.run()
        cluster.store.delete(api.Pod, f"default/big-{index}")
    assert len(cluster.exposition._causes._codes) <= 1025
