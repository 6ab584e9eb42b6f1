# SPDX-License-Identifier: Apache-2.0
"""Everything that a scheduler can be made to do on a real API server, so that every right it has is needed once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tests.e2e.faults.faults import Interruption, Selection
from tests.e2e.faults.proxy import FaultProxy
from tests.e2e.objects import create_priority_classes, prioritised
from tests.e2e.volume_controllers import VolumeControllers

from steersman.testing import (
    PodBuilder,
    is_in,
    make_claim,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
    make_storage_class,
    make_volume,
)
from steersman.testing.control_plane import JsonObject, KubeClient, Steersman, bound_to, condition, manifest, wait_until

HOSTNAME = "kubernetes.io/hostname"
STATIC, DYNAMIC = "static", "dynamic"
EVENTS = "events.k8s.io/Event"
GPU = "example.com/gpu"


@dataclass(frozen=True, slots=True)
class Work:
    admin: KubeClient
    proxy: FaultProxy
    steersman: Steersman

    def do_everything(self) -> None:
        node = make_node("n1").capacity(cpu="4", memory="8Gi", pods="20").label(HOSTNAME, "n1")
        self.admin.create_nodes(manifest(node))
        self._bind()
        self._meet_a_conflict()
        self._bind_volumes()
        self._allocate_devices()
        self._lose_devices()
        self._reject_again_and_again()
        self._preempt()
        self._review()

    def _bind(self) -> None:
        self.admin.create(manifest(_ours("plain").req(cpu="100m")))
        self._wait_bound("plain")

    def _meet_a_conflict(self) -> None:
        """Then it looks what became of the pod."""
        faster = Interruption(
            selection=Selection(path="/contested/binding"),
            times=1,
            act=lambda path: self.admin.bind("contested", "elsewhere"),
        )
        with self.proxy.suffering(faster):
            self.admin.create(manifest(_ours("contested")))
            wait_until(lambda: faster.happened, what="a conflict")
            self._wait_bound("contested")

    def _bind_volumes(self) -> None:
        """A volume that is there, and one that is made for the pod."""
        for built in (
            make_storage_class(STATIC).provisioner("kubernetes.io/no-provisioner").waits(),
            make_storage_class(DYNAMIC).provisioner("disk.example.com").waits(),
        ):
            self.admin.create(manifest(built))
        volume = make_volume("local").storage_class(STATIC).offers("1Gi").csi("disk.example.com")
        self.admin.create_with_status(manifest(volume.on(is_in(HOSTNAME, "n1"))))
        for name in (STATIC, DYNAMIC):
            self.admin.create_with_status(manifest(make_claim(name).storage_class(name).asks("1Gi")))
        with VolumeControllers(self.admin, DYNAMIC):
            for name in (STATIC, DYNAMIC):
                self.admin.create(manifest(_ours(f"with-{name}").pvc(name)))
                self._wait_bound(f"with-{name}")

    def _allocate_devices(self) -> None:
        """Somebody else writes the claim at the same time."""
        gpus = make_slice("n1").on_node("n1").device("a").device("b")
        for obj in (make_device_class("gpu").backs(GPU).obj(), gpus.obj()):
            self.admin.create(manifest(obj))
        self.admin.create(manifest(make_resource_claim("gpu").asks("r", "gpu")))
        faster = Interruption(
            selection=Selection(path="/resourceclaims/gpu/status"),
            times=1,
            act=lambda path: self.admin.patch("ResourceClaim", "gpu", {"metadata": {"labels": {"seen": "late"}}}),
        )
        with self.proxy.suffering(faster):
            self.admin.create(manifest(_ours("with-claim").resource_claim("gpu")))
            wait_until(lambda: faster.happened, what="a conflict")
            self._wait_bound("with-claim")

    def _lose_devices(self) -> None:
        """A claim is made for the extended resource, and removed when somebody else binds the pod."""
        faster = Interruption(
            selection=Selection(path="/with-devices/binding"),
            times=1,
            act=lambda path: self.admin.bind("with-devices", "elsewhere"),
        )
        with self.proxy.suffering(faster):
            self.admin.create(manifest(_ours("with-devices").req(**{GPU: "1"})))
            wait_until(lambda: faster.happened, what="a conflict")
        wait_until(lambda: len(self.admin.list("ResourceClaim")) == 1, what="the end of the claim")

    def _reject_again_and_again(self) -> None:
        """Until an event that was written before is counted: the second of those with the same words."""
        self.admin.create(manifest(_ours("huge").req(cpu="100")))
        wait_until(lambda: condition(self._pod("huge"), "PodScheduled"), what="a condition")
        tainted = make_node("n2").capacity(cpu="100", memory="1Gi", pods="5").taint("for", "others")
        self.admin.create_nodes(manifest(tainted))
        sizes = itertools.count(101)
        wait_until(
            lambda: self._has_series_after_growth(next(sizes)), 120.0, what="an event that was counted", interval=0.5
        )

    def _has_series_after_growth(self, cpu: int) -> bool:
        """A node that grows is a reason to look again."""
        self.admin.patch("Node", "n2", {"status": {"allocatable": {"cpu": str(cpu)}}}, subresource="status")
        return any(event.get("series") for event in self.admin.list(EVENTS, "default"))

    def _preempt(self) -> None:
        create_priority_classes(self.admin)
        victim = prioritised(_ours("victim").req(cpu="3"), "low")
        victim["spec"]["terminationGracePeriodSeconds"] = 0  # no kubelet would end it
        self.admin.create(victim)
        self._wait_bound("victim")
        self.admin.create(prioritised(_ours("important").req(cpu="3"), "high"))
        self._wait_bound("important")

    def _review(self) -> None:
        """Who asks for metrics, and may they?"""
        self.admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "curious"}})
        assert self.steersman.get("/metrics", token=self.admin.token("curious"))[0] == 403

    def _pod(self, name: str) -> JsonObject:
        return self.admin.get("Pod", name)

    def _wait_bound(self, name: str) -> None:
        wait_until(lambda: bound_to(self._pod(name)), what=f"a node for {name}")


def _ours(name: str) -> PodBuilder:
    return make_pod(name).scheduler("steersman")
