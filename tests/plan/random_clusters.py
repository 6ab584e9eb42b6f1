# SPDX-License-Identifier: Apache-2.0
"""Small random clusters and pods, of everything that decides where a pod may go."""

from __future__ import annotations

from random import Random

from steersman import api
from steersman.testing import PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
APPS = ("web", "db", "job")


def a_cluster(random: Random) -> list[api.Object]:
    """Up to six nodes in up to three zones, tainted, cordoned or full, and pods on them."""
    names = [f"n{number}" for number in range(random.randint(1, 6))]
    nodes = [_node(random, name) for name in names]
    pods = [_present_pod(random, f"old-{number}", random.choice(names)) for number in range(random.randint(0, 8))]
    return [*nodes, *pods]


def _node(random: Random, name: str) -> api.Node:
    cpu, memory = random.choice((1, 2, 3, 4)), random.choice((1, 2, 4))
    node = make_node(name).capacity(cpu=str(cpu), memory=f"{memory}Gi", pods=random.choice((2, 4, 10)))
    node = node.label(HOSTNAME, name).label(ZONE, random.choice("abc")).label("disk", random.choice(("ssd", "hdd")))
    if random.random() < 0.2:
        node = node.taint("dedicated", "gpu", effect=random.choice(("NoSchedule", "PreferNoSchedule")))
    return node.unschedulable().obj() if random.random() < 0.1 else node.obj()


def _present_pod(random: Random, name: str, node: str) -> api.Pod:
    app = random.choice(APPS)
    pod = make_pod(name).label("app", app).req(cpu=random.choice(("100m", "500m"))).node(node)
    if random.random() < 0.2:
        pod = pod.anti_affinity(random.choice((ZONE, HOSTNAME)), {"app": random.choice(APPS)})
    if random.random() < 0.2:
        pod = pod.host_port(8080)
    return pod.obj()


def a_pod(random: Random, name: str = "new") -> api.Pod:
    """A pod with any of the rules that limit where replicas of it may go."""
    app = random.choice(APPS)
    pod = make_pod(name).label("app", app)
    pod = pod.req(cpu=random.choice(("100m", "300m", "1")), memory=random.choice(("64Mi", "300Mi", "1Gi")))
    return _with_rules(random, pod, app).obj()


def _with_rules(random: Random, pod: PodBuilder, app: str) -> PodBuilder:
    if random.random() < 0.15:
        pod = pod.host_port(random.choice((8080, 9090)))
    if random.random() < 0.2:
        pod = pod.node_selector("disk", "ssd")
    if random.random() < 0.3:
        pod = pod.toleration("dedicated", "gpu")
    if random.random() < 0.25:
        pod = pod.spread(random.choice((ZONE, HOSTNAME)), max_skew=random.choice((1, 2)), selector={"app": app})
    if random.random() < 0.15:
        pod = pod.anti_affinity(random.choice((ZONE, HOSTNAME)), {"app": random.choice(APPS)})
    if random.random() < 0.15:
        pod = pod.pod_affinity(ZONE, {"app": random.choice(APPS)})
    if random.random() < 0.3:
        pod = pod.anti_affinity(HOSTNAME, {"app": app}, required=False, weight=10)
    return pod
