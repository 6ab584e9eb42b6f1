# SPDX-License-Identifier: Apache-2.0
"""Nodes that crash, reboot and come back; what kubelets write about nodes, devices and drivers."""

from __future__ import annotations

import msgspec
import pytest
from tests.embedded.stores import raw
from tests.kubelets.kubelet_world import KubeletWorld

from steersman import api
from steersman.base.errors import InputError
from steersman.cluster.kubelets import KubeletPolicy
from steersman.cluster.store import NotFound, Pods
from steersman.cluster.store.heartbeats import last_heartbeat
from steersman.testing import NodeBuilder, make_node, make_pod


def annotate(world: KubeletWorld, **annotations: str) -> None:
    node = world.node()
    named = {f"steersman.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    world.store.update(
        msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, annotations=named))
    )


def told(**annotations: str) -> NodeBuilder:
    node = make_node("n1").capacity(cpu="8", memory="32Gi", pods="110")
    for name, text in annotations.items():
        node = node.annotation(f"steersman.dev/{name.replace('_', '-')}", text)
    return node


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_pods_of_a_silent_node_stay_as_they_are(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents)
    world.run(make_pod("web").annotation("steersman.dev/run-seconds", "30"))
    world.run(make_pod("going"))
    world.kubelets.crash("n1")
    Pods(world.store).delete("default/going", grace_period_seconds=30)
    world.run(make_pod("late"))
    world.pass_time(100)
    assert world.kubelets.is_silent("n1")
    assert (world.pod().status.phase, world.pod("late").status.phase) == ("Running", "Pending")
    assert world.exists("going")


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_a_kubelet_that_is_back_catches_up(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents)
    world.run(make_pod("web").req(cpu="1").annotation("steersman.dev/run-seconds", "30"))
    world.run(make_pod("going"))
    world.kubelets.crash("n1")
    Pods(world.store).delete("default/going", grace_period_seconds=30)
    world.run(make_pod("late").req(cpu="1"))
    world.pass_time(100)
    world.kubelets.recover("n1")
    world.pass_time(100)
    assert (world.pod().status.phase, world.pod("late").status.phase) == ("Succeeded", "Running")
    assert not world.exists("going")


def test_silence_is_seen_by_the_lease() -> None:
    world = KubeletWorld()
    world.pass_time(5)
    world.kubelets.crash("n1")
    world.pass_time(60)
    assert last_heartbeat(world.store, "n1") == pytest.approx(world.store.clock.now() - 55)
    world.kubelets.recover("n1")
    assert last_heartbeat(world.store, "n1") is None


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_a_kubelet_that_is_back_reports_node_and_pods_as_ready(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents)
    world.run(make_pod("web").req(cpu="1"))
    world.kubelets.crash("n1")
    node = world.node()
    unknown = api.Condition(type="Ready", status="Unknown", reason="NodeStatusUnknown")
    status = msgspec.structs.replace(node.status, conditions=(unknown,))
    world.store.update_status(msgspec.structs.replace(node, status=status))
    Pods(world.store).patch_status("default/web", condition=api.Condition(type="Ready", status="False"))
    world.kubelets.recover("n1")
    ready = next(condition for condition in world.node().status.conditions if condition.type == "Ready")
    assert (ready.status, ready.reason) == ("True", "KubeletReady")
    assert world.conditions()["Ready"] == "True"


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_containers_restart_when_their_node_reboots(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents, policy=KubeletPolicy(reboot_seconds=90))
    world.run(make_pod("web").req(cpu="1"))
    world.run(make_pod("once").req(cpu="1").restart_policy("Never"))
    for restarts in (1, 2):
        world.kubelets.reboot("n1")
        world.pass_time(restarts * 1000 + 89)
        assert world.pod().status.container_statuses[0].restart_count == restarts
        assert world.pod().status.phase == "Running"
    once = world.pod("once").status
    assert once.phase == "Failed"
    assert once.container_statuses[0].state == api.ContainerState(
        terminated=api.ContainerStateTerminated(exit_code=255, reason="Unknown")
    )
    assert ("Rebooted", "Node n1 has been rebooted") in world.events


