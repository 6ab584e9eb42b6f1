# SPDX-License-Identifier: Apache-2.0
"""Workload files and templates for tests, written to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from steersman.testing.bench import BenchOptions, WorkloadOutcome, load, prepare, run, select

CREATE_NODES: dict[str, Any] = {"opcode": "createNodes", "count": 3}
MEASURED_PODS: dict[str, Any] = {"opcode": "createPods", "count": 4, "collectMetrics": True}


def test_case(*operations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A test case with one workload."""
    case = {"name": "Case", "workloadTemplate": list(operations), "workloads": [{"name": "small"}]}
    return {**case, **fields}


test_case.__test__ = False  # type: ignore[attr-defined]


def write(folder: Path, *cases: dict[str, Any], **templates: str) -> str:
    """The path of a file with these cases; templates lie beside it, `pod=…` in `pod.yaml`."""
    for name, text in templates.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    file = folder / "performance-config.yaml"
    file.write_text(yaml.safe_dump(list(cases), sort_keys=False), encoding="utf-8")
    return str(file)


def outcome_of(file: str, check_every: int = 0) -> WorkloadOutcome:
    """Of the only workload in the file."""
    (selected,) = select(load(file))
    return run(prepare(selected, BenchOptions(check_every=check_every)))


def pod(spec: str = "", metadata: str = "generateName: pod-") -> str:
    """A template of a pod with these lines of spec and metadata."""
    return f"""
apiVersion: v1
kind: Pod
metadata:
  {metadata}
spec:
  {spec}
  containers:
  - name: main
    resources:
      requests: {{cpu: 100m}}
"""
