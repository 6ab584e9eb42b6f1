# SPDX-License-Identifier: Apache-2.0
"""Nodes of `--nodes`, from a template, each with its own name, address and zone."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from steersman.api import HOSTNAME_LABEL, REGION_LABEL, ZONE_LABEL, Node
from steersman.base import KUBE_SCHEDULER_VERSION, InputError
from steersman.cluster.store import Document, Store, typed
from steersman.sandbox.manifest_files import read_documents

ZONES: Final = ("zone-a", "zone-b", "zone-c")
MAX_NODES: Final = 100_000
_FIRST_ADDRESS: Final = int(ipaddress.IPv4Address("10.128.0.1"))
_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def default_template() -> Document:
    """Return a node with eight cores, 32 GiB and 110 pods."""
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", REGION_LABEL: "sandbox"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"labels": labels},
        "status": {"capacity": dict(_CAPACITY), "allocatable": dict(_CAPACITY)},
    }


def read_template(file: str) -> Document:
    """Return the one Node of a file; raises `InputError`."""
    found = list(read_documents([file]))
    if len(found) != 1 or found[0].document["kind"] != "Node":
        kinds = ", ".join(one.document["kind"] for one in found) or "nothing"
        raise InputError("does not hold one Node", file=file, value=kinds, hint="give a file with a single Node")
    return found[0].document


def create_nodes(store: Store, count: int, template: Document) -> int:
    """Create missing nodes `node-0` …; return their number."""
    created = 0
    for document in node_documents(count, template, store.timestamp()):
        if store.find(Node, document["metadata"]["name"]) is None:
            store.create(typed(document, Node), document)
            created += 1
    return created


def node_documents(count: int, template: Document, now: str) -> Iterator[Document]:
    """Yield nodes of a template, whose labels, addresses and conditions take precedence."""
    if not 0 <= count <= MAX_NODES:
        raise InputError("is not a number of nodes", field="--nodes", value=count, hint=f"use 0 to {MAX_NODES}")
    prefix = (template.get("metadata") or {}).get("name") or "node"
    for number in range(count):
        yield _node(f"{prefix}-{number}", number, template, now)


def _node(name: str, number: int, template: Document, now: str) -> Document:
    metadata, status = template.get("metadata") or {}, template.get("status") or {}
    labels = {ZONE_LABEL: ZONES[number % len(ZONES)], **(metadata.get("labels") or {}), HOSTNAME_LABEL: name}
    address = str(ipaddress.IPv4Address(_FIRST_ADDRESS + number))
    addresses = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
    made: dict[str, Any] = {
        "addresses": addresses,
        "conditions": [_condition(*parts, now) for parts in _CONDITIONS],
        "nodeInfo": _NODE_INFO,
        **status,
    }
    made.setdefault("capacity", dict(_CAPACITY))
    made.setdefault("allocatable", made["capacity"])
    return {**template, "metadata": {**metadata, "name": name, "labels": labels}, "status": made}


def _condition(type: str, status: str, reason: str, message: str, now: str) -> Document:
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    return {"type": type, "status": status, "reason": reason, "message": message, **times}


_NODE_INFO: Final[Document] = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "steersman://simulated",
    "kernelVersion": "simulated",
    "kubeProxyVersion": "",
    "kubeletVersion": KUBE_SCHEDULER_VERSION,
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "simulated",
    "systemUUID": "",
}
