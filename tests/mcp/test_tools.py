# SPDX-License-Identifier: Apache-2.0
"""The tools of the MCP server: their schemas, and the command lines that calls become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from steersman.base.errors import InputError
from steersman.cli import main
from steersman.cli.mcp_server.command import ServerSettings, check_path, command_line
from steersman.cli.mcp_server.tools import TOOLS

LIVE = ServerSettings(roots=(Path("/data"),), kubeconfig="/home/kubeconfig", context="prod")
WRITES = ("--report", "--record", "--nodes-file", "--plugin", "--kubelet-policy", "--extenders")
"""Options of the commands that write a file, run code or reach another server."""


def line(name: str, arguments: dict[str, Any], folder: Path, settings: ServerSettings = LIVE) -> list[str]:
    return command_line(settings, TOOLS[name].decoded(arguments), folder)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "explain": {"pods": ["a", "b"], "namespace": "team", "to": "n1"},
    "simulate": {"manifests_yaml": "kind: Pod", "explain": ["web"], "fixes": True, "until": "10m", "seed": 3},
    "plan_capacity": {"pods": ["web.yaml:2"], "pod_yaml": "kind: Pod", "preemption": True, "at_least": 5},
    "plan_drain": {"nodes": ["n1"], "one_by_one": True},
    "plan_lose": {"nodes": ["zone=a"]},
    "plan_taint": {"nodes": ["n1"], "taints": ["a=b:NoExecute"]},
    "plan_compact": {"budget": 3, "pods": ["web"]},
    "plan_nodes": {"pools": "pools.yaml", "remove": True},
    "plan_compare": {
        "configurations": {"packed": "most.yaml"},
        "proposed_yaml": "kind: KubeSchedulerConfiguration",
        "seeds": 2,
        "reschedule": True,
    },
    "plan_requests": {"usage": "krr.csv", "usage_csv": "", "headroom": 10, "reschedule": True},
}


@pytest.mark.parametrize("name", TOOLS)
def test_a_call_becomes_a_command_line_that_the_command_understands(name: str, tmp_path: Path) -> None:
    arguments = line(name, ARGUMENTS[name], tmp_path)
    command: click.Command = main
    while isinstance(command, click.Group):
        word = arguments.pop(0)
        found = command.get_command(click.Context(command), word)
        assert found is not None, word
        command = found
    context = command.make_context(name, arguments)
    assert context.params["output"] == "json"
    assert context.params["kubeconfig"] == "/home/kubeconfig"


@pytest.mark.parametrize("name", TOOLS)
def test_no_call_can_have_a_file_written_or_code_run(name: str, tmp_path: Path) -> None:
    values = {
        key: f"--report={tmp_path}" if isinstance(value, str) else value for key, value in ARGUMENTS[name].items()
    }
    values = {key: ["--record=x"] if isinstance(value, list) else value for key, value in values.items()}
    arguments = line(name, values, tmp_path)
    options = arguments[: arguments.index("--")]
    assert [option for option in options if option.startswith(WRITES)] == []


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_describe_every_argument(name: str) -> None:
    schema = TOOLS[name].input_schema()
    assert set(ARGUMENTS[name]) <= set(schema["properties"])
    assert all(each.get("description") for each in schema["properties"].values())
    assert TOOLS[name].__doc__


def test_configurations_are_compared_with_the_servers_own(tmp_path: Path) -> None:
    own = LIVE._replace(config="/etc/sched.yaml")
    for settings, first in ((LIVE, "--config=default"), (own, "--config=/etc/sched.yaml")):
        arguments = line("plan_compare", {"configurations": {"packed": "/data/most.yaml"}}, tmp_path, settings)
        given = [option for option in arguments if option.startswith("--config")]
        assert given == [first, "--config=packed=/data/most.yaml"]
    assert list(TOOLS["plan_compare"].decoded({"configurations": {"a": "/etc/passwd"}}).paths()) == ["/etc/passwd"]
    with pytest.raises(InputError, match=r"arguments of plan_compare: "):
        TOOLS["plan_compare"].decoded({"configurations": {"../a": "b"}})


def test_arguments_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match=r"arguments of plan_drain: .*`nodes`"):
        TOOLS["plan_drain"].decoded({})
    with pytest.raises(InputError, match=r"unknown field `shell`"):
        TOOLS["explain"].decoded({"shell": "rm"})


def test_files_take_the_place_of_the_cluster_and_documents_of_a_call_come_on_top(tmp_path: Path) -> None:
    arguments = line("simulate", {"files": ["/data/a.yaml"], "manifests_yaml": "kind: Pod"}, tmp_path)
    assert arguments[1] == "--filename=/data/a.yaml"
    written = tmp_path / "filename.yaml"
    assert f"--filename={written}" in arguments
    assert written.read_text() == "kind: Pod"
    assert "--kubeconfig=/home/kubeconfig" not in arguments
    with pytest.raises(InputError, match="the server has no kubeconfig"):
        line("explain", {}, tmp_path, ServerSettings(roots=()))


def test_files_are_read_below_the_roots_only(tmp_path: Path) -> None:
    settings = ServerSettings(roots=(tmp_path,))
    (tmp_path / "link").symlink_to("/etc")
    check_path(settings, str(tmp_path / "a" / "b.yaml"))
    for path in ("/etc/passwd", f"{tmp_path}/../x", f"{tmp_path}/link/passwd", "-"):
        with pytest.raises(InputError, match="is not to be read"):
            check_path(settings, path)
