# SPDX-License-Identifier: Apache-2.0
"""Small random questions for `plan nodes`: pools, workloads, nodes that are there; and the answer by exhaustion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

from steersman import Simulation, api
from steersman.simulation import NodePools, load_pools
from steersman.simulation.node_pools import pool_of
from steersman.testing import make_node, make_pod

ZONES = ["a", "b"]
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def some_pools(random: Random) -> NodePools:
    pools = [_pool(random, name) for name in ("small", "large", "odd")[: random.randint(1, 3)]]
    limits = {"spotShare": random.choice([0.3, 0.5, 0.8])} if random.random() < 0.3 else {}
    return load_pools({"apiVersion": "steersman.dev/v1alpha1", "kind": "NodePools", "pools": pools, "limits": limits})


def _pool(random: Random, name: str) -> dict[str, Any]:
    cpu = random.choice([2, 3, 4, 6])
    allocatable = {"cpu": cpu, "memory": f"{random.choice([4, 8, 12])}Gi", "pods": random.choice([3, 5, 110])}
    if random.random() < 0.3:
        allocatable["example.com/gpu"] = random.choice([1, 2])
    template: dict[str, Any] = {"metadata": {"labels": {"disk": random.choice(["ssd", "hdd"])}}}
    template["status"] = {"allocatable": allocatable}
    if random.random() < 0.25:
        template["spec"] = {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}
    pool = {"name": name, "pricePerHour": random.choice([0.5, 0.7, 1, 1.3, 2]), "max": random.randint(1, 3)}
    if random.random() < 0.15:
        pool["min"] = 1
    if random.random() < 0.5:
        pool["zones"] = ZONES
    return {**pool, "spot": random.random() < 0.4, "template": template}


def some_objects(random: Random) -> list[api.Object]:
    objects: list[api.Object] = []
    for number in range(random.randint(0, 2)):
        node = make_node(f"there-{number}").capacity(cpu=str(random.choice([1, 2, 4])), memory="8Gi", pods=10)
        node = node.label("disk", random.choice(["ssd", "hdd"])).label(ZONE, random.choice(ZONES))
        objects.append(node.label("steersman.dev/pool", random.choice(["small", "other"])).obj())
        if random.random() < 0.6:
            objects.append(make_pod(f"bound-{number}").req(cpu="500m").node(f"there-{number}").obj())
    if random.random() < 0.5:
        objects.append(daemon_set())
    for number in range(random.randint(1, 3)):
        objects += _replicas(random, f"app{number}")
    return objects


def daemon_set() -> api.DaemonSet:
    """A pod with 0.3 CPU on every node."""
    template = pod_template("agent", "300m")
    template["spec"]["tolerations"] = [{"operator": "Exists"}]
    return api.DaemonSet(
        metadata=api.ObjectMeta(name="agent", namespace="default"),
        spec=api.DaemonSetSpec(selector=api.LabelSelector(match_labels={"app": "agent"}), template=template),
    )


def pod_template(app: str, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": app, "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}}


def _replicas(random: Random, app: str) -> Iterator[api.Pod]:
    request = {"cpu": random.choice(["500m", "1", "1500m", "2"]), "memory": random.choice(["512Mi", "2Gi", "3Gi"])}
    gpu, selects, tolerates = (random.random() < share for share in (0.15, 0.25, 0.4))
    port, apart, spreads = (random.random() < share for share in (0.15, 0.25, 0.2))
    priority = random.choice([0, 0, 0, 10])
    for number in range(random.randint(1, 4)):
        pod = make_pod(f"{app}-{number}").label("app", app).priority(priority)
        pod = pod.req(**request, **({"example.com/gpu": "1"} if gpu else {}))
        if selects:
            pod = pod.node_selector("disk", "ssd")
        if tolerates:
            pod = pod.toleration("dedicated", "x")
        if port:
            pod = pod.host_port(8080)
        if apart:
            pod = pod.anti_affinity(HOSTNAME, {"app": app})
        if spreads:
            pod = pod.spread(ZONE, max_skew=1, selector={"app": app})
        yield pod.obj()


def cheapest_by_exhaustion(objects: Sequence[api.Object], pools: NodePools, seed: int) -> float | None:
    """The least cost of new nodes with which a simulation leaves nothing pending, of all numbers within the limits."""
    existing = [obj for obj in objects if isinstance(obj, api.Node)]
    there = {pool.name: sum(pool_of(node) == pool.name for node in existing) for pool in pools}
    ranges = [
        range(max(0, pool.min - there[pool.name]), max(0, (pool.max or 0) - there[pool.name]) + 1) for pool in pools
    ]
    costs = {numbers: _cost(pools, numbers) for numbers in product(*ranges)}
    for numbers in sorted(costs, key=lambda numbers: (costs[numbers], numbers)):
        new = [
            node
            for pool, count in zip(pools, numbers, strict=True)
            for node in pool.make_nodes(count, {node.metadata.name for node in existing}, there[pool.name])
        ]
        if _share_is_met(pools, existing, new) and not is_any_pending(objects, new, seed):
            return float(costs[numbers])
    return None


def is_any_pending(objects: Sequence[api.Object], new: Sequence[api.Node], seed: int) -> bool:
    """Whether a simulation with the nodes leaves a pod pending, or has one preempted."""
    result = Simulation.load(*objects, *new, seed=seed).run()
    return bool(result.pending or result.preempted)


def _cost(pools: NodePools, numbers: Sequence[int]) -> Fraction:
    pairs = zip(pools, numbers, strict=True)
    return sum((Fraction(str(pool.price_per_hour)) * count for pool, count in pairs), Fraction(0))


def _share_is_met(pools: NodePools, existing: Sequence[api.Node], new: Sequence[api.Node]) -> bool:
    share = pools.limits.spot_share
    spot = [node for node in new if pools[pool_of(node)].spot]
    if share is None or not spot:
        return True
    old_spot = [node for node in existing if pool_of(node) in pools and pools[pool_of(node)].spot]
    return _cpu([*spot, *old_spot]) <= share * _cpu([*existing, *new]) + 1e-6


def _cpu(nodes: Sequence[api.Node]) -> float:
    return sum(float(node.status.allocatable["cpu"]) for node in nodes)


def a_running_cluster(random: Random) -> list[api.Object]:
    """Up to eight nodes of pools `old` and `small`, with workloads that fill a part of them, and a bare pod now and then."""
    objects: list[api.Object] = []
    for number in range(random.randint(2, 8)):
        node = make_node(f"there-{number}").capacity(cpu=str(random.choice([2, 4])), memory="8Gi", pods=10)
        node = node.label("disk", random.choice(["ssd", "hdd"])).label(ZONE, random.choice(ZONES))
        objects.append(node.label("steersman.dev/pool", random.choice(["old", "old", "small"])).obj())
    if random.random() < 0.3:
        objects.append(daemon_set())
    if random.random() < 0.3:
        objects.append(make_pod("bare").req(cpu="500m").node("there-0").obj())
    for number in range(random.randint(1, 3)):
        objects.append(a_deployment(f"run{number}", random.randint(1, 6), random.choice(["500m", "1", "1500m"])))
    return objects


def a_deployment(name: str, replicas: int, cpu: str) -> api.Deployment:
    return api.Deployment(
        metadata=api.ObjectMeta(name=name, namespace="default"),
        spec=api.DeploymentSpec(
            replicas=replicas, selector=api.LabelSelector(match_labels={"app": name}), template=pod_template(name, cpu)
        ),
    )


def with_old_pool(random: Random, pools: NodePools) -> NodePools:
    """The pools, and one named `old` that may have a limit below the nodes it has."""
    limit: dict[str, Any] = random.choice([{}, {}, {"max": 0}, {"max": 1}, {"min": 1}])
    template = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}
    old = load_pools(
        {
            "apiVersion": "steersman.dev/v1alpha1",
            "kind": "NodePools",
            "pools": [{"name": "old", "pricePerHour": random.choice([0.5, 1, 2]), "template": template, **limit}],
        }
    )
    return NodePools((*pools.pools, *old.pools))
