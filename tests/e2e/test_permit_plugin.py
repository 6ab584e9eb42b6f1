# SPDX-License-Identifier: Apache-2.0
"""A Permit plugin from a file: pods of a gang wait for each other on a real cluster, or give their nodes back."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.objects import create_priority_classes, prioritised

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    ControlPlane,
    JsonObject,
    KubeClient,
    Steersman,
    bound_to,
    condition,
    manifest,
)

PLUGIN = '''
from steersman import framework as fw


class Together(fw.PermitPlugin):
    """Pods with the label `gang` wait until three of them have a node, for at most as long as `patience` says."""

    name = "Together"

    def __init__(self, args: object, handle: fw.PermitHandle) -> None:
        self.handle = handle

    def permit(self, pod: fw.PodInfo, node_name: str) -> fw.PermitResult | None:
        if "forbidden" in pod.labels:
            return fw.PermitResult(fw.Status(fw.Code.UNSCHEDULABLE, ("not today",)))
        if "gang" not in pod.labels:
            return None
        waiting = [w for w in self.handle.pods.waiting_pods() if w.pod.labels.get("gang") == pod.labels["gang"]]
        if len(waiting) < 2:
            return fw.PermitResult(fw.Status(fw.Code.WAIT), float(pod.labels["patience"]))
        for member in waiting:
            member.allow(self.name)
        return None
'''
CONFIG = {"profiles": [{"plugins": {"permit": {"enabled": [{"name": "Together"}]}}}]}


def gang(name: str, count: int, patience: str) -> list[JsonObject]:
    labels = {"gang": name, "patience": patience}
    return [manifest(make_pod(f"{name}-{i}").labels(labels).req(cpu="1")) for i in range(count)]


def started(plane: ControlPlane, folder: Path) -> Steersman:
    file = folder / "together.py"
    file.write_text(PLUGIN)
    plane.admin.create_nodes(manifest(make_node("n1").capacity(cpu="16", memory="64Gi")))
    return Steersman(plane, config=CONFIG, flags=[f"--plugin={file}"])


def message(admin: KubeClient, pod: str) -> str:
    found = condition(admin.get("Pod", pod), "PodScheduled") or {}
    return str(found.get("message", ""))


def test_pods_wait_until_the_last_of_them_allows_all(plane: ControlPlane, tmp_path: Path) -> None:
    admin = plane.admin
    with started(plane, tmp_path):
        admin.create_many(gang("slow", 2, "300"))
        admin.create(manifest(make_pod("alone")))
        admin.wait_until(lambda: bound_to(admin.get("Pod", "alone")))
        assert [bound_to(admin.get("Pod", f"slow-{i}")) for i in range(2)] == ["", ""]

        admin.create(gang("slow", 3, "300")[2])
        admin.wait_until(lambda: all(bound_to(admin.get("Pod", f"slow-{i}")) for i in range(3)), what="the gang")


def test_a_pod_whose_wait_times_out_fails_and_frees_its_node(plane: ControlPlane, tmp_path: Path) -> None:
    admin = plane.admin
    create_priority_classes(admin)
    with started(plane, tmp_path):
        admin.create(gang("short", 1, "0.5")[0])
        admin.wait_until(lambda: message(admin, "short-0"), what="a time-out")
        # It may come back as often as it likes: the next time, the more important pod is there first.
        admin.create(prioritised(make_pod("large").req(cpu="16"), "polite"))
        admin.wait_until(lambda: bound_to(admin.get("Pod", "large")), what="the room of the gang")

    assert "1 rejected due to timeout after waiting 500ms at plugin Together" in first_note(admin, "short-0")


def first_note(admin: KubeClient, pod: str) -> str:
    notes = [e["note"] for e in admin.list("events.k8s.io/Event", "default") if e["regarding"]["name"] == pod]
    return str(notes[0])


def test_a_refused_pod_says_what_the_plugin_said(plane: ControlPlane, tmp_path: Path) -> None:
    admin = plane.admin
    with started(plane, tmp_path):
        admin.create(manifest(make_pod("unlucky").label("forbidden", "yes")))
        admin.wait_until(lambda: message(admin, "unlucky"))

    assert message(admin, "unlucky") == "0/1 nodes are available: 1 not today."
    assert bound_to(admin.get("Pod", "unlucky")) == ""
