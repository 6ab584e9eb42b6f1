# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.web [NODES [PODS]]`: 5,000 nodes and 50,000 pods unless told otherwise, with 500 changes a second.

Wants BROWSER_PYTHON, an environment with Playwright, and CHROMIUM; `make bench-web` sets both.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp

from benchmarks.sandbox.clients import PODS, session_of

PROBE: Final = Path(__file__).with_name("probe.py")
START_SECONDS: Final = 600.0
PODS_A_SECOND: Final = 100
"""Created, and as many deleted: with bindings, status and events of each that is more than 500 changes."""
ZONE: Final = "topology.kubernetes.io/zone"
WIDE: Final = "default/wide"
"""A pod for which most plugins have something to do."""
CONTAINERS: Final = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]


def objects(nodes: int, pods: int) -> Iterator[dict[str, Any]]:
    """Nodes in six zones, and pods that are on them already."""
    yield from wide_pod()
    for number in range(nodes):
        name, room = f"node-{number}", {"cpu": "16", "memory": "64Gi", "pods": "110"}
        labels = {ZONE: f"zone-{number % 6}", "kubernetes.io/hostname": name}
        status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
    for number in range(pods):
        requests = {"cpu": f"{100 + number * 37 % 900}m", "memory": "512Mi"}
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"old-{number}", "namespace": "default", "labels": {"app": f"app-{number % 50}"}},
            "spec": {"nodeName": f"node-{number % nodes}", "containers": [container]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }


def wide_pod() -> Iterator[dict[str, Any]]:
    """A pod with a volume, a port of its node, affinities and spreading, which the sandbox places; and what it needs."""
    name, namespace = WIDE.split("/")[1], WIDE.split("/")[0]
    labels, selector = {"app": name}, {"matchLabels": {"app": "app-3"}}
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1"]}]}
    room, modes = {"storage": "1Gi"}, ["ReadWriteOncePod"]
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {ZONE: "zone-0"}},
        "spec": {
            "capacity": room,
            "accessModes": modes,
            "csi": {"driver": "disk.example.com", "volumeHandle": name},
            "claimRef": {"name": name, "namespace": namespace},
        },
    }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "accessModes": modes,
            "resources": {"requests": room},
            "volumeName": name,
            "storageClassName": "",
        },
        "status": {"phase": "Bound"},
    }
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80, "hostPort": 8080}],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    preferred = [{"weight": 1, "preference": term}]
    near = [{"weight": 1, "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": selector}}]
    spread = {"maxSkew": 5, "topologyKey": ZONE, "labelSelector": {"matchLabels": labels}}
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
                    "preferredDuringSchedulingIgnoredDuringExecution": preferred,
                },
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": near},
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
                    ]
                },
            },
            "topologySpreadConstraints": [
                {**spread, "whenUnsatisfiable": "DoNotSchedule"},
                {**spread, "whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "kubernetes.io/hostname"},
            ],
        },
    }


class Changes:
    """Creates and deletes pods at a steady pace."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._number = 0

    async def go_on(self) -> None:
        """Until it is cancelled; a late round is not made up for."""
        while True:
            began = time.monotonic()
            await asyncio.gather(*(self._replace() for _ in range(PODS_A_SECOND // 10)))
            await asyncio.sleep(max(0.0, 0.1 - (time.monotonic() - began)))

    async def _replace(self) -> None:
        self._number += 1
        number = self._number
        pod = {"metadata": {"name": f"new-{number}"}, "spec": {"containers": CONTAINERS}}
        async with self._session.post(PODS, json=pod) as answer:
            assert answer.status == 201, await answer.text()
        if number > 10 * PODS_A_SECOND:
            body = {"gracePeriodSeconds": 0}
            async with self._session.delete(f"{PODS}/new-{number - 10 * PODS_A_SECOND}", json=body) as answer:
                assert answer.status in (200, 404), await answer.text()

    async def version(self) -> int:
        """How many writes there have been."""
        async with self._session.get(f"{PODS}?limit=1") as answer:
            return int((await answer.json())["metadata"]["resourceVersion"])


async def started(folder: Path, manifests: Path) -> tuple[asyncio.subprocess.Process, str]:
    """A sandbox, and the address of its page once it has said it."""
    command = ["-m", "steersman", "sandbox", "-f", str(manifests), "--kubeconfig", str(folder / "kubeconfig")]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(START_SECONDS):
        async for line in process.stdout:
            if line.startswith(b"The page: "):
                return process, line.decode().removeprefix("The page: ").strip()
    raise SystemExit("the sandbox ended before it served its page")


async def probed(address: str, pod: str = WIDE) -> dict[str, Any]:
    """What the browser measured at an address, of a server or of a file."""
    command = [os.environ["BROWSER_PYTHON"], str(PROBE), os.environ["CHROMIUM"], address, pod]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise SystemExit("the browser did not get through")
    found: dict[str, Any] = json.loads(output)
    return found


async def measure(nodes: int, pods: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        manifests = folder / "objects.json"
        manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(nodes, pods))}))
        process, address = await started(folder, manifests)
        try:
            async with session_of(folder / "kubeconfig") as session:
                changes = Changes(session)
                changing = asyncio.create_task(changes.go_on())
                began, first = time.monotonic(), await changes.version()
                found = await probed(address)
                rate = (await changes.version() - first) / (time.monotonic() - began)
                changing.cancel()
        finally:
            process.terminate()
            await process.wait()
    print(f"{nodes} nodes, {pods} pods, {rate:.0f} changes a second, {os.cpu_count()} cores for everything")
    for line in found["lines"]:
        print(line)


def main() -> None:
    nodes, pods = (*map(int, sys.argv[1:]), *(5_000, 50_000)[len(sys.argv) - 1 :])
    asyncio.run(measure(nodes, pods))


if __name__ == "__main__":
    main()
