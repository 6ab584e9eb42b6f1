# SPDX-License-Identifier: Apache-2.0
"""The nodes of `--nodes`: as many as wanted, made from a template, each with a name, an address and a zone of its own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from steersman.api import Node
from steersman.embedded import Document, Store
from steersman.embedded.documents import typed
from steersman.errors import InputError
from steersman.sandbox.manifest_files import read_documents

ZONES: Final = ("zone-a", "zone-b", "zone-c")
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
HOSTNAME: Final = "kubernetes.io/hostname"
MOST_NODES: Final = 100_000
_FIRST_ADDRESS: Final = int(ipaddress.IPv4Address("10.128.0.1"))
_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def default_template() -> Document:
    """Eight cores, 32 GiB, 110 pods."""
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", REGION: "sandbox"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"labels": labels},
        "status": {"capacity": dict(_CAPACITY), "allocatable": dict(_CAPACITY)},
    }


def read_template(file: str) -> Document:
    """The one Node of a file; raises `InputError`."""
    found = list(read_documents([file]))
    if len(found) != 1 or found[0].document["kind"] != "Node":
        kinds = ", ".join(one.document["kind"] for one in found) or "nothing"
        raise InputError("does not hold one Node", file=file, value=kinds, hint="give a file with a single Node")
    return found[0].document


def create_nodes(store: Store, count: int, template: Document) -> int:
    """Creates `node-0` … where they are missing; how many were."""
    created = 0
    for document in node_documents(count, template, store.timestamp()):
        if store.find(Node, document["metadata"]["name"]) is None:
            store.create(typed(document, Node), document)
            created += 1
    return created


def node_documents(count: int, template: Document, now: str) -> Iterator[Document]:
    """Nodes of a template; what it says about labels, addresses and conditions goes before what is made up here."""
    if not 0 <= count <= MOST_NODES:
        raise InputError("is not a number of nodes", field="--nodes", value=count, hint=f"use 0 to {MOST_NODES}")
    prefix = (template.get("metadata") or {}).get("name") or "node"
    for number in range(count):
        yield _node(f"{prefix}-{number}", number, template, now)


def _node(name: str, number: int, template: Document, now: str) -> Document:
    metadata, status = template.get("metadata") or {}, template.get("status") or {}
    labels = {ZONE: ZONES[number % len(ZONES)], **(metadata.get("labels") or {}), HOSTNAME: name}
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
    "kubeletVersion": "v1.36.4",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "simulated",
    "systemUUID": "",
}
