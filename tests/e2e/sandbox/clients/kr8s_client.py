# SPDX-License-Identifier: Apache-2.0
"""`kr8s_client.py KUBECONFIG`: kr8s at work on a sandbox; prints what it saw as JSON.

Runs in the environment of requirements/clients.lock. `test_python_clients` judges what is printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import kr8s
from kr8s.asyncio.objects import Deployment, Pod, new_class

DEADLINE_SECONDS = 120.0
LABELS = {"app": "kr8s"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shelves.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "shelves", "singular": "shelf", "kind": "Shelf"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "boards": {"type": "integer", "minimum": 1, "default": 4},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def deployment(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kr8s"}, "spec": spec}


async def running_pods(api: Any, count: int) -> list[str]:
    """The types of the events until so many pods run."""
    running: set[str] = set()
    types = []
    async for what, pod in api.watch("pods", namespace="default", label_selector=LABELS):
        types.append(what)
        if pod.raw["status"]["phase"] == "Running" and what != "DELETED":
            running.add(pod.name)
        if len(running) == count:
            return types
    return types


async def shelf(api: Any) -> dict[str, Any]:
    """A custom resource: completed by its schema, and refused by it."""
    await (await kr8s.asyncio.objects.CustomResourceDefinition(DEFINITION, api=api)).create()
    kind = new_class("Shelf", version="example.com/v1", namespaced=True, plural="shelves", asyncio=True)
    made = await kind({"metadata": {"name": "a", "namespace": "default"}, "spec": {}}, api=api)
    await made.create()
    await made.patch({"metadata": {"labels": {"room": "kitchen"}}})
    try:
        await made.patch({"spec": {"boards": 0}})
    except kr8s.ServerError as error:
        return {"boards": made.raw["spec"]["boards"], "labels": dict(made.labels), "refusal": str(error)}
    raise AssertionError("the shelf without boards was accepted")


async def work() -> dict[str, Any]:
    api = await kr8s.asyncio.api(kubeconfig=sys.argv[1])
    watching = asyncio.create_task(running_pods(api, 5))
    web = await Deployment(deployment(3), api=api)
    await web.create()
    await web.wait("condition=Available", timeout=DEADLINE_SECONDS)
    await web.scale(5)
    await web.patch({"metadata": {"annotations": {"note": "patched"}}})
    types = await watching
    pods = [pod async for pod in api.get("pods", namespace="default", label_selector=LABELS)]
    await web.delete(propagation_policy="Foreground")
    await web.wait("delete", timeout=DEADLINE_SECONDS)
    left = [pod.name async for pod in Pod.list(api=api, namespace="default")]
    return {"types": types, "pods": len(pods), "note": web.annotations.note, "left": left, "shelf": await shelf(api)}


async def main() -> None:
    async with asyncio.timeout(2 * DEADLINE_SECONDS):
        print(json.dumps(await work()))


if __name__ == "__main__":
    asyncio.run(main())
