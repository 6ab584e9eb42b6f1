# SPDX-License-Identifier: Apache-2.0
"""A cluster of some size, in virtual time."""

from __future__ import annotations

from collections import Counter

from tests.simulation.clusters import HOSTNAME, ZONE, a_node

from steersman import api
from steersman.cluster.kubelets import RUN_SECONDS
from steersman.simulation import Simulation
from steersman.testing import make_pod, make_service

NODES, PODS, DEPLOYMENTS = 300, 2000, 40


def pod(index: int) -> api.Pod:
    deployment = index % DEPLOYMENTS
    built = make_pod(f"app-{deployment}-{index}").label("app", f"app-{deployment}").req(cpu="300m", memory="256Mi")
    if deployment % 5 == 1:
        built = built.spread(ZONE, max_skew=1, selector={"app": f"app-{deployment}"})
    if deployment % 5 == 2:
        built = built.anti_affinity(HOSTNAME, {"app": f"app-{deployment}"})
    if deployment % 5 == 3:
        built = built.annotation(RUN_SECONDS, str(60 + index % 60))
    return built.obj()


def test_three_hundred_nodes_take_two_thousand_pods() -> None:
    nodes = [a_node(f"node-{index}", zone=f"zone-{index % 3}").obj() for index in range(NODES)]
    services = [make_service(f"app-{n}").selector({"app": f"app-{n}"}).obj() for n in range(DEPLOYMENTS)]
    simulation = Simulation.load(nodes, services, (pod(index) for index in range(PODS)), seed=5)
    result = simulation.run()
    assert result.summary.scheduled == PODS
    assert result.summary.seconds >= 110.0
    assert_rules_hold(simulation)


def assert_rules_hold(simulation: Simulation) -> None:
    zone_of = {name: node.metadata.labels[ZONE] for name, node in simulation.cluster.objects(api.Node).items()}
    bound = list(simulation.cluster.objects(api.Pod).values())
    zones = Counter((pod.metadata.labels["app"], zone_of[pod.spec.node_name]) for pod in bound)
    hosts = Counter((pod.metadata.labels["app"], pod.spec.node_name) for pod in bound)
    for deployment in range(DEPLOYMENTS):
        app = f"app-{deployment}"
        if deployment % 5 == 1:
            counts = [zones[app, zone] for zone in set(zone_of.values())]
            assert max(counts) - min(counts) <= 1
        if deployment % 5 == 2:
            assert max(count for (name, _), count in hosts.items() if name == app) == 1
