# SPDX-License-Identifier: Apache-2.0
"""`steersman bench` on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.testing.bench.workload_texts import CREATE_NODES, MEASURED_PODS, pod, test_case, write

from steersman.testing.control_plane import ControlPlane

VOLUME = "apiVersion: v1\nkind: PersistentVolume\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadOnlyMany], %s}\n"
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {annotations: {pv.kubernetes.io/bind-completed: "true"}}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
"""
POD = pod("hostname: kept").replace("name: main", "name: main\n    image: pause")


def bench(plane: ControlPlane, file: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "steersman", "bench", file, "--kubeconfig", str(plane.kubeconfig()), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def measured(plane: ControlPlane, file: str) -> list[dict[str, Any]]:
    result = bench(plane, file, "-o", "json")
    assert result.returncode == 0, result.stdout + result.stderr
    documents: list[dict[str, Any]] = json.loads(result.stdout)
    return documents


def test_pods_are_created_scheduled_and_removed_again(plane: ControlPlane, tmp_path: Path) -> None:
    pods = {**MEASURED_PODS, "podTemplatePath": "pod.yaml"}
    twice = [{"name": "first"}, {"name": "second"}]
    file = write(tmp_path, test_case(CREATE_NODES, pods, workloads=twice), pod=POD)
    for document in measured(plane, file):
        (measurement,) = document["measurements"]
        assert measurement["pods"] == 4
        assert measurement["podsPerSecond"]["average"] > 0
    assert plane.admin.list("Pod") == plane.admin.list("Node") == []


def test_claims_and_volumes_are_bound_and_removed_again(plane: ControlPlane, tmp_path: Path) -> None:
    pods = {
        **MEASURED_PODS,
        "podTemplatePath": "pod.yaml",
        "persistentVolumeTemplatePath": "pv.yaml",
        "persistentVolumeClaimTemplatePath": "pvc.yaml",
    }
    templates = {"pod": POD, "pv": VOLUME % "csi: {driver: csi.example}", "pvc": CLAIM}
    (document,) = measured(plane, write(tmp_path, test_case(CREATE_NODES, pods), **templates))
    assert document["measurements"][0]["pods"] == 4
    assert plane.admin.list("PersistentVolume") == plane.admin.list("PersistentVolumeClaim") == []


def test_what_the_server_refuses_is_a_failure_with_its_words(plane: ControlPlane, tmp_path: Path) -> None:
    pods = {**MEASURED_PODS, "podTemplatePath": "pod.yaml"}
    file = write(tmp_path, test_case(CREATE_NODES, pods), pod=pod("priority: 10"))
    result = bench(plane, file)
    assert result.returncode == 1
    assert "FAILED" in result.stdout
    assert "Case/small: " in result.stdout
