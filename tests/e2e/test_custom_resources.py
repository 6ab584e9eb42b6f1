# SPDX-License-Identifier: Apache-2.0
"""Coscheduling, a plugin that needs a custom resource, on a real API server with RBAC: examples/coscheduling."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml
from tests.cli.commands import steersman
from tests.e2e.packages import EXAMPLES, guarded_plane, started

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    ControlPlane,
    JsonObject,
    bound_to,
    condition,
    manifest,
    wait_until,
)

FOLDER = EXAMPLES / "coscheduling"
CONFIG = FOLDER / "config.yaml"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
LABEL = "scheduling.x-k8s.io/pod-group"


@pytest.fixture
def guarded(new_plane: Callable[..., ControlPlane]) -> ControlPlane:
    return guarded_plane(new_plane, make_node("n1").capacity(cpu="8", memory="16Gi"))


def documents(file: str) -> list[JsonObject]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def define_pod_groups(plane: ControlPlane) -> None:
    plane.admin.apply(*documents("crd.yaml"))
    wait_until(lambda: plane.admin.raw("GET", GROUPS).status == 200, what="the kind")


def grant(plane: ControlPlane) -> None:
    for document in documents("rbac.yaml"):
        plane.admin.apply(document)


def findings(plane: ControlPlane) -> dict[str, list[str]]:
    """Messages of `doctor` by level, for the service account."""
    account = ("--as", "system:serviceaccount:kube-system:steersman")
    config = ("--config", CONFIG, "--kubeconfig", plane.kubeconfig(), f"--emulated-version={plane.binaries.version}")
    report = json.loads(steersman("doctor", *config, *account, "-o", "json").stdout)
    found: dict[str, list[str]] = {}
    for finding in report["findings"]:
        found.setdefault(finding["level"], []).append(finding["message"])
    return found


def message(plane: ControlPlane, pod: str) -> str:
    found = condition(plane.admin.get("Pod", pod), "PodScheduled") or {}
    return str(found.get("message", ""))


def member(n: int) -> JsonObject:
    return manifest(make_pod(f"job-{n}").label(LABEL, "job").req(cpu="1"))


def test_the_members_of_a_pod_group_are_bound_together(guarded: ControlPlane) -> None:
    plane, admin = guarded, guarded.admin
    define_pod_groups(plane)
    grant(plane)
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "job"},
        "spec": {"minMember": 3},
    }
    with started(plane, CONFIG) as scheduler:
        admin.create_many([member(0), member(1)])
        wait_until(lambda: "PodGroup job not found" in message(plane, "job-0"), what="a reason")
        assert admin.raw("POST", GROUPS, group, headers={"Content-Type": "application/json"}).status == 201
        wait_until(lambda: "PodGroup has 2 pods, needs 3" in message(plane, "job-0"), what="the event of the group")
        admin.create(member(2))
        wait_until(lambda: all(bound_to(admin.get("Pod", f"job-{n}")) for n in range(3)), 60, what="the group")
        log = scheduler.log.read_text()
    assert "list podgroups.scheduling.x-k8s.io, watch podgroups.scheduling.x-k8s.io" in log
    assert "forbidden" not in log


def test_doctor_asks_about_the_kind_and_its_rights(guarded: ControlPlane) -> None:
    before = findings(guarded)
    assert any("podgroups of scheduling.x-k8s.io/v1alpha1 are not served" in text for text in before["warn"])
    assert any("list podgroups.scheduling.x-k8s.io" in text for text in before["fail"])
    define_pod_groups(guarded)
    grant(guarded)
    assert "fail" not in findings(guarded)


def test_without_the_definition_other_pods_are_scheduled(guarded: ControlPlane) -> None:
    grant(guarded)
    with started(guarded, CONFIG) as scheduler:
        guarded.admin.create_many([manifest(make_pod("web")), member(0)])
        wait_until(lambda: bound_to(guarded.admin.get("Pod", "web")), what="a pod without a group")
        wait_until(lambda: "PodGroup job not found" in message(guarded, "job-0"), what="a reason")
        log = scheduler.log.read_text()
    assert "the server does not know podgroups of scheduling.x-k8s.io/v1alpha1: none are assumed" in log
