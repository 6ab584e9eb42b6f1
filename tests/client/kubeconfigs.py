# SPDX-License-Identifier: Apache-2.0
"""Kubeconfig files for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steersman.kube.client.kubeconfig import ChosenCluster, ClusterChoice, connect


def kubeconfig(
    folder: Path,
    cluster: Mapping[str, Any] | None = None,
    *,
    user: Mapping[str, Any] | None = None,
    name: str = "config",
) -> Path:
    """A file with one context, "here", of one cluster and one user."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "this", "user": "me", "namespace": "team"}}],
        "clusters": [{"name": "this", "cluster": {"server": "https://127.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "me", "user": user or {}}],
    }
    file = folder / name
    file.write_text(json.dumps(content))
    return file


def load(file: Path, **choice: str) -> ChosenCluster:
    return connect(ClusterChoice(str(file), **choice), {})
