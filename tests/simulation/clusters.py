# SPDX-License-Identifier: Apache-2.0
"""Small clusters for simulations."""

from __future__ import annotations

from steersman import api
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def a_node(name: str, cpu: str = "4", zone: str = "a") -> NodeBuilder:
    node = make_node(name).capacity(cpu=cpu, memory="8Gi", pods=10)
    return node.label(HOSTNAME, name).label(ZONE, zone)


def nodes(*names: str, cpu: str = "4") -> list[api.Node]:
    return [a_node(name, cpu).obj() for name in names]


def a_pod(name: str, cpu: str = "1") -> PodBuilder:
    return make_pod(name).req(cpu=cpu, memory="128Mi")


def pods(count: int, cpu: str = "1") -> list[api.Pod]:
    return [a_pod(f"pod-{index}", cpu).obj() for index in range(count)]
