# SPDX-License-Identifier: Apache-2.0
"""`steersman explain` as a command: options in, text, JSON or YAML out."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from tests.cli.commands import refused, steersman
from tests.cli.serving import serving
from tests.client.api_server import ApiServer

from steersman.testing import make_node, make_pod

KUBECONFIG = """
current-context: here
contexts:
- {name: here, context: {cluster: it, namespace: shop}}
- {name: nowhere, context: {cluster: it, namespace: empty}}
clusters:
- {name: it, cluster: {server: "ADDRESS"}}
"""


def a_shop() -> ApiServer:
    server = ApiServer()
    server.store.create(make_node("n0").capacity(cpu="4", memory="8Gi", pods="10").obj())
    server.store.create(make_pod("web").namespace("shop").req(cpu="8").obj())
    return server


def kubeconfig(folder: Path, address: str) -> Path:
    file = folder / "kubeconfig"
    file.write_text(KUBECONFIG.replace("ADDRESS", address))
    return file


def test_the_context_names_the_namespace(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        result = steersman("explain", "web", "--kubeconfig", kubeconfig(tmp_path, address))
    assert result.exit_code == 0
    assert result.stdout.startswith("Pod shop/web, Pending, without a node; scheduler default-scheduler\n")
    assert "unschedulable: 0/1 nodes are available: 1 Insufficient cpu." in result.stdout


def test_the_namespace_may_be_said_in_three_ways(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        file = kubeconfig(tmp_path, address)
        for arguments in (("web",), ("-n", "shop", "web"), ("shop/web",)):
            assert steersman("explain", *arguments, "--kubeconfig", file).exit_code == 0
        line = refused("explain", "web", "--kubeconfig", file, "--context", "nowhere")
    assert line.startswith("Error: there is no pod web in namespace empty, but there is one in shop")


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        as_json = steersman("explain", "-n", "shop", "web", "--master", address, "-o", "json")
        as_yaml = steersman("explain", "-n", "shop", "web", "--master", address, "-o", "yaml")
    document = json.loads(as_json.stdout)
    assert document == yaml.safe_load(as_yaml.stdout)
    assert document["explanation"]["nodes"][0]["verdicts"][0]["plugin"] == "NodeResourcesFit"
    assert document["wakers"][0]["plugin"] == "NodeResourcesFit"


def test_a_server_that_is_not_there_is_one_line() -> None:
    with serving(a_shop()) as address:
        pass
    assert refused("explain", "web", "--master", address).startswith(
        f"Error: cannot reach the API server at {address}: "
    )
