# SPDX-License-Identifier: Apache-2.0
"""Answers of the MCP server's tools: a real command, errors that can be acted on, and a bound of the size."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import refused

from steersman.base.errors import InputError
from steersman.cli.mcp_server.command import ServerSettings, ToolAnswer, answer, bounded_json
from steersman.cli.mcp_server.tools import TOOLS

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""


def answered(folder: Path, name: str, seconds: float = 120.0, **arguments: Any) -> ToolAnswer:
    settings = ServerSettings(roots=(folder,), seconds=seconds)
    return asyncio.run(answer(settings, TOOLS[name].decoded(arguments)))


def test_a_tool_answers_with_the_document_of_its_command(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    found = answered(tmp_path, "plan_lose", files=[str(tmp_path / "cluster.yaml")], nodes=["n1"])
    assert not found.is_error
    document = json.loads(found.text)
    assert document["exitCode"] == 0
    assert document["answer"]["kind"] == "Loss"


PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: app, resources: {requests: {cpu: "1"}}}]}
"""


def test_documents_of_a_call_are_compared_and_requested(tmp_path: Path) -> None:
    files = [str(tmp_path / "cluster.yaml")]
    Path(files[0]).write_text(CLUSTER + POD)
    compared = json.loads(answered(tmp_path, "plan_compare", files=files, proposed_yaml=PACKED, seeds=2).text)["answer"]
    assert compared["kind"] == "Comparison"
    assert "proposed" in json.dumps(compared)
    usage = "namespace,pod,container,cpu,memory\ndefault,web,web,0.25,1000000\n"
    asked = json.loads(answered(tmp_path, "plan_requests", files=files, usage_csv=usage).text)["answer"]
    assert (asked["kind"], asked["fits"]) == ("Requests", True)
    nothing = answered(tmp_path, "plan_requests", files=files)
    assert nothing.is_error
    assert "--usage" in nothing.text


def test_what_a_command_refuses_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    found = answered(tmp_path, "plan_lose", files=[str(tmp_path / "cluster.yaml")], nodes=["n7"])
    assert found.is_error
    assert "n7" in found.text
    assert "Traceback" not in found.text


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    with pytest.raises(InputError, match=r"took longer than 0\.001 seconds"):
        answered(tmp_path, "plan_lose", seconds=0.001, files=[str(tmp_path / "cluster.yaml")], nodes=["n1"])


def test_modules_in_the_folder_where_the_server_was_started_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editors start servers in the workspace, which may be anybody's repository."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "click.py").write_text("raise SystemExit('imported from the workspace')")
    monkeypatch.chdir(tmp_path)
    found = answered(tmp_path, "plan_lose", files=[str(tmp_path / "cluster.yaml")], nodes=["n1"])
    assert not found.is_error, found.text


def test_links_in_a_folder_do_not_lead_out_of_it(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.yaml").write_text(CLUSTER)
    (inside / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(InputError, match="is not to be read"):
        answered(inside, "plan_lose", files=[str(inside)], nodes=["n1"])


def test_long_answers_are_truncated_with_a_note() -> None:
    document = {"exitCode": 0, "answer": {"nodes": [{"name": f"n{number}"} for number in range(1000)]}}
    whole = bounded_json(document, 100_000)
    assert json.loads(whole) == document
    cut = bounded_json(document, 2000)
    assert len(cut) <= 2000
    decoded = json.loads(cut)
    assert decoded["truncated"] == "lists and maps have at most 100 entries here"
    assert decoded["answer"]["nodes"][-1] == "… 900 more"
    assert len(bounded_json({"answer": {f"n{number}": "x" * 50 for number in range(1000)}}, 3000)) <= 3000
    assert json.loads(bounded_json({"answer": {f"{n}": [["x" * 1500]] for n in range(20)}}, 1000))["truncated"]


def test_without_the_package_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mcp", "mcp_types", "mcp.server"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "steersman.cli.mcp_server.server", raising=False)
    assert "pip install 'steersman[mcp]'" in refused("mcp")
