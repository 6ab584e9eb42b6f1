# SPDX-License-Identifier: Apache-2.0
"""The clients of the benchmark, in a process of their own: `python -m benchmarks.sandbox.clients KUBECONFIG REPLICAS WATCHES`.

Creates a Deployment, watches pods several times over, asks for `/livez` all the while, and prints a `ClientReport` when every
pod is available and every watch has seen a last pod that is created for that purpose.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import sys
import time
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import yaml

PODS: Final = "/api/v1/namespaces/default/pods"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
LAST_POD: Final = "the-last"
LABELS: Final = {"app": "web"}
CONTAINERS: Final = [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]
PROBE_SECONDS: Final = 0.05
POLL_SECONDS: Final = 0.5

WatchedEvent = tuple[str, str, int]
"""Type, name and resource version of a pod's event."""


class ClientReport(msgspec.Struct, frozen=True):
    """Times in seconds. `watches` are the events of each watch, `since` the version that they began after."""

    seconds: float
    since: int
    livez: list[float]
    watches: list[list[WatchedEvent]]


class Clients:
    """All clients of one sandbox, on one HTTPS session."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._livez: list[float] = []

    async def run(self, replicas: int, watches: int) -> ClientReport:
        since = int((await self._get(f"{PODS}?limit=1"))["metadata"]["resourceVersion"])
        watching = [asyncio.create_task(self._watch(since)) for _ in range(watches)]
        probing = asyncio.create_task(self._probe())
        started = time.monotonic()
        await self._create(DEPLOYMENTS, _deployment(replicas))
        while (await self._get(f"{DEPLOYMENTS}/web")).get("status", {}).get("availableReplicas") != replicas:
            await asyncio.sleep(POLL_SECONDS)
        seconds = time.monotonic() - started
        await self._create(PODS, _last_pod())
        events = await asyncio.gather(*watching)
        probing.cancel()
        return ClientReport(seconds, since, self._livez, list(events))

    async def _watch(self, since: int) -> list[WatchedEvent]:
        """Everything up to the last pod; one watch, which must not break off."""
        events: list[WatchedEvent] = []
        query = {"watch": "1", "resourceVersion": str(since), "allowWatchBookmarks": "true"}
        async with self._session.get(PODS, params=query) as answer:
            async for line in answer.content:
                event = msgspec.json.decode(line)
                if event["type"] == "BOOKMARK":
                    continue
                assert event["type"] != "ERROR", event
                metadata = event["object"]["metadata"]
                events.append((event["type"], metadata["name"], int(metadata["resourceVersion"])))
                if metadata["name"] == LAST_POD:
                    return events
        raise AssertionError("a watch ended before its time")

    async def _probe(self) -> None:
        while True:
            asked = time.monotonic()
            async with self._session.get("/livez") as answer:
                await answer.read()
            self._livez.append(time.monotonic() - asked)
            await asyncio.sleep(PROBE_SECONDS)

    async def _get(self, url: str) -> dict[str, Any]:
        async with self._session.get(url) as answer:
            assert answer.status == 200, await answer.text()
            found: dict[str, Any] = msgspec.json.decode(await answer.read())
            return found

    async def _create(self, url: str, document: dict[str, Any]) -> None:
        async with self._session.post(url, json=document) as answer:
            assert answer.status == 201, await answer.text()


def _deployment(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def _last_pod() -> dict[str, Any]:
    return {"metadata": {"name": LAST_POD}, "spec": {"containers": CONTAINERS, "schedulerName": "nobody"}}


def session_of(kubeconfig: Path) -> aiohttp.ClientSession:
    document = yaml.safe_load(kubeconfig.read_text())
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return aiohttp.ClientSession(
        cluster["server"],
        headers={"Authorization": f"Bearer {user['token']}"},
        connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority)),
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=2**20,
    )


async def main() -> None:
    kubeconfig, replicas, watches = sys.argv[1:]
    async with session_of(Path(kubeconfig)) as session:
        report = await Clients(session).run(int(replicas), int(watches))
    sys.stdout.buffer.write(msgspec.json.encode(report))


if __name__ == "__main__":
    asyncio.run(main())
