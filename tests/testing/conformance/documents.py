# SPDX-License-Identifier: Apache-2.0
"""Scenario documents for replays: nodes, pods, and what was decided."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.testing.conformance.scenarios import run_scenario

Document = dict[str, Any]
both_engines = pytest.mark.parametrize("scalar", [False, True], ids=["columnar", "scalar"])


def node(name: str, **labels: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}},
    }


def pod(name: str, **spec: Any) -> Document:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": spec.pop("cpu", "0")}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


def nominated(document: Document, to: str) -> Document:
    return {**document, "status": {"nominatedNodeName": to}}


def running(document: Document, on: str) -> Document:
    started = {"phase": "Running", "startTime": "2030-01-01T00:00:00Z"}
    return {**document, "spec": {**document["spec"], "nodeName": on}, "status": started}


def placed(name: str, on: str) -> Document:
    return {"pod": f"default/{name}", "profile": "default-scheduler", "outcome": "scheduled", "selected": on}


def replay(
    objects: list[Document],
    pods: list[Document],
    expected: list[Document],
    scalar: bool,
    config: Document | None = None,
) -> list[Document]:
    scenario = {"name": "s", "area": "a", "objects": objects, "pods": pods, "expected": expected, "config": config}
    return run_scenario(scenario, scalar=scalar)
