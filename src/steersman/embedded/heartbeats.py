# SPDX-License-Identifier: Apache-2.0
"""Heartbeats of kubelets: the Lease of a node in the namespace `kube-node-lease`, by whose renewal others see that it lives.

Simulated kubelets need not renew thousands of leases every ten seconds: a node without a Lease is taken to be alive. One that
falls silent leaves a Lease that is not renewed, and takes it away when it is back. Kubelets that renew theirs over the API are
watched like those of a real cluster; where controllers of others watch, all are renewed (`renew`).
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import CustomObject, Node, ObjectMeta, OwnerReference, custom_kind, timestamps
from steersman.embedded.store import Store
from steersman.errors import InputError

NODE_LEASES: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
Lease: Final[type[CustomObject]] = custom_kind("coordination.k8s.io/v1", "Lease", "leases")


def fall_silent(store: Store, node: str) -> None:
    """The kubelet of the node gives no sign of life from now on."""
    _write_lease(store, ObjectMeta(name=node, namespace=NODE_LEASES))


def renew(store: Store, node: Node) -> None:
    """The kubelet of the node lives; its Lease goes with the node."""
    owner = OwnerReference(api_version=node.API_VERSION, kind=node.KIND, name=node.metadata.name, uid=node.metadata.uid)
    _write_lease(store, ObjectMeta(name=node.metadata.name, namespace=NODE_LEASES, owner_references=(owner,)))


def _write_lease(store: Store, meta: ObjectMeta) -> None:
    now = timestamps.render_micro(store.clock.now())
    spec: dict[str, Any] = {"holderIdentity": meta.name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
    found = store.find(Lease, f"{NODE_LEASES}/{meta.name}")
    if found is None:
        store.create(Lease(metadata=meta, spec=spec))
    else:
        store.update(Lease(metadata=found.metadata, spec={**found.spec, **spec}))


def resume_heartbeat(store: Store, node: str) -> None:
    """The kubelet of the node is back."""
    if store.find(Lease, f"{NODE_LEASES}/{node}") is not None:
        store.delete(Lease, f"{NODE_LEASES}/{node}")


def last_heartbeat(store: Store, node: str) -> float | None:
    """When the node's Lease was renewed last, as Unix time; None without a Lease that says so."""
    lease = store.find(Lease, f"{NODE_LEASES}/{node}")
    renewed = None if lease is None else lease.spec.get("renewTime")
    try:
        return timestamps.parse(renewed) if isinstance(renewed, str) else None
    except InputError:
        return None
