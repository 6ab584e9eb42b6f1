# SPDX-License-Identifier: Apache-2.0
"""`steersman mcp` with the official package's own client: on files, and on a real cluster of which it may read everything."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, manifest

SOURCES: Final = Path(__file__).parents[2] / "src"
CLIENT: Final = Path(__file__).with_name("mcp_client.py")
SECONDS: Final = 300.0
RBAC: Final = "rbac.authorization.k8s.io"
READING: Final = ("get", "list", "watch")

Call = tuple[str, dict[str, Any]]
LoopRunner = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path) -> LoopRunner:
    """Starts a server with these options in an empty folder, makes the calls, and gives what the client got."""
    python = os.environ.get("MCP_PYTHON", "")
    if not python and os.environ.get("CI") != "true":
        pytest.skip("`make e2e` installs the package mcp and sets MCP_PYTHON")

    def asked(calls: list[Call], *options: str) -> dict[str, Any]:
        server = [python, "-m", "steersman", "mcp", f"--timeout={SECONDS:g}", *options]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path), "KUBECONFIG": ""}
        done = subprocess.run(
            [python, str(CLIENT), *server],
            input=json.dumps(calls),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=2 * SECONDS,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return asked


def answers(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The documents of calls that all had an answer."""
    assert not any(result["isError"] for result in found["results"]), found["results"]
    return [json.loads(result["text"])["answer"] for result in found["results"]]


CLUSTER: Final = (
    make_node("n1").capacity(cpu="4", memory="8Gi", pods=10),
    make_node("n2").capacity(cpu="2", memory="8Gi", pods=10),
)
POD: Final = make_pod("web").req(cpu="5")


def test_tools_have_schemas_only_read_and_answer_about_files(ask: LoopRunner, tmp_path: Path) -> None:
    items = [*(manifest(each) for each in CLUSTER), manifest(POD)]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    files = {"files": ["cluster.json"]}
    found = ask(
        [
            ("explain", {**files, "pods": ["web"]}),
            ("simulate", {**files, "manifests_yaml": json.dumps(manifest(make_pod("more").req(cpu="1")))}),
            ("plan_capacity", {**files, "pod_yaml": json.dumps(manifest(make_pod("more").req(cpu="1")))}),
            ("plan_lose", {**files, "nodes": ["n1"]}),
        ]
    )
    assert {"explain", "simulate", "plan_capacity", "plan_drain", "plan_lose", "plan_nodes"} <= set(found["tools"])
    assert {"plan_compare", "plan_requests"} <= set(found["tools"])
    for tool in found["tools"].values():
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["annotations"]["destructiveHint"] is False
    explained, simulated, capacity, lost = answers(found)
    assert explained["fixes"][0]["summary"].startswith("Lower the cpu request")
    assert {each["pod"]: each.get("node", "") for each in simulated["placements"]} == {
        "default/web": "",
        "default/more": "n1",
    }
    assert capacity["fits"] == 6
    assert lost["nodes"] == ["n1"]


def test_what_cannot_be_answered_is_said_and_long_answers_are_cut(ask: LoopRunner, tmp_path: Path) -> None:
    items = [manifest(make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10)) for number in range(300)]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "broken.yaml").write_text("kind: Pod\nspec: [")
    found = ask(
        [
            ("explain", {"pods": ["web"]}),
            ("explain", {"files": ["/etc/hostname"], "pods": ["web"]}),
            ("simulate", {"files": ["broken.yaml"]}),
            ("plan_drain", {"files": ["cluster.json"], "nodes": []}),
            ("plan_drain", {"files": ["cluster.json"], "nodes": ["n1"], "kubeconfig": "other"}),
            ("delete", {}),
            ("simulate", {"files": ["cluster.json"]}),
        ],
        "--max-output=5000",
    )
    *refused, cut = found["results"]
    assert all(result["isError"] for result in refused), refused
    said = [result["text"] for result in refused]
    assert "the server has no kubeconfig" in said[0]
    assert "is not to be read" in said[1]
    assert "broken.yaml" in said[2]
    assert "length >= 1" in said[3]
    assert "kubeconfig" in said[4]
    assert "is not a tool" in said[5]
    assert len(cut["text"]) <= 5000
    assert "entries here" in json.loads(cut["text"])["truncated"]


def test_a_live_cluster_is_read_by_a_user_who_may_not_write(ask: LoopRunner, plane: ControlPlane) -> None:
    admin = plane.admin
    admin.create_nodes(*(manifest(each) for each in CLUSTER))
    admin.create(manifest(POD))
    for right in _rights("mcp-reader"):
        admin.apply(right)
    before = _versions(plane)
    kubeconfig = str(plane.kubeconfig("mcp-reader", ()))
    found = ask(
        [
            ("explain", {"pods": ["web"]}),
            ("simulate", {"manifests_yaml": json.dumps(manifest(make_pod("more").req(cpu="1")))}),
            ("plan_drain", {"nodes": ["n1"]}),
        ],
        f"--kubeconfig={kubeconfig}",
    )
    explained, simulated, drained = answers(found)
    assert explained["state"] == "Pending"
    assert explained["fixes"]
    assert "default/more" in [each["pod"] for each in simulated["placements"]]
    assert drained["nodes"] == ["n1"]
    assert _versions(plane) == before


def _rights(user: str) -> list[JsonObject]:
    """To read everything, and nothing else."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": list(READING)}]
    role: JsonObject = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules}
    binding: JsonObject = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }
    return [role, binding]


def _versions(plane: ControlPlane) -> dict[str, str]:
    """The versions of the objects that a scheduler or an operator would have changed."""
    named = (("Pod", "web"), ("Node", "n1"), ("Node", "n2"))
    return {name: plane.admin.get(kind, name)["metadata"]["resourceVersion"] for kind, name in named}
