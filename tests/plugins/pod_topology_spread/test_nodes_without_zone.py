# SPDX-License-Identifier: Apache-2.0
"""Default constraints score nodes without a zone as well; an empty zone and none at all are one domain."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.column_cluster import Probe, SpreadCluster
from tests.plugins.pod_topology_spread.spreading import WEB, replicas, web

from steersman.api import HOSTNAME_LABEL, ZONE_LABEL
from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.testing import NodeBuilder, make_node, make_service

SYSTEM_DEFAULTS = PodTopologySpreadArgs(defaulting_type=DefaultingType.SYSTEM)


def zoned(name: str, zone: str | None) -> NodeBuilder:
    built = make_node(name).label(HOSTNAME_LABEL, name)
    return built if zone is None else built.label(ZONE_LABEL, zone)


@pytest.mark.parametrize("zones", [("a", "", None), ("", None), (None, None), ("a", "b", ""), ("", ""), ("a", None)])
@pytest.mark.parametrize("hosts", [1, 2])
def test_kernels_count_an_empty_zone_as_the_scalar_form_does(zones: tuple[str | None, ...], hosts: int) -> None:
    cluster = SpreadCluster()
    cluster.set_object(make_service("web").selector(WEB).obj())
    names = [f"{index}-{host}" for index in range(len(zones)) for host in range(hosts)]
    for name in names:
        cluster.set_node(zoned(name, zones[int(name[0])]))
    probe = Probe(web().info(), cluster, SYSTEM_DEFAULTS)
    probe.compare()
    for number, pod in enumerate(replicas(3 * len(names))):
        cluster.set_pod(pod.node(names[(number * number) % len(names)]))
        probe.compare()
