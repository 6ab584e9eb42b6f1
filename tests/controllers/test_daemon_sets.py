# SPDX-License-Identifier: Apache-2.0
"""DaemonSets: a pod on every node that suits, pinned and tolerant; updates of both kinds; failed pods; the status."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.controllers.world import World, workload

from steersman import api
from steersman.testing import make_node

_replace = msgspec.structs.replace


def _world(nodes: int = 3, start_seconds: float = 0.0, keeps_documents: bool = False, **spec: Any) -> World:
    names = [f"n{number}" for number in range(1, nodes + 1)]
    world = World("daemonset", nodes=names, start_seconds=start_seconds, keeps_documents=keeps_documents)
    world.create(workload("DaemonSet", "agent", **spec))
    world.pass_time(start_seconds + 1)
    return world


def _set(world: World) -> api.DaemonSet:
    return world.get(api.DaemonSet, "agent")


def _on(world: World) -> dict[str, str]:
    """Images by node, of the pods that stay."""
    return {
        pod.spec.node_name: pod.spec.containers[0].image
        for pod in world.pods()
        if pod.metadata.deletion_timestamp is None
    }


def _change_node(world: World, name: str, **fields: Any) -> None:
    node = world.store.get(api.Node, name)
    world.store.update(_replace(node, spec=_replace(node.spec, **fields)))


def test_every_node_gets_a_pod_that_is_pinned_to_it() -> None:
    world = _world(2)
    assert sorted(_on(world)) == ["n1", "n2"]
    pod = next(pod for pod in world.pods() if pod.spec.node_name == "n1")
    requirement = api.NodeSelectorRequirement(key="metadata.name", operator="In", values=("n1",))
    selector = api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_fields=(requirement,)),))
    affinity = api.NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    assert pod.spec.affinity == api.Affinity(node_affinity=affinity)
    (revision,) = world.all(api.ControllerRevision)
    digest = revision.metadata.labels["controller-revision-hash"]
    assert pod.metadata.labels == {
        "app": "web",
        "controller-revision-hash": digest,
        "pod-template-generation": "1",
    }
    assert revision.metadata.name == f"agent-{digest}"


def test_pods_tolerate_what_daemons_do() -> None:
    world = _world(1, keeps_documents=True)
    kinds = {(t.key.rpartition("/")[2], t.effect) for t in world.pods()[0].spec.tolerations if not t.toleration_seconds}
    assert kinds == {
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    }
    document = world.store.document(api.Pod, api.key(world.pods()[0]))
    assert len(document["spec"]["tolerations"]) == 6
    term = document["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["n1"]


def test_a_new_node_gets_a_pod() -> None:
    world = _world(1)
    world.store.create(make_node("late").obj())
    world.settle()
    assert sorted(_on(world)) == ["late", "n1"]


def test_only_nodes_that_the_template_admits_get_a_pod() -> None:
    world = World("daemonset", nodes=["n1"])
    world.store.create(make_node("gpu").label("kind", "gpu").obj())
    document = workload("DaemonSet", "agent")
    document["spec"]["template"]["spec"]["nodeSelector"] = {"kind": "gpu"}
    world.create(document)
    world.settle()
    assert sorted(_on(world)) == ["gpu"]
    status = _set(world).status
    assert (status.desired_number_scheduled, status.current_number_scheduled) == (1, 1)


@pytest.mark.parametrize(("effect", "stays"), [("NoSchedule", True), ("NoExecute", False)])
def test_a_taint_that_is_not_tolerated_keeps_new_pods_away_and_may_drive_out_old_ones(effect: str, stays: bool) -> None:
    world = _world(2)
    _change_node(world, "n1", taints=(api.Taint(key="mine", effect=effect),))
    world.pass_time(40)
    assert ("n1" in _on(world)) is stays
    status = _set(world).status
    assert status.desired_number_scheduled == 1
    assert status.number_misscheduled == int(stays)


def test_a_cordoned_node_keeps_its_daemon() -> None:
    world = _world(2)
    taint = api.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    _change_node(world, "n1", unschedulable=True, taints=(taint,))
    world.settle()
    assert sorted(_on(world)) == ["n1", "n2"]
    assert _set(world).status.desired_number_scheduled == 2


def test_the_status_of_a_settled_set() -> None:
    world = _world(3)
    assert _set(world).status == api.DaemonSetStatus(
        current_number_scheduled=3,
        desired_number_scheduled=3,
        number_ready=3,
        observed_generation=1,
        updated_number_scheduled=3,
        number_available=3,
    )


def test_a_pod_that_is_deleted_is_made_again() -> None:
    world = _world(2)
    world._pods.delete(api.key(world.pods()[0]))
    world.settle()
    assert sorted(_on(world)) == ["n1", "n2"]


def test_failed_pods_are_made_again_after_ever_longer_pauses() -> None:
    world = _world(1)
    moments = []
    for _ in range(20):
        for pod in world.pods():
            if pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None:
                moments.append(world.now)
                world.change_status(pod, phase="Failed")
        world.pass_time(1)
    assert moments == [1.0, 2.0, 3.0, 5.0, 9.0, 17.0]
    assert world.messages("FailedDaemonPod")[0].endswith("on node n1, will try to kill it")


def test_an_update_replaces_one_pod_at_a_time() -> None:
    world = _world(3, start_seconds=2.0)
    world.set_image(_set(world), "nginx:2")
    fewest = 3
    for _ in range(150):
        world.pass_time(1)
        fewest = min(fewest, len(_on(world)))
    assert fewest == 2
    assert set(_on(world).values()) == {"nginx:2"}
    assert _set(world).status.updated_number_scheduled == 3
    assert len(world.all(api.ControllerRevision)) == 2


def test_an_update_may_leave_several_nodes_without() -> None:
    world = _world(4, start_seconds=2.0, updateStrategy={"rollingUpdate": {"maxUnavailable": "50%"}})
    world.set_image(_set(world), "nginx:2")
    world.settle()
    assert sum(pod.metadata.deletion_timestamp is not None for pod in world.pods()) == 2


def test_an_update_with_surge_makes_the_new_pod_first() -> None:
    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    world = _world(3, start_seconds=2.0, updateStrategy=surge)
    world.set_image(_set(world), "nginx:2")
    world.settle()
    assert len(world.pods()) == 4
    fewest = 9
    for _ in range(150):
        world.pass_time(1)
        ready = [p for p in world.pods() if any(c.type == "Ready" and c.status == "True" for c in p.status.conditions)]
        fewest = min(fewest, len({pod.spec.node_name for pod in ready}))
    assert fewest == 3
    assert set(_on(world).values()) == {"nginx:2"}
    assert len(world.pods()) == 3


def test_on_delete_leaves_pods_until_they_are_deleted() -> None:
    world = _world(2, updateStrategy={"type": "OnDelete"})
    world.set_image(_set(world), "nginx:2")
    world.pass_time(60)
    assert set(_on(world).values()) == {"nginx:1"}
    world._pods.delete(api.key(world.pods()[0]))
    world.settle()
    assert sorted(_on(world).values()) == ["nginx:1", "nginx:2"]
    assert _set(world).status.updated_number_scheduled == 1


def test_old_revisions_beyond_the_limit_go() -> None:
    world = _world(1, revisionHistoryLimit=1)
    for number in range(2, 6):
        world.set_image(_set(world), f"nginx:{number}")
        world.pass_time(60)
    assert len(world.all(api.ControllerRevision)) == 2


def test_the_data_of_a_revision_is_sorted_so_that_clients_can_compare_its_bytes() -> None:
    world = _world(1)
    (revision,) = world.all(api.ControllerRevision)
    written = msgspec.json.encode(revision.data)
    assert written == msgspec.json.encode(revision.data, order="sorted")
    assert next(iter(revision.data["spec"]["template"])) == "$patch"


def test_pods_count_as_available_after_min_ready_seconds() -> None:
    world = _world(2, minReadySeconds=10)
    assert (_set(world).status.number_ready, _set(world).status.number_available) == (2, 0)
    world.pass_time(12)
    assert _set(world).status.number_available == 2


def test_a_pod_that_waits_for_a_node_that_is_gone_goes_too() -> None:
    world = World("daemonset", nodes=["n1"])
    world.schedules = False
    world.create(workload("DaemonSet", "agent"))
    world.settle()
    world.store.delete(api.Node, "n1")
    world.settle()
    assert not world.pods()
    assert _set(world).status.desired_number_scheduled == 0


def test_it_selects_everything_at_its_peril() -> None:
    world = _world(1, selector={})
    assert not world.pods()
    assert set(world.reasons("DaemonSet/agent")) == {"SelectingAll"}


def test_sets_on_many_nodes_come_in_bursts() -> None:
    world = _world(600)
    assert len(_on(world)) == 600
    assert _set(world).status.number_available == 600
