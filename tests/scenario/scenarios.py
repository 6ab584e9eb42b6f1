# SPDX-License-Identifier: Apache-2.0
"""Small scenarios for tests, as documents."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def a_scenario(**parts: Any) -> Document:
    """A scenario with these parts; two nodes of 4 cores unless it has a cluster of its own."""
    header = {"apiVersion": "steersman.dev/v1alpha1", "kind": "Scenario"}
    return {**header, "cluster": [a_node("n1"), a_node("n2")], **parts}


def a_node(name: str, cpu: str = "4", **labels: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}},
    }


def pod_spec(cpu: str = "1") -> Document:
    return {"containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]}


def a_pod(name: str = "", cpu: str = "1", **annotations: str) -> Document:
    named = {"name": name} if name else {}
    prefixed = {f"steersman.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**named, "annotations": prefixed},
        "spec": pod_spec(cpu),
    }


def a_job(cpu: str = "1") -> Document:
    template = {"spec": {"restartPolicy": "Never", **pod_spec(cpu)}}
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}


def a_deployment(name: str = "web", replicas: int = 2, cpu: str = "1") -> Document:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu)},
        },
    }


def arriving(name: str = "batch", per_hour: float = 120, template: Document | None = None, **parts: Any) -> Document:
    """A generator of pods that arrive by chance."""
    arrivals = {"poisson": {"perHour": per_hour}}
    return {"name": name, "arrivals": arrivals, "template": template or a_pod(), **parts}
