# SPDX-License-Identifier: Apache-2.0
"""Plugins of installed packages on a control plane with RBAC: the scheduler is the shipped service account, with its rights."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.deploy.shipped import manifests

from steersman.testing import NodeBuilder
from steersman.testing.control_plane import ControlPlane, Steersman, manifest

EXAMPLES = Path(__file__).parents[2] / "examples"
ROLES = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def install(folder: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs the package where Python looks for packages, here and in what is started from here; nothing names its file."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", f"--target={site}"]
    subprocess.run([*pip, str(folder)], check=True, timeout=120)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(str(site))


def guarded_plane(new_plane: Callable[..., ControlPlane], *nodes: NodeBuilder) -> ControlPlane:
    """With RBAC, the shipped roles, and these nodes."""
    plane = new_plane(authorization="RBAC")
    for (kind, _), document in manifests("manifests").items():
        if kind in ROLES:
            plane.admin.apply(document)
    plane.admin.create_nodes(*map(manifest, nodes))
    return plane


def started(plane: ControlPlane, config: Path, *flags: str) -> Steersman:
    """With a token of the service account, and the configuration of a package."""
    document = json.loads(plane.kubeconfig().read_text())
    document["users"] = [{"name": "user", "user": {"token": plane.admin.token("steersman", "kube-system")}}]
    kubeconfig = plane.directory / "service-account.kubeconfig"
    kubeconfig.write_text(json.dumps(document))
    return Steersman(plane, config=config, kubeconfig=kubeconfig, flags=["-v=2", *flags])
