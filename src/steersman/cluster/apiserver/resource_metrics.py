# SPDX-License-Identifier: Apache-2.0
"""The metrics API (`metrics.k8s.io`), as read by `kubectl top` and autoscalers.

`controllers.pod_usage` provides the usage of simulated containers; a node uses the sum of its pods.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import Node, Pod
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.selection import FieldTerm, Selection
from steersman.cluster.controllers.pod_usage import container_usage
from steersman.cluster.store import Document, Store
from steersman.cluster.store.errors import NotFound

WINDOW: Final = "15s"


def metrics_list(store: Store, resource: Resource, selection: Selection) -> Document:
    """Return the metrics of nodes, or of running pods."""
    found = _pod_metrics(store) if resource.namespaced else _node_metrics(store)
    items = [item for item in found if selection.matches(item)]
    items.sort(key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))
    header = {"kind": resource.list_kind, "apiVersion": resource.api_version}
    return {**header, "metadata": {"resourceVersion": store.resource_version}, "items": items}


def metrics_of(store: Store, resource: Resource, namespace: str | None, name: str) -> Document:
    """Return the metrics of an object. Raises 404, also for a pod that is not running."""
    chosen = Selection(namespace, None, (FieldTerm("metadata.name", name, is_equal=True),))
    items = metrics_list(store, resource, chosen)["items"]
    if not items:
        raise NotFound(Pod if resource.namespaced else Node, name)
    return {"kind": resource.kind, "apiVersion": resource.api_version, **items[0]}


def _pod_metrics(store: Store) -> Iterator[Document]:
    for pod in _running(store):
        usage = zip(pod.spec.containers, container_usage(pod, store.clock.now()), strict=True)
        containers = [{"name": container.name, "usage": _usage(used)} for container, used in usage]
        yield {**_measured(store, pod), "containers": containers}


def _node_metrics(store: Store) -> Iterator[Document]:
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod in _running(store):
        for usage in container_usage(pod, store.clock.now()):
            used[pod.spec.node_name].update(usage)
    return (
        {**_measured(store, node), "usage": _usage(used[node.metadata.name])} for node in store.objects(Node).values()
    )


def _running(store: Store) -> Iterator[Pod]:
    return (pod for pod in store.objects(Pod).values() if pod.status.phase == "Running" and pod.spec.node_name)


def _usage(used: Mapping[str, int]) -> Document:
    return {"cpu": f"{used['cpu']}m", "memory": f"{used['memory'] // 1024_000}Ki"}


def _measured(store: Store, obj: Pod | Node) -> Document:
    metadata: dict[str, Any] = {"name": obj.metadata.name, "creationTimestamp": store.timestamp()}
    metadata |= {"namespace": obj.metadata.namespace} if obj.metadata.namespace else {}
    metadata |= {"labels": dict(obj.metadata.labels)} if obj.metadata.labels else {}
    return {"metadata": metadata, "timestamp": store.timestamp(), "window": WINDOW}
