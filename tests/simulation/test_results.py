# SPDX-License-Identifier: Apache-2.0
"""What a result says of pods and nodes."""

from __future__ import annotations

from tests.simulation.clusters import a_node, a_pod, nodes, pods

from steersman.framework import PodInfo, PreEnqueuePlugin
from steersman.simulation import Simulation, Usage


def test_placements_are_in_the_order_of_the_input_and_leave_out_what_ran_before() -> None:
    running = a_pod("running").node("n1").phase("Running").obj()
    result = Simulation.load(nodes("n1"), running, a_pod("z").obj(), a_pod("a").priority(5).obj()).run()
    assert list(result.placements) == ["default/z", "default/a"]
    assert result.summary.pods == 2


def test_a_pending_pod_has_the_schedulers_message_and_the_time_of_its_first_attempt() -> None:
    result = Simulation.load(nodes("n1"), a_pod("big", cpu="5").obj()).run()
    pending = result.pending["default/big"]
    assert pending.is_pending
    assert pending.reason == "Unschedulable"
    assert pending.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert (pending.attempts, pending.since, pending.at) == (1, 0.0, None)


def test_a_pod_of_another_scheduler_is_left_alone() -> None:
    result = Simulation.load(nodes("n1"), a_pod("foreign").scheduler("other").obj()).run()
    pending = result.pending["default/foreign"]
    assert pending.reason == "NoProfile"
    assert pending.message == 'no profile for scheduler name "other"'


def test_a_gated_pod_says_what_holds_it_back() -> None:
    result = Simulation.load(nodes("n1"), a_pod("gated").gate("example.com/wait").obj()).run()
    pending = result.pending["default/gated"]
    assert pending.reason == "SchedulingGated"
    assert 'PreEnqueue plugin "SchedulingGates"' in pending.message
    assert "example.com/wait" in pending.message


class BrokenGate(PreEnqueuePlugin):
    name = "BrokenGate"

    def pre_enqueue(self, pod: PodInfo) -> None:
        raise RuntimeError("the gate is stuck")


def test_a_gate_that_breaks_is_an_error() -> None:
    result = Simulation.load(nodes("n1"), pods(1), plugins=[BrokenGate]).run()
    failed = result.failed["default/pod-0"]
    assert 'PreEnqueue plugin "BrokenGate"' in failed.message
    assert "the gate is stuck" in failed.message


def test_a_pod_that_is_being_deleted_is_not_placed() -> None:
    result = Simulation.load(nodes("n1"), a_pod("leaving").terminating().obj()).run()
    assert result.pending["default/leaving"].reason == "Terminating"


def test_finished_pods_are_ignored() -> None:
    done = a_pod("done", cpu="4").node("n1").phase("Succeeded").obj()
    result = Simulation.load(nodes("n1"), done, a_pod("next", cpu="4").obj()).run()
    assert list(result.placements) == ["default/next"]
    assert result.placements["default/next"].node == "n1"


def test_utilisation_counts_requests_of_all_pods_on_a_node() -> None:
    big = a_node("big", cpu="8").obj()
    running = a_pod("running").node("big").phase("Running").obj()
    utilisation = Simulation.load(big, a_node("idle").unschedulable().obj(), running, pods(1)).run().utilisation
    assert utilisation.nodes["big"]["cpu"] == Usage(8000, 2000)
    assert utilisation.nodes["big"]["pods"] == Usage(10, 2)
    assert utilisation.nodes["idle"]["cpu"].fraction == 0.0
    assert utilisation.cluster["cpu"] == Usage(12000, 2000)
    assert utilisation.cluster["memory"].requested == 2 * 128 * 2**20


def test_events_are_counted() -> None:
    result = Simulation.load(nodes("n1"), pods(1), a_pod("big", cpu="5").obj()).run(until=700)
    events = {event.pod: event for event in result.events}
    assert events["default/pod-0"].message == "Successfully assigned default/pod-0 to n1"
    failed = events["default/big"]
    assert (failed.reason, failed.type, failed.count) == ("FailedScheduling", "Warning", 3)
    assert (failed.first, round(failed.last)) == (0.0, 600)


def test_a_result_does_not_change_when_the_simulation_goes_on() -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    first = simulation.run()
    simulation.add(a_pod("later").obj()).run()
    assert list(first.placements) == ["default/pod-0"]
    assert first.utilisation.cluster["cpu"].requested == 1000
