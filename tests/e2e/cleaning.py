# SPDX-License-Identifier: Apache-2.0
"""Removes what a test left on a shared control plane."""

from __future__ import annotations

from typing import Final

from steersman.testing.control_plane import KubeClient

# Pods first: what they use is protected while they exist.
KINDS: Final = (
    "Pod",
    "PodGroup",
    "CompositePodGroup",
    "Workload",
    "Node",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "ResourceClaim",
    "ResourceSlice",
    "DeviceClass",
    "DeviceTaintRule",
    "PodDisruptionBudget",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "Lease",
    "events.k8s.io/Event",
)
OWN_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
OWN_PRIORITIES: Final = "system-"


def empty(admin: KubeClient) -> None:
    """Deletes the objects that tests make; finalizers go first, since no controller would take them away."""
    for kind in filter(admin.serves, KINDS):
        found = admin.list(kind)
        if not found:
            continue
        for item in found:
            meta = item["metadata"]
            if meta.get("finalizers"):
                admin.patch(kind, meta["name"], {"metadata": {"finalizers": None}}, meta.get("namespace", ""))
        admin.delete_all(kind)
    for item in admin.list("PriorityClass"):
        if not item["metadata"]["name"].startswith(OWN_PRIORITIES):
            admin.delete("PriorityClass", item["metadata"]["name"])
    for item in admin.list("Namespace"):
        if item["metadata"]["name"] not in OWN_NAMESPACES:
            _delete_namespace(admin, item["metadata"]["name"])


def _delete_namespace(admin: KubeClient, name: str) -> None:
    admin.delete("Namespace", name)
    namespace = admin.get("Namespace", name)
    namespace["spec"]["finalizers"] = []
    admin.replace(namespace, "finalize")
