# SPDX-License-Identifier: Apache-2.0
"""Small sweeps in a folder: a cluster that is too small for its pods, and two configurations that fill it differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PACKING: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
                }
            ]
        }
    ],
}


def a_node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}},
    }


def a_pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


def objects(nodes: int = 4, pods: int = 22) -> list[dict[str, Any]]:
    made = [a_node(f"n{number}") for number in range(nodes)]
    return [*made, *(a_pod(f"p{number}", ("700m", "1500m", "1100m")[number % 3]) for number in range(pods))]


def write_sweep(folder: Path, **fields: Any) -> Path:
    """A sweep of two configurations and three seeds, with other fields if they are given; returns its file."""
    folder.mkdir(exist_ok=True)
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all(objects()))
    (folder / "pack.yaml").write_text(yaml.safe_dump(PACKING))
    document = {
        "apiVersion": "steersman.dev/v1alpha1",
        "kind": "Sweep",
        "configurations": [{"name": "spread"}, {"config": "pack.yaml"}],
        "inputs": [{"manifests": ["cluster.yaml"]}],
        "seeds": 3,
        **fields,
    }
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump({name: value for name, value in document.items() if value is not None}))
    return path


def write_scenario(folder: Path) -> None:
    """Jobs that arrive by chance, at a rate that is a parameter, on a cluster in a file of its own."""
    folder.mkdir(exist_ok=True)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", **a_pod("job", "1")["spec"]}}},
    }
    (folder / "day.yaml").write_text(
        yaml.safe_dump(
            {
                "apiVersion": "steersman.dev/v1alpha1",
                "kind": "Scenario",
                "parameters": {"rate": 60},
                "cluster": ["nodes.yaml"],
                "generators": [
                    {
                        "name": "jobs",
                        "arrivals": {"poisson": {"perHour": "${rate}"}},
                        "template": "job.yaml",
                        "runTime": "10m",
                    }
                ],
                "timeline": [{"at": "5m", "apply": "more.yaml"}],
                "stop": {"after": "20m"},
            }
        )
    )
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    (folder / "nodes.yaml").write_text(yaml.safe_dump_all([a_node("n0"), a_node("n1")]))
    (folder / "more.yaml").write_text(yaml.safe_dump(a_pod("later", "1")))
