# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods of the hot-path benchmark: realistic shapes, made from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

from steersman import api
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod, make_service

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

MakePod = Callable[[int], api.Pod]


def make_nodes(count: int, seed: int = 7) -> list[api.Node]:
    rng = random.Random(seed)
    return [_node(index, rng).obj() for index in range(count)]


def _node(index: int, rng: random.Random) -> NodeBuilder:
    cpu = rng.choice([16, 32, 64])
    node = make_node(f"node-{index}").capacity(cpu=str(cpu), memory=f"{cpu * 4}Gi", pods=110)
    node = node.label(HOSTNAME, f"node-{index}").label(ZONE, f"zone-{index % 3}")
    return node.label("disk", rng.choice(["ssd", "hdd"])).label("instance", rng.choice("abcd"))


def basic(index: int) -> PodBuilder:
    return make_pod(f"pod-{index}").label("app", "web").req(cpu="100m", memory="256Mi")


def one_signature(index: int) -> api.Pod:
    return basic(index).obj()


def fifty_signatures(index: int) -> api.Pod:
    kind = index % 50
    return make_pod(f"pod-{index}").label("app", f"app-{kind}").req(cpu=f"{100 + kind}m", memory="256Mi").obj()


def default_spreading(index: int) -> api.Pod:
    """Spread by the system defaults: a Service selects the pods."""
    return basic(index).obj()


def hard_spreading(index: int) -> api.Pod:
    pod = basic(index).spread(ZONE, max_skew=1, when="DoNotSchedule", selector={"app": "web"})
    return pod.spread(HOSTNAME, max_skew=1, when="ScheduleAnyway", selector={"app": "web"}).obj()


def hostname_anti_affinity(index: int) -> api.Pod:
    """Groups of pods that must not share a node: as many groups as keep every pod schedulable."""
    group = f"group-{index // 500}"
    return (
        make_pod(f"pod-{index}")
        .label("group", group)
        .req(cpu="100m", memory="256Mi")
        .anti_affinity(HOSTNAME, {"group": group})
        .obj()
    )


def preferred_affinity(index: int) -> api.Pod:
    pod = basic(index).pod_affinity(ZONE, {"app": "web"}, weight=50)
    return pod.anti_affinity(HOSTNAME, {"app": "web"}, weight=100).obj()


SERVICE = make_service("web").selector({"app": "web"}).obj()

#: Name, pods, extra objects, and what the prototype measured at 1k, 5k and 15k nodes (µs, without queue).
WORKLOADS: dict[str, tuple[MakePod, tuple[api.Object, ...], tuple[float, float, float]]] = {
    "one signature": (one_signature, (), (7.8, 9.0, 12.0)),
    "50 signatures": (fifty_signatures, (), (71.0, 93.0, 157.0)),
    "default spreading": (default_spreading, (SERVICE,), (28.0, 32.0, 48.0)),
    "hard spreading": (hard_spreading, (), (53.0, 73.0, 136.0)),
    "hostname anti-affinity": (hostname_anti_affinity, (), (26.0, 37.0, 58.0)),
    "preferred affinity": (preferred_affinity, (SERVICE,), (66.0, 86.0, 154.0)),
}
