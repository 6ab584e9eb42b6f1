# SPDX-License-Identifier: Apache-2.0
"""`steersman doctor` on a real API server with RBAC."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.commands import steersman
from tests.deploy.shipped import manifests
from tests.e2e.comparing import EACH_VERSION

from steersman.base import KUBE_SCHEDULER_RELEASES
from steersman.testing import make_pod
from steersman.testing.control_plane import ControlPlane, KubeScheduler, Steersman, manifest
from steersman.testing.control_plane.binaries import DEFAULT

ACCOUNT = "system:serviceaccount:kube-system:steersman"

Findings = list[dict[str, str]]


def examined(kubeconfig: Path, *more: object, version: str = DEFAULT) -> tuple[int, Findings]:
    result = steersman("doctor", "--kubeconfig", kubeconfig, f"--emulated-version={version}", "-o", "json", *more)
    document: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, document["findings"]


def failures(findings: Findings) -> list[str]:
    return [finding["message"] for finding in findings if finding["level"] == "fail"]


def second_scheduler(folder: Path, name: str = "night") -> Path:
    file = folder / "sched.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        f"leaderElection: {{resourceName: {name}}}\n"
        f"profiles: [{{schedulerName: {name}}}]\n"
    )
    return file


@EACH_VERSION
def test_an_administrator_finds_nothing_in_the_way(plane: ControlPlane, version: str) -> None:
    code, findings = examined(plane.kubeconfig(), version=version)
    assert (code, failures(findings)) == (0, [])
    messages = " ".join(finding["message"] for finding in findings)
    release = KUBE_SCHEDULER_RELEASES[version]
    assert f"the API server is {release}, decisions are those of kube-scheduler {version}" in messages
    assert re.search(r"\b([0-9]+) of \1 kinds are served", messages)
    assert "agree about the time" in messages


def test_a_stranger_lacks_every_right(plane: ControlPlane) -> None:
    code, findings = examined(plane.kubeconfig("visitor", ()))
    assert code == 1
    assert sum(message.startswith("none of the ") for message in failures(findings)) == 1


def test_the_shipped_role_has_all_the_rights(plane: ControlPlane, tmp_path: Path) -> None:
    configuration = second_scheduler(tmp_path, "steersman")
    account = ("--as", ACCOUNT, "--config", configuration)
    before = failures(examined(plane.kubeconfig(), *account)[1])
    assert any(message.startswith("none of the ") for message in before)
    roles = [
        document
        for (kind, _), document in manifests("manifests").items()
        if kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    ]
    for document in roles:
        plane.admin.apply(document)
    try:
        assert failures(examined(plane.kubeconfig(), *account)[1]) == []
    finally:
        for document in roles:
            meta = document["metadata"]
            plane.admin.delete(document["kind"], meta["name"], meta.get("namespace", ""))


def test_a_running_kube_scheduler_is_in_the_way_of_one_with_its_name_and_another_lease(
    plane: ControlPlane, tmp_path: Path
) -> None:
    same_name = second_scheduler(tmp_path, "default-scheduler")
    with KubeScheduler(plane, leader_elect=True):
        plane.admin.wait_until(lambda: plane.admin.find("Lease", "kube-scheduler", "kube-system"))
        code, findings = examined(plane.kubeconfig(), "--config", same_name)
    assert code == 1
    (message,) = failures(findings)
    assert message.startswith("kube-scheduler (")


def test_pods_of_a_scheduler_that_does_not_run_are_reported(plane: ControlPlane) -> None:
    plane.admin.create(manifest(make_pod("lost").scheduler("ghost")))
    with Steersman(plane):
        code, findings = examined(plane.kubeconfig())
    assert code == 0
    warnings = [finding["message"] for finding in findings if finding["level"] == "warn"]
    assert any("scheduler ghost; pods that ask for it: 1 (default/lost)" in warning for warning in warnings)
