# SPDX-License-Identifier: Apache-2.0
"""When a pending pod is tried again, and whether waiting helps: terminating pods, pools of an autoscaler."""

from __future__ import annotations

from typing import Any

from tests.explain.rejections import ZONE, node

from steersman import Simulation, api
from steersman.explain import ExplainOptions, PodExplanation, PodState, Waiting, explain_pod
from steersman.simulation import load_pools
from steersman.testing import make_pod


def ended(*objects: api.Object) -> Simulation:
    simulation = Simulation.load(*objects)
    simulation.run()
    return simulation


def waiting_of(answer: PodExplanation) -> Waiting:
    assert answer.when is not None
    return answer.when


def test_a_pod_of_a_simulation_has_its_place_in_the_queue_and_a_next_attempt() -> None:
    pods = [make_pod(name).req(cpu="9").priority(priority).obj() for name, priority in (("low", 0), ("high", 5))]
    simulation = ended(node("n1").obj(), *pods)
    when = waiting_of(explain_pod(simulation, "low"))
    assert when.queue is not None
    assert (when.queue.queue, when.queue.position, when.queue.waiting) == ("unschedulable", 2, 2)
    assert when.queue.ahead == ("default/high",)
    assert (when.queue.attempts, when.queue.is_estimate) == (1, False)
    assert when.next_attempt_seconds == 300
    assert when.next_attempt == "The pod is tried in 300 s, or earlier if an event may help."


def test_of_a_live_cluster_the_place_is_an_estimate_and_the_next_attempt_is_not_known() -> None:
    simulation = Simulation.load(node("n1").obj(), *(make_pod(name).req(cpu="9").obj() for name in ("a", "b")))
    when = waiting_of(explain_pod(simulation, "b", ExplainOptions(is_live=True)))
    assert when.queue is not None
    assert (when.queue.queue, when.queue.position, when.queue.ahead) == ("", 2, ("default/a",))
    assert when.queue.is_estimate
    assert when.next_attempt_seconds is None
    assert "is not visible" in when.next_attempt


def test_a_gated_pod_is_in_no_line() -> None:
    answer = explain_pod(ended(node("n1").obj(), make_pod("later").gate("example.com/wait").obj()), "later")
    when = waiting_of(answer)
    assert when.queue is not None
    assert (when.queue.queue, when.next_attempt_seconds) == ("gated", None)
    assert "The pod is held back, and has no position in the queue." in answer.text()


def test_a_gated_pod_of_a_live_cluster_is_in_no_line_either() -> None:
    pods = [make_pod("other").req(cpu="9").obj(), make_pod("later").gate("example.com/wait").obj()]
    answer = explain_pod(Simulation.load(node("n1").obj(), *pods), "later", ExplainOptions(is_live=True))
    when = waiting_of(answer)
    assert when.queue is not None
    assert when.queue.queue == "gated"
    assert "The pod is held back, and has no position in the queue." in answer.text()


def test_a_pod_that_waits_alone_is_told_so() -> None:
    answer = explain_pod(ended(node("n1").obj(), make_pod("web").req(cpu="9").obj()), "web")
    assert "The pod waits for an event after 1 attempt; no other pod waits." in answer.text()


def test_room_that_terminating_pods_give_back_is_tried() -> None:
    leaving = make_pod("leaving").req(cpu="4").node("n1").phase("Running").terminating().obj()
    simulation = Simulation.load(node("n1").obj(), leaving, make_pod("web").req(cpu="4").obj())
    answer = explain_pod(simulation, "web", ExplainOptions(is_live=True, loaded=simulation))
    when = waiting_of(answer)
    assert (when.terminating, when.node_after_terminating) == (1, "n1")
    assert answer.state is PodState.PENDING
    assert when.node_if_left_alone == "n1"
    assert "No change is needed: the pod will go to n1 (tried on a copy)." in answer.text()


def test_terminating_pods_that_give_back_too_little_are_told_so() -> None:
    leaving = make_pod("leaving").req(cpu="1").node("n1").phase("Running").terminating().obj()
    staying = make_pod("staying").req(cpu="3").node("n1").phase("Running").obj()
    simulation = Simulation.load(node("n1").obj(), leaving, staying, make_pod("web").req(cpu="4").obj())
    when = waiting_of(explain_pod(simulation, "web", ExplainOptions(is_live=True)))
    assert (when.terminating, when.node_after_terminating) == (1, "")


def test_the_simulation_stays_as_it_is() -> None:
    leaving = make_pod("leaving").req(cpu="4").node("n1").phase("Running").terminating().obj()
    simulation = Simulation.load(node("n1").obj(), leaving, make_pod("web").req(cpu="4").obj())
    version, now = simulation.cluster.resource_version, simulation.now
    explain_pod(simulation, "web", ExplainOptions(is_live=True, loaded=simulation, pools=load_pools(pools(large="8"))))
    assert (simulation.cluster.resource_version, simulation.now, simulation.decisions) == (version, now, 0)


# -- pools ------------------------------------------------------------------------------------------------------------


def pools(**cpu: str) -> dict[str, Any]:
    listed = [
        {
            "name": name,
            "pricePerHour": 1,
            "zones": ["a", "b"],
            "template": {"status": {"allocatable": {"cpu": amount, "memory": "16Gi"}}},
        }
        for name, amount in cpu.items()
    ]
    return {"apiVersion": "steersman.dev/v1alpha1", "kind": "NodePools", "pools": listed}


def test_a_pool_helps_if_one_of_its_nodes_would_take_the_pod() -> None:
    simulation = ended(node("n1").obj(), make_pod("web").req(cpu="6").node_selector(ZONE, "b").obj())
    answer = explain_pod(simulation, "web", ExplainOptions(pools=load_pools(pools(small="2", large="8"))))
    small, large = waiting_of(answer).pools or ()
    assert (large.pool, large.helps, large.reason) == ("large", True, "")
    assert not small.helps
    assert "Insufficient cpu" in small.reason
    assert "One more node of pool large would help." in answer.text()


def test_daemon_pods_take_their_part_of_a_new_node() -> None:
    spec = {"containers": [{"name": "agent", "image": "app", "resources": {"requests": {"cpu": "1"}}}]}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": spec},
        },
    }
    simulation = Simulation.load(node("n1").obj(), daemons, make_pod("web").req(cpu="8").obj())
    simulation.run()
    (pool,) = waiting_of(explain_pod(simulation, "web", ExplainOptions(pools=load_pools(pools(large="8"))))).pools or ()
    assert not pool.helps
    assert "asks 8, 7 free of 8" in pool.reason


def test_a_pool_that_is_full_does_not_help() -> None:
    document = pools(large="8")
    document["pools"][0]["max"] = 1
    there = node("large-0").label("steersman.dev/pool", "large").obj()
    simulation = ended(there, make_pod("web").req(cpu="6").obj())
    (pool,) = waiting_of(explain_pod(simulation, "web", ExplainOptions(pools=load_pools(document)))).pools or ()
    assert pool.reason == "the pool has 1 node, its maximum"
