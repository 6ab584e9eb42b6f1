# SPDX-License-Identifier: Apache-2.0
"""`steersman plan` on a real API server: by a user who may list and nothing else, and nothing is changed by it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import steersman
from tests.cli.files import write
from tests.cli.test_plan import WEB

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, Steersman, bound_to, manifest


def test_a_plan_reads_a_real_cluster_and_leaves_it_as_it_is(plane: ControlPlane, tmp_path: Path) -> None:
    admin = plane.admin
    admin.create_nodes(*(manifest(make_node(name).capacity(cpu="4", memory="8Gi", pods="10")) for name in ("a", "b")))
    admin.create(manifest(make_pod("web").req(cpu="1", memory="1Gi")))
    with Steersman(plane):
        node = admin.wait_until(lambda: bound_to(admin.get("Pod", "web")))
    before = admin.get("Pod", "web")["metadata"]["resourceVersion"]
    pod = write(tmp_path / "web.yaml", WEB)
    capacity = steersman("plan", "capacity", "--kubeconfig", plane.kubeconfig(), "--pod", pod, "-o", "json")
    assert json.loads(capacity.stdout)["fits"] == 7
    lost = json.loads(steersman("plan", "lose", str(node), "--kubeconfig", plane.kubeconfig(), "-o", "json").stdout)
    assert list(lost["lost"]) == ["default/web"]
    assert admin.get("Pod", "web")["metadata"]["resourceVersion"] == before
    assert admin.get("Node", str(node))["spec"].get("unschedulable") is None
