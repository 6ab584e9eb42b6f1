# SPDX-License-Identifier: Apache-2.0
"""Pods with equal fragments may share kernels: what else decides must be in the fragment."""

from __future__ import annotations

from tests.plugins.pod_topology_spread.column_cluster import SpreadCluster
from tests.plugins.pod_topology_spread.spreading import NO_DEFAULTS, WEB, ZONE, web

from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.testing import make_pod, make_replica_set, make_service

SYSTEM_DEFAULTS = PodTopologySpreadArgs(defaulting_type=DefaultingType.SYSTEM)


def test_labels_named_by_match_label_keys_tell_pods_apart() -> None:
    plugin = SpreadCluster().plugin(SYSTEM_DEFAULTS)
    pod = web().spread(ZONE, selector=WEB, match_label_keys=["version"])
    first = plugin.pod_fragment(pod.label("version", "1").info())
    assert plugin.pod_fragment(pod.label("version", "2").info()) != first
    assert plugin.pod_fragment(pod.info()) != first
    assert plugin.pod_fragment(pod.label("version", "1").label("index", "7").info()) == first


def test_pods_of_different_services_have_different_fragments() -> None:
    cluster = SpreadCluster()
    plugin = cluster.plugin(SYSTEM_DEFAULTS)
    alone = plugin.pod_fragment(web().info())
    assert alone == plugin.pod_fragment(make_pod().label("app", "db").info())
    cluster.set_object(make_service("web").selector(WEB).obj())
    assert plugin.pod_fragment(web().info()) != alone
    assert plugin.pod_fragment(make_pod().label("app", "db").info()) == alone


def test_replicas_share_a_fragment_whatever_their_index() -> None:
    cluster = SpreadCluster()
    plugin = cluster.plugin(SYSTEM_DEFAULTS)
    cluster.set_object(make_replica_set("web").selector(WEB).obj())
    replicas = [web(f"web-{n}").label("index", str(n)).owner("ReplicaSet", "web").info() for n in range(3)]
    assert len({plugin.pod_fragment(pod) for pod in replicas}) == 1
    assert plugin.pod_fragment(replicas[0]) != plugin.pod_fragment(web().info())


def test_without_constraints_all_pods_have_one_fragment() -> None:
    cluster = SpreadCluster()
    cluster.set_object(make_service("web").selector(WEB).obj())
    plugin = cluster.plugin(NO_DEFAULTS)
    assert plugin.pod_fragment(web().info()) == plugin.pod_fragment(make_pod().info())
