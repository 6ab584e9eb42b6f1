# SPDX-License-Identifier: Apache-2.0
"""A plugin of an installed package that asks an HTTP service, on a real API server with RBAC: examples/node_load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.packages import EXAMPLES, guarded_plane, install, started
from tests.examples.test_node_load_example import serving

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, bound_to, condition, manifest, wait_until

FOLDER = EXAMPLES / "node_load"


def test_pods_go_where_the_service_says_there_is_least_to_do_and_wait_while_all_is_full(
    new_plane: Callable[..., ControlPlane], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(FOLDER, tmp_path / "site", monkeypatch)
    nodes = [make_node(name).capacity(cpu="8", memory="16Gi") for name in ("n1", "n2")]
    plane = guarded_plane(new_plane, *nodes)
    admin = plane.admin

    def message(pod: str) -> str:
        return str((condition(admin.get("Pod", pod), "PodScheduled") or {}).get("message", ""))

    with serving() as service:
        service.loads = {"n1": 0.9, "n2": 0.2}
        config = tmp_path / "config.yaml"
        text = (FOLDER / "config.yaml").read_text().replace("http://127.0.0.1:9101/load", service.url)
        config.write_text(text.replace("periodSeconds: 30", "periodSeconds: 0.2"))
        with started(plane, config):
            admin.create(manifest(make_pod("first").req(cpu="1")))
            assert wait_until(lambda: bound_to(admin.get("Pod", "first")), what="a node") == "n2"
            service.loads = {"n1": 1.0, "n2": 1.0}
            # Whoever is scheduled before the next refresh still goes to n2.
            later = (f"later-{n}" for n in range(100))
            waiting = wait_until(lambda: _pending(admin, next(later), message), what="a pod that finds all nodes full")
            service.loads = {"n1": 0.1, "n2": 1.0}
            assert wait_until(lambda: bound_to(admin.get("Pod", waiting)), 60, what="the refresh that wakes it") == "n1"


def _pending(admin: KubeClient, name: str, message: Callable[[str], str]) -> str:
    """The name, if the pod of that name finds no node; "" if it finds one."""
    admin.create(manifest(make_pod(name).req(cpu="100m")))
    wait_until(lambda: bound_to(admin.get("Pod", name)) or message(name), what="a decision")
    return name if "2 node(s) have too much to do" in message(name) else ""
