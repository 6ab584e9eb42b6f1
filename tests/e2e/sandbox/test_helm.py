# SPDX-License-Identifier: Apache-2.0
"""Helm on a sandbox: a chart with a hook and a custom resource is installed, upgraded, rolled back and uninstalled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.sandbox.conftest import Kubectl
from tests.e2e.sandbox.test_kubectl import DEFINITION

from steersman.testing.control_plane import Binaries

WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: demo}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: often}
spec: {schedule: often}
---
apiVersion: batch/v1
kind: Job
metadata: {name: before, annotations: {"helm.sh/hook": pre-install}}
spec:
  template:
    metadata: {annotations: {"steersman.dev/run-seconds": "1"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}
"""


def chart(folder: Path) -> Path:
    for part in ("templates", "crds"):
        (folder / part).mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.1.0\n")
    (folder / "values.yaml").write_text("replicas: 2\n")
    (folder / "crds" / "crontabs.yaml").write_text(DEFINITION)
    (folder / "templates" / "all.yaml").write_text(WORKLOAD)
    return folder


def test_a_chart_with_hooks_and_custom_resources_lives_its_life(
    start_sandbox: Callable[..., Kubectl], binaries: Binaries, tmp_path: Path
) -> None:
    kubectl, folder = start_sandbox("--nodes", "3"), chart(tmp_path / "chart")
    helm = f"{binaries.program('helm')} --kubeconfig {kubectl.sandbox.kubeconfig}"
    assert "STATUS: deployed" in kubectl.shell(f"{helm} install demo {folder} --wait --timeout 90s")
    assert kubectl("get", "job", "before", "-o", "jsonpath={.status.succeeded}") == "1"
    assert kubectl("get", "ct", "often", "-o", "jsonpath={.spec.schedule}") == "often"
    kubectl.shell(f"{helm} upgrade demo {folder} --set replicas=3 --wait --timeout 90s")
    assert kubectl("get", "deployment", "demo", "-o", "jsonpath={.status.availableReplicas}") == "3"
    kubectl.shell(f"{helm} rollback demo 1 --wait --timeout 90s")
    assert kubectl("get", "deployment", "demo", "-o", "jsonpath={.spec.replicas}") == "2"
    assert "uninstalled" in kubectl.shell(f"{helm} uninstall demo")
