# SPDX-License-Identifier: Apache-2.0
"""Adding and deleting between runs."""

from __future__ import annotations

import msgspec
import pytest
from tests.simulation.clusters import a_pod, nodes, pods

from steersman import api
from steersman.base.errors import InputError
from steersman.simulation import Simulation


def test_a_new_node_helps_a_pod_that_waits() -> None:
    simulation = Simulation.load(nodes("n1", cpu="1"), pods(2))
    assert simulation.run().summary.pending == 1
    result = simulation.add(nodes("n2")).run()
    assert result.summary.pending == 0
    assert {placement.node for placement in result.placements.values()} == {"n1", "n2"}


def test_a_deleted_pod_makes_room() -> None:
    simulation = Simulation.load(nodes("n1", cpu="1"), pods(2))
    simulation.run()
    result = simulation.delete("pod/default/pod-0").run()
    assert list(result.placements) == ["default/pod-1"]
    assert result.placements["default/pod-1"].node == "n1"


def test_objects_and_short_names_can_be_deleted() -> None:
    node = nodes("n1")[0]
    simulation = Simulation.load(node, pods(1)).delete("pods/pod-0", node)
    assert simulation.run().summary.nodes == 0


@pytest.mark.parametrize(
    ("what", "message"),
    [("pod/ghost", 'pods "ghost" not found'), ("thing/x", "is not an object"), ("node/n9", 'nodes "n9" not found')],
)
def test_what_does_not_exist_cannot_be_deleted(what: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Simulation.load(nodes("n1")).delete(what)


def test_changes_made_to_the_cluster_directly_are_seen() -> None:
    simulation = Simulation.load(nodes("n1", cpu="1"), a_pod("big", cpu="2").obj())
    assert simulation.run().summary.pending == 1
    node = simulation.cluster.get(api.Node, "n1")
    amounts = {**node.status.allocatable, "cpu": "3"}
    grown = msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, allocatable=amounts))
    simulation.cluster.update_status(grown)
    assert simulation.run().placements["default/big"].node == "n1"


def test_times_of_later_pods_count_from_their_creation() -> None:
    simulation = Simulation.load(nodes("n1"))
    simulation.run(until=50)
    gated = a_pod("gated").gate("example.com/wait").obj()
    result = simulation.add(a_pod("late").obj(), gated).run()
    assert result.placements["default/late"].at == 50.0
    assert result.pending["default/gated"].since == 50.0


def test_a_pod_whose_node_is_deleted_is_not_scheduled_any_more() -> None:
    simulation = Simulation.load(nodes("n1", "n2", cpu="1"), pods(2))
    before = simulation.run()
    gone = before.placements["default/pod-0"].node
    result = simulation.delete(f"node/{gone}").run()
    placement = result.placements["default/pod-0"]
    assert (placement.is_pending, placement.node, placement.reason) == (True, "", "NodeNotFound")
    assert placement.message == f'its node "{gone}" does not exist any more'
    assert (result.summary.nodes, result.summary.scheduled, result.summary.pending) == (1, 1, 1)
    assert gone not in result.utilisation.nodes
    assert result.utilisation.cluster["pods"].requested == 1


def test_a_pod_that_came_with_a_node_which_is_not_there_counts_nowhere() -> None:
    lost = a_pod("lost").node("ghost").obj()
    result = Simulation.load(nodes("n1"), lost).run()
    assert result.placements == {}
    assert result.utilisation.cluster["pods"].requested == 0
    assert result.notes == ("a pod is on a node that does not exist, and counts nowhere: default/lost on ghost",)


def test_many_pods_without_their_nodes_are_reported_in_one_line() -> None:
    lost = [a_pod(f"lost-{index}").node("ghost").obj() for index in range(3)]
    (note,) = Simulation.load(nodes("n1"), lost).run().notes
    assert note == "3 pods are on nodes that do not exist, and count nowhere, for example default/lost-0 on ghost"


def test_a_finished_pod_whose_node_is_gone_is_not_pending() -> None:
    running, *finished = pods(4)
    ended = [
        msgspec.structs.replace(
            pod, metadata=msgspec.structs.replace(pod.metadata, annotations={"steersman.dev/run-seconds": "5"})
        )
        for pod in finished
    ]
    simulation = Simulation.load(nodes("n1"), running, ended)
    simulation.run()
    result = simulation.delete("node/n1").run()
    assert list(result.pending) == [api.key(running)]
    assert result.pending[api.key(running)].reason == "NodeNotFound"
    assert result.summary.scheduled == 3
