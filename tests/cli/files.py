# SPDX-License-Identifier: Apache-2.0
"""Input files for commands."""

from __future__ import annotations

from pathlib import Path

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {disk: ssd}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {disk: hdd}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  containers: [{name: web, image: app, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""

BIG_POD = """
apiVersion: v1
kind: Pod
metadata: {name: big}
spec:
  containers: [{name: big, image: app, resources: {requests: {cpu: "5"}}}]
"""

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def cluster(tmp_path: Path, *more: str) -> Path:
    """Two nodes and a pod, and whatever else."""
    return write(tmp_path / "cluster.yaml", "\n---\n".join([CLUSTER, *more]))
