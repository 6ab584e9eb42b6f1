# SPDX-License-Identifier: Apache-2.0
"""Another configuration for the scheduler of a sandbox, applied on its page: pods that come later are placed by it."""

from __future__ import annotations

import asyncio
from typing import Any

import yaml
from aiohttp import ClientSession, ClientTimeout

from steersman.sandbox import Sandbox, SandboxOptions, running_sandbox

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKING = f"""{HEADER}profiles:
  - pluginConfig:
      - name: NodeResourcesFit
        args: {{scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu, weight: 1}}]}}}}
    plugins:
      score: {{disabled: [{{name: "*"}}], enabled: [{{name: NodeResourcesFit}}]}}
"""


class Client:
    """The page of a sandbox in this process."""

    def __init__(self, sandbox: Sandbox, session: ClientSession) -> None:
        assert sandbox.page is not None
        self._url = f"http://127.0.0.1:{sandbox.page.port}/web/v1/"
        self._session = session
        self._headers = {"Authorization": f"Bearer {sandbox.page.token}"}

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        async with self._session.request(method, self._url + path, json=body, headers=self._headers) as answer:
            return answer.status, await answer.json()

    async def send(self, path: str, text: str) -> tuple[int, Any]:
        async with self._session.post(self._url + path, data=text.encode(), headers=self._headers) as answer:
            return answer.status, await answer.json()

    async def placed(self, name: str) -> str:
        """The node of a new pod."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
        assert (await self.ask("POST", "kube/api/v1/namespaces/default/pods", pod))[0] == 201
        while True:
            _, page = await self.ask("GET", f"pods/default/{name}")
            if page["node"]:
                return str(page["node"])
            await asyncio.sleep(0)


async def told() -> dict[str, Any]:
    options = SandboxOptions(nodes=3, web_port=0)
    async with running_sandbox(options) as sandbox, ClientSession(timeout=ClientTimeout(30)) as session:
        client = Client(sandbox, session)
        spread = {await client.placed(f"before-{number}") for number in range(3)}
        _, before = await client.ask("GET", "cluster")
        refused = await client.ask("POST", "configuration/apply", {"yaml": f"{HEADER}parallelism: -1\n"})
        applied = await client.ask("POST", "configuration/apply", {"yaml": PACKING})
        packed = {await client.placed(f"after-{number}") for number in range(3)}
        _, after = await client.ask("GET", "cluster")
        _, page = await client.ask("GET", "configuration")
        return {
            "spread": spread,
            "refused": refused,
            "applied": applied,
            "packed": packed,
            "epochs": (before["epoch"], after["epoch"]),
            "sources": {plugin["name"]: plugin["argsSource"] for plugin in page["profiles"][0]["plugins"]},
            "pods": after["totals"]["pods"],
        }


def test_a_configuration_is_applied_to_pods_that_come_later() -> None:
    found = asyncio.run(asyncio.wait_for(told(), 60))
    assert len(found["spread"]) == 3
    code, status = found["refused"]
    assert (code, status["details"]["causes"][0]["field"]) == (422, "parallelism")
    assert found["applied"] == (200, {"applied": True})
    assert len(found["packed"]) == 1
    assert found["epochs"][0] != found["epochs"][1]
    assert found["sources"]["NodeResourcesFit"] == "applied"
    assert found["pods"] == 6


def strategy(page: Any) -> str:
    """The scoring strategy in effect, and where it comes from."""
    fit = next(plugin for plugin in page["profiles"][0]["plugins"] if plugin["name"] == "NodeResourcesFit")
    kind = "MostAllocated" if "MostAllocated" in fit["args"] else "LeastAllocated"
    return f"{kind} {fit['argsSource']}"


async def carried() -> dict[str, Any]:
    """A configuration that goes with a snapshot, as in kube-scheduler-simulator, and with a reset."""
    options = SandboxOptions(nodes=2, web_port=0)
    async with running_sandbox(options) as sandbox, ClientSession(timeout=ClientTimeout(30)) as session:
        client = Client(sandbox, session)
        assert (await client.ask("POST", "configuration/apply", {"yaml": PACKING}))[0] == 200
        _, snapshot = await client.ask("GET", "export?format=simulator")
        await client.ask("POST", "reset")
        reset = strategy((await client.ask("GET", "configuration"))[1])
        text = yaml.safe_dump({**snapshot, "nodes": snapshot["nodes"][:1]})
        imported = await client.send("import?format=simulator&replace=true", text)
        _, page = await client.ask("GET", "configuration")
        unknown = {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}}]}
        refused = await client.send("import?format=simulator", yaml.safe_dump({"schedulerConfig": unknown}))
        _, cluster = await client.ask("GET", "cluster")
        return {
            "reset": reset,
            "imported": imported,
            "after": strategy(page),
            "refused": refused,
            "nodes": cluster["totals"]["nodes"],
        }


def test_a_snapshot_carries_the_configuration_and_a_reset_gives_back_the_first() -> None:
    found = asyncio.run(asyncio.wait_for(carried(), 60))
    assert found["reset"] == "LeastAllocated default"
    assert found["imported"] == (200, {"created": 1, "updated": 0, "problems": [], "configured": True})
    assert found["after"] == "MostAllocated applied"
    assert found["nodes"] == 1
    code, result = found["refused"]
    assert (code, result["created"], result["configured"]) == (200, 0, False)
    (problem,) = result["problems"]
    assert problem["object"] == "schedulerConfig"
    assert "EBSLimits" in problem["message"]
