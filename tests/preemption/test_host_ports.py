# SPDX-License-Identifier: Apache-2.0
"""Preemption for host ports."""

from __future__ import annotations

import pytest
from tests.preemption.clusters import PreemptionCluster

from steersman.testing import PodBuilder, make_node, make_pod

NODE = make_node("n1").capacity(cpu="4", pods=10)
PREEMPTOR = make_pod("preemptor").host_port(80).priority(100)

both_ways = pytest.mark.parametrize("scalar", [True, False], ids=["plain", "columns"])


def running(name: str, port: int, priority: int = 0) -> PodBuilder:
    return make_pod(name).host_port(port).priority(priority).node("n1").started("2030-01-01T00:00:00Z")


@both_ways
def test_the_pod_that_holds_the_port_goes(scalar: bool) -> None:
    cluster = PreemptionCluster([NODE], [running("web", 80, 5), running("other", 443)], scalar=scalar)
    assert cluster.victims(PREEMPTOR) == ("n1", ["web"])


@both_ways
def test_all_pods_that_hold_one_of_the_ports_go(scalar: bool) -> None:
    pods = [running("web", 80, 5), running("other", 443, 3), running("api", 8080)]
    cluster = PreemptionCluster([NODE], pods, scalar=scalar)
    assert cluster.victims(PREEMPTOR.host_port(8080)) == ("n1", ["web", "api"])


@both_ways
def test_a_port_of_a_pod_that_stays_cannot_be_had(scalar: bool) -> None:
    cluster = PreemptionCluster([NODE], [running("web", 80, 100), running("other", 443)], scalar=scalar)
    assert cluster.victims(PREEMPTOR) == ("", [])


@both_ways
def test_a_port_of_a_nominated_pod_cannot_be_had(scalar: bool) -> None:
    cluster = PreemptionCluster([NODE], [running("web", 80)], scalar=scalar)
    cluster.nominate(make_pod("rival").host_port(80).priority(100), "n1")
    assert cluster.victims(PREEMPTOR) == ("", [])


@both_ways
def test_a_port_that_two_pods_hold_counts_as_free_once_one_of_them_is_gone(scalar: bool) -> None:
    """As kube-scheduler has it: it does not count the users of a port."""
    cluster = PreemptionCluster([NODE], [running("staying", 80, 100), running("leaving", 80)], scalar=scalar)
    assert cluster.victims(PREEMPTOR) == ("n1", ["leaving"])
