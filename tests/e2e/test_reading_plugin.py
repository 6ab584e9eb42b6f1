# SPDX-License-Identifier: Apache-2.0
"""A plugin that reads a ConfigMap by itself, on a real API server with RBAC: examples/price_list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import yaml
from tests.cli.commands import steersman
from tests.e2e.packages import EXAMPLES, guarded_plane, started

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, bound_to, manifest, wait_until

FOLDER = EXAMPLES / "price_list"
PLUGIN = FOLDER / "price_list.py"
NOT_GRANTED = "cannot refresh: get configmaps: "
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: PriceList, weight: 100}]}}
"""


def access(plane: ControlPlane) -> Iterator[str]:
    """What `doctor` says of the rights of the service account, unless all is well."""
    account = ("--as", "system:serviceaccount:kube-system:steersman")
    given = ("--plugin", PLUGIN, "--kubeconfig", plane.kubeconfig(), f"--emulated-version={plane.binaries.version}")
    for finding in json.loads(steersman("doctor", *given, *account, "-o", "json").stdout)["findings"]:
        if finding["check"] == "access" and finding["level"] != "ok":
            yield f"{finding['level']}: {finding['message']}"


def test_pods_go_by_prices_as_soon_as_the_role_grants_reading_them(
    new_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    nodes = [make_node(f"n-{disk}").capacity(cpu="8", memory="16Gi").label("disk", disk) for disk in ("hdd", "ssd")]
    plane = guarded_plane(new_plane, *nodes)
    names = count()
    plugin = tmp_path / "price_list.py"
    plugin.write_text(PLUGIN.read_text().replace("period_seconds = 60.0", "period_seconds = 0.2"))
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    documents = [
        document
        for file in ("prices.yaml", "rbac.yaml")
        for document in yaml.safe_load_all((FOLDER / file).read_text())
    ]
    expected = "missing: get configmaps, list configmaps (for what plugins read by themselves)"
    assert any(text.startswith("warn") and expected in text for text in access(plane))
    with started(plane, config, f"--plugin={plugin}") as scheduler:
        wait_until(lambda: NOT_GRANTED in scheduler.log.read_text(), what="the missing right in the log")
        assert "cannot get resource" in scheduler.log.read_text()
        assert "plugins need these rights: get configmaps, list configmaps" in scheduler.log.read_text()
        for document in documents:
            plane.admin.apply(document)
        wait_until(lambda: _went_to(plane, names, "n-hdd"), 60, what="three pods in a row on the cheap node")


def _went_to(plane: ControlPlane, names: Iterator[int], node: str) -> bool:
    """Whether three pods, one after the other, go to that node: by chance they would at times."""
    return all(_placed(plane, f"web-{next(names)}") == node for _ in range(3))


def _placed(plane: ControlPlane, name: str) -> str:
    plane.admin.create(manifest(make_pod(name).req(cpu="10m")))
    return str(wait_until(lambda: bound_to(plane.admin.get("Pod", name)), what="a node"))
