# SPDX-License-Identifier: Apache-2.0
"""Heartbeats of kubelets: renewals of the nodes' Leases in the namespace `kube-node-lease`.

Simulated kubelets need not renew thousands of Leases every ten seconds: a node without a Lease
counts as alive, and so does one whose Lease was last written by its simulated kubelet (`renew`),
however long ago, as hosts renew on reads. A silent kubelet leaves a Lease that expires. Leases
renewed over the API expire as in a real cluster.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import CustomObject, Node, ObjectMeta, OwnerReference, custom_kind, timestamps
from steersman.base import InputError
from steersman.cluster.store.store import Store

NODE_LEASES: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
Lease: Final[type[CustomObject]] = custom_kind("coordination.k8s.io/v1", "Lease", "leases")


class _SimulatedLeases(dict[str, str]):
    """Node → last renewal by its simulated kubelet; in `indexes` of stores with renewed Leases."""


def _simulated(store: Store) -> dict[str, str]:
    leases = store.indexes.get(_SimulatedLeases)
    return leases if isinstance(leases, _SimulatedLeases) else {}


def stop_heartbeat(store: Store, node: str) -> None:
    """Stop the heartbeat of the node's kubelet."""
    _simulated(store).pop(node, None)
    _write_lease(store, ObjectMeta(name=node, namespace=NODE_LEASES), _now(store))


def renew(store: Store, node: Node) -> None:
    """Renew a simulated kubelet's Lease, deleted with the node, unless another program does."""
    name, leases = node.metadata.name, store.indexes.setdefault(_SimulatedLeases, _SimulatedLeases())
    assert isinstance(leases, _SimulatedLeases)
    known = store.find(Lease, f"{NODE_LEASES}/{name}")
    if known is not None and name in leases and leases[name] != known.spec.get("renewTime"):
        return
    owner = OwnerReference(api_version=node.API_VERSION, kind=node.KIND, name=name, uid=node.metadata.uid)
    leases[name] = now = _now(store)  # before the write, which notifies controllers at once
    _write_lease(store, ObjectMeta(name=name, namespace=NODE_LEASES, owner_references=(owner,)), now)


def _now(store: Store) -> str:
    return timestamps.render_micro(store.clock.now())


def _write_lease(store: Store, meta: ObjectMeta, now: str) -> None:
    spec: dict[str, Any] = {"holderIdentity": meta.name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
    found = store.find(Lease, f"{NODE_LEASES}/{meta.name}")
    if found is None:
        store.create(Lease(metadata=meta, spec=spec))
    else:
        store.update(Lease(metadata=found.metadata, spec={**found.spec, **spec}))


def resume_heartbeat(store: Store, node: str) -> None:
    """Resume the kubelet's heartbeat: delete its Lease, or renew it if the store's are renewed."""
    if _SimulatedLeases in store.indexes:
        renew(store, store.get(Node, node))
    elif store.find(Lease, f"{NODE_LEASES}/{node}") is not None:
        store.delete(Lease, f"{NODE_LEASES}/{node}")


def renewed_at(store: Store, node: str) -> float | None:
    """Return the Unix time of the Lease's last renewal; None without one."""
    lease = store.find(Lease, f"{NODE_LEASES}/{node}")
    renewed = None if lease is None else lease.spec.get("renewTime")
    try:
        return timestamps.parse(renewed) if isinstance(renewed, str) else None
    except InputError:
        return None


def last_heartbeat(store: Store, node: str) -> float | None:
    """Return the last renewal time; None without one or for a running simulated kubelet."""
    lease = store.find(Lease, f"{NODE_LEASES}/{node}")
    if lease is not None and _simulated(store).get(node, "") == lease.spec.get("renewTime"):
        return None
    return renewed_at(store, node)
