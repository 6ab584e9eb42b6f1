# SPDX-License-Identifier: Apache-2.0
"""Simulations in which nodes fail and kubelets follow a policy; all of it can be done again."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from steersman import api
from steersman.base.errors import InputError
from steersman.cluster.kubelets import KubeletPolicy, PodSettings
from steersman.simulation import Simulation
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

HEADER = {"apiVersion": "steersman.dev/v1", "kind": "KubeletPolicy"}


def node(name: str) -> NodeBuilder:
    return make_node(name).capacity(cpu="4", memory="8Gi", pods="10")


def pod(name: str) -> PodBuilder:
    return make_pod(name).req(cpu="3")


def test_room_on_a_crashed_node_is_not_free_before_it_is_back() -> None:
    first = pod("first").annotation("steersman.dev/run-seconds", "30").obj()
    sim = Simulation.load(node("n1").obj(), first, pod("second").obj())
    sim.run(until=10)
    sim.crash("n1").run(until=100)
    assert sim.result().placements["default/second"].is_pending
    result = sim.recover("n1").run(until=200)
    assert result.placements["default/second"].node == "n1"


def test_a_drained_node_loses_its_pods_and_gets_no_others() -> None:
    sim = Simulation.load(node("n1").obj(), pod("web").obj())
    sim.run()
    sim.drain("n1").add(pod("other").obj())
    result = sim.run()
    assert sim.cluster.find(api.Pod, "default/web") is None
    assert result.placements["default/other"].is_pending
    assert sim.uncordon("node/n1").run().placements["default/other"].node == "n1"


def test_a_reboot_restarts_containers() -> None:
    sim = Simulation.load(node("n1").obj(), pod("web").obj(), kubelets={**HEADER, "rebootSeconds": 30})
    sim.run()
    sim.reboot("n1").run(until=29)
    assert sim.cluster.get(api.Pod, "default/web").status.container_statuses == ()
    sim.run(until=30)
    assert sim.cluster.get(api.Pod, "default/web").status.container_statuses[0].restart_count == 1


def test_pods_of_a_node_that_stays_away_are_evicted_but_not_gone_before_it_is_back() -> None:
    sim = Simulation.load(node("n1").obj(), pod("web").obj())
    sim.run()
    sim.add(node("n2").obj()).crash("n1").run(until=1000)
    assert sim.cluster.get(api.Pod, "default/web").metadata.deletion_timestamp is not None
    sim.recover("n1").run(until=1001)
    assert sim.cluster.find(api.Pod, "default/web") is None


def test_what_was_done_to_nodes_is_done_again_for_copies_and_explanations() -> None:
    policy = KubeletPolicy(pods=PodSettings(run_seconds="uniform(20, 40)"))
    sim = Simulation.load([node("n1").obj(), node("n2").obj()], [pod(name).obj() for name in "abcd"], kubelets=policy)
    sim.run(until=5)
    sim.crash("n1").drain("n2").run(until=60)
    sim.recover("n1")
    result = sim.run()
    twin = copy.deepcopy(sim)
    assert twin.cluster.list(api.Pod)[0] == sim.cluster.list(api.Pod)[0]
    assert result.explain("default/d").pod == "default/d"


def test_the_seed_of_the_simulation_decides_how_long_pods_run() -> None:
    def ends(seed: int) -> float:
        policy = KubeletPolicy(pods=PodSettings(run_seconds="exponential(mean=100)"))
        sim = Simulation.load(node("n1").obj(), pod("web").obj(), seed=seed, kubelets=policy)
        sim.run()
        return sim.now

    assert ends(1) == ends(1) != ends(2)


@pytest.mark.parametrize("act", [Simulation.crash, Simulation.recover, Simulation.reboot, Simulation.drain])
def test_a_node_that_is_not_there_is_named(act: Callable[[Simulation, str], Simulation]) -> None:
    sim = Simulation.load(node("n1").obj())
    with pytest.raises(InputError, match='nodes "n9" not found'):
        act(sim, "n9")
    assert copy.deepcopy(sim).now == 0


def test_pods_that_just_run_are_written_about_in_a_few_words() -> None:
    sim = Simulation.load(node("n1").obj(), pod("web").obj())
    sim.run()
    status = sim.cluster.get(api.Pod, "default/web").status
    assert (status.phase, status.container_statuses, status.pod_ip, status.qos_class) == ("Running", (), "", "")
