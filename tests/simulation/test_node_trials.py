# SPDX-License-Identifier: Apache-2.0
"""Trials of nodes: what cycles alone leave pending is what a full run leaves pending."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from tests.plan.random_pools import daemon_set, some_objects, some_pools

from steersman import Simulation, api
from steersman.simulation.probes.node_probe import NodeProbe
from steersman.simulation.probes.node_trials import FullRun, NodeTrials
from steersman.testing import make_node, make_pod


def nobody(_: api.Pod) -> bool:
    return False


@pytest.mark.parametrize("case", range(40))
def test_a_trial_leaves_the_pods_pending_that_a_full_run_does(case: int) -> None:
    random = Random(5000 + case)
    pools, objects = some_pools(random), some_objects(random)
    simulation = Simulation.load(*objects, seed=case)
    some = {pool.name: random.randint(0, 3) for pool in pools}
    first = [node for pool in pools for node in pool.make_nodes(3)]
    nodes = [node for pool in pools for node in pool.make_nodes(some[pool.name])]
    trials = NodeTrials.made_of(simulation, FullRun(simulation, first), {node.metadata.name for node in first}, nobody)
    probe = NodeProbe(simulation, first)
    assert trials is not None
    daemons = [[info.pod for info in probe.empty_nodes[node.metadata.name].pods] for node in nodes]
    run = FullRun(simulation, nodes)
    if run.result.preempted:
        return  # trials preempt nobody
    tried = trials.pending(nodes, daemons)
    assert {key for key in tried if is_of_an_app(key)} == {key for key in run.pending if is_of_an_app(key)}
    assert len(tried) == len(run.pending)  # daemon pods have other names in every run


def is_of_an_app(key: str) -> bool:
    return key.startswith("default/app")


def test_a_trial_stops_after_as_many_pods_as_were_wanted() -> None:
    simulation = Simulation.load(*(make_pod(f"web-{n}").req(cpu="1").obj() for n in range(5)))
    trials = NodeTrials.made_of(simulation, FullRun(simulation, []), set(), nobody)
    assert trials is not None
    assert len(trials.pending([], [])) == 5
    assert len(trials.pending([], [], most=2)) == 2


def test_pods_with_claims_have_no_trials() -> None:
    simulation = Simulation.load(make_pod("db").pvc("data").obj(), make_node("n1").capacity(cpu="4", pods=9).obj())
    assert NodeTrials.made_of(simulation, FullRun(simulation, []), set(), nobody) is None


def test_a_probe_knows_what_an_empty_node_refuses_and_its_daemon_pods() -> None:
    node = make_node("empty").capacity(cpu="2", memory="4Gi", pods=5).taint("gpu", "x").obj()
    probe = NodeProbe(Simulation.load(daemon_set(), make_pod("web").req(cpu="1800m").obj()), [node])
    empty = probe.empty_nodes["empty"]
    assert [info.pod.metadata.labels["app"] for info in empty.pods] == ["agent"]
    (web,) = probe.waiting
    assert probe.refusals(web, empty) == ("node(s) had untolerated taint(s)", "Insufficient cpu")
    assert probe.checked_amounts(web) == {"pods": 1, "cpu": 1800}


def test_the_probe_sees_the_latest_version_of_a_pod() -> None:
    simulation = Simulation.load(make_node("n1").capacity(cpu="4", pods=10).obj(), make_pod("web").req(cpu="1").obj())
    probe = NodeProbe(simulation, [])
    pod = simulation.cluster.get(api.Pod, "default/web")
    spec = make_pod("web").req(cpu="2").obj().spec
    assert probe.info(pod) is probe.info(pod)
    assert probe.info(pod).requests("cpu") == 1_000
    assert probe.info(msgspec.structs.replace(pod, spec=spec)).requests("cpu") == 2_000
    probe.close()
