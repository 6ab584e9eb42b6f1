# SPDX-License-Identifier: Apache-2.0
"""`steersman explain` on a real API server: for a pending and for a placed pod, and by a user without rights."""

from __future__ import annotations

import json

from tests.cli.commands import refused, steersman

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, Steersman, bound_to, condition, manifest


def test_a_pending_pod_has_the_message_that_the_scheduler_wrote(plane: ControlPlane) -> None:
    admin = plane.admin
    admin.create_nodes(manifest(make_node("small").capacity(cpu="2", memory="4Gi")))
    admin.create_nodes(manifest(make_node("tainted").capacity(cpu="64", memory="64Gi").taint("team", "other")))
    admin.create(manifest(make_pod("large").req(cpu="32")))
    with Steersman(plane):
        written = admin.wait_until(lambda: condition(admin.get("Pod", "large"), "PodScheduled"))
    assert written is not None
    version = f"--emulated-version={plane.binaries.version}"
    result = steersman("explain", "large", "--kubeconfig", plane.kubeconfig(), version, "-o", "json")
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    assert document["explanation"]["message"] == written["message"]
    assert {"type": "PodScheduled", "status": "False"}.items() <= document["conditions"][0].items()
    verdicts = {node["node"]: node["verdicts"][0]["plugin"] for node in document["explanation"]["nodes"]}
    assert verdicts == {"small": "NodeResourcesFit", "tainted": "TaintToleration"}
    assert {waker["plugin"] for waker in document["wakers"]} == {"NodeResourcesFit", "TaintToleration"}


def test_a_placed_pod_would_win_its_node_again_and_stays_where_it_is(plane: ControlPlane) -> None:
    admin = plane.admin
    admin.create_nodes(*(manifest(make_node(name).capacity(cpu="4", memory="8Gi")) for name in ("a", "b")))
    admin.create(manifest(make_pod("web").req(cpu="1")))
    with Steersman(plane):
        node = admin.wait_until(lambda: bound_to(admin.get("Pod", "web")))
    before = admin.get("Pod", "web")["metadata"]["resourceVersion"]
    result = steersman("explain", "-n", "default", "web", "--kubeconfig", plane.kubeconfig())
    assert f"{node} would be chosen again, with a score of " in result.stdout
    assert f"would go to {node}; one of 2 nodes with the best score" in result.stdout
    assert admin.get("Pod", "web")["metadata"]["resourceVersion"] == before


def test_a_reader_needs_the_right_to_list_and_no_other(plane: ControlPlane) -> None:
    admin = plane.admin
    admin.create_nodes(manifest(make_node("a").capacity(cpu="4", memory="8Gi")))
    admin.create(manifest(make_pod("web").req(cpu="1")))
    line = refused("explain", "web", "--kubeconfig", plane.kubeconfig("visitor", ()))
    assert "does not allow this: list " in line
    assert 'User "visitor" cannot list resource' in line
