# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate --kubeconfig … --explain POD --fixes`: patches are made of whole objects, as for `steersman explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.cli.commands import steersman
from tests.cli.files import write
from tests.cli.serving import serving
from tests.cli.test_explain import kubeconfig
from tests.client.api_server import ApiServer

from steersman import api
from steersman.testing import make_node, make_pod

ENV = [{"name": "LOG_LEVEL", "value": "info"}]
POD = """
apiVersion: v1
kind: Pod
metadata: {name: wish}
spec:
  containers:
  - {name: app, image: app:1, env: [{name: LOG_LEVEL, value: info}], resources: {requests: {cpu: "16"}}}
"""


class WholePodsServer(ApiServer):
    """Its pods have a field that scheduling does not read."""

    async def _list(self, request: web.Request, kind: type[api.Object]) -> web.Response:
        answer = await super()._list(request, kind)
        if kind is not api.Pod:
            return answer
        assert isinstance(answer.body, bytes)
        document = json.loads(answer.body)
        for item in document["items"]:
            for container in item["spec"]["containers"]:
                container["env"] = ENV
        return web.json_response(document)


def a_cluster() -> ApiServer:
    server = WholePodsServer()
    server.store.create(make_node("n0").capacity(cpu="4", memory="8Gi", pods="10").obj())
    server.store.create(make_pod("web").req(cpu="8").obj())
    return server


def lowered(result: Any) -> dict[str, Any]:
    """The fix that lowers requests."""
    [explanation] = json.loads(result.stdout)["explanations"]
    [fix] = [fix for fix in explanation["fixes"] if fix["kind"] == "LowerRequests"]
    found: dict[str, Any] = fix
    return found


def test_no_field_is_dropped(tmp_path: Path) -> None:
    with serving(a_cluster()) as address:
        options = "--kubeconfig", kubeconfig(tmp_path, address), "--fixes", "-o", "json"
        fix = lowered(steersman("simulate", "--explain", "web", *options))
    assert fix["patches"] == [], "no API server changes the requests of a pod like that"
    assert [gone["name"] for gone in fix["delete"]] == ["web"]
    assert fix["create"][0]["spec"]["containers"][0]["env"] == ENV


def test_a_pod_of_a_file_keeps_its_fields_as_well(tmp_path: Path) -> None:
    with serving(a_cluster()) as address:
        options = "--kubeconfig", kubeconfig(tmp_path, address), "--fixes", "-o", "json"
        file = write(tmp_path / "wish.yaml", POD)
        fix = lowered(steersman("simulate", "--explain", "wish", "-f", file, *options))
    assert fix["create"][0]["spec"]["containers"][0]["env"] == ENV