def test_a_reboot_takes_its_time() -> None:
    world = KubeletWorld(policy=KubeletPolicy(reboot_seconds=90))
    world.kubelets.reboot("n1")
    world.pass_time(89)
    assert world.kubelets.is_silent("n1")
    world.pass_time(90)
    assert not world.kubelets.is_silent("n1")


def test_annotations_tell_when_a_node_fails() -> None:
    world = KubeletWorld(nodes=[told(crash_at="60s", recover_at="5m")])
    world.pass_time(59)
    assert not world.kubelets.is_silent("n1")
    world.pass_time(60)
    assert world.kubelets.is_silent("n1")
    world.pass_time(300)
    assert not world.kubelets.is_silent("n1")
    annotate(world, reboot_at="10")
    world.pass_time(310)
    assert world.kubelets.is_silent("n1")
    world.pass_time(370)
    assert not world.kubelets.is_silent("n1")


def test_what_does_not_exist_cannot_crash() -> None:
    world = KubeletWorld()
    for act in (world.kubelets.crash, world.kubelets.recover, world.kubelets.reboot):
        with pytest.raises(NotFound, match='"n9" not found'):
            act("n9")


def test_a_node_is_registered_with_conditions_and_addresses_where_clients_may_look() -> None:
    world = KubeletWorld()
    status = world.node().status
    assert [condition.type for condition in status.conditions] == [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
    ]
    assert [(address.type, address.address) for address in status.addresses] == [
        ("InternalIP", "172.16.0.1"),
        ("Hostname", "n1"),
    ]
    assert KubeletWorld(keeps_documents=False).node().status.conditions == ()


def test_devices_are_offered_but_for_the_broken_ones() -> None:
    world = KubeletWorld(nodes=[told(devices="example.com/gpu=4, example.com/fpga=1")], keeps_documents=False)
    assert world.node().status.allocatable["example.com/gpu"] == "4"
    annotate(world, devices="example.com/gpu=4,example.com/fpga=1", unhealthy_devices="example.com/gpu=3")
    status = world.node().status
    assert (status.capacity["example.com/gpu"], status.allocatable["example.com/gpu"]) == ("4", "1")
    assert (status.allocatable["example.com/fpga"], status.allocatable["cpu"]) == ("1", "8")


def test_drivers_have_their_limits() -> None:
    world = KubeletWorld(nodes=[told(csi_drivers="ebs.csi.aws.com=25")], keeps_documents=False)
    (driver,) = world.store.get(api.CSINode, "n1").spec.drivers
    assert (driver.name, driver.allocatable) == ("ebs.csi.aws.com", api.VolumeNodeResources(count=25))
    annotate(world, csi_drivers="ebs.csi.aws.com=2")
    (driver,) = world.store.get(api.CSINode, "n1").spec.drivers
    assert driver.allocatable == api.VolumeNodeResources(count=2)


@pytest.mark.parametrize(
    ("annotations", "complaint"),
    [
        ({"crash_at": "soon"}, r"metadata\.annotations\[steersman\.dev/crash-at\]: is not a number of seconds"),
        ({"crash_on": "1"}, r"did you mean steersman\.dev/crash-at\?"),
        ({"devices": "gpu"}, "is not a list of names and numbers"),
        ({"devices": "gpu=1,gpu=2"}, "is not a list of names and numbers"),
        ({"csi_drivers": "a=-1"}, "is not a list of names and numbers"),
        ({"devices": "gpu=1", "unhealthy_devices": "gpu=2"}, "breaks more gpu than there are"),
    ],
)
def test_what_is_wrong_with_an_annotation_of_a_node_is_reported(annotations: dict[str, str], complaint: str) -> None:
    world = KubeletWorld(nodes=[])
    with pytest.raises(InputError, match=f"Node n1: .*{complaint}"):
        world.store.create(raw(told(**annotations)))
    surviving = KubeletWorld(survives_bad_pods=True, nodes=[told(**annotations)])
    assert surviving.events[0][0] == "InvalidAnnotation"
    assert surviving.run(make_pod("web")).status.phase == "Running"
