# SPDX-License-Identifier: Apache-2.0
"""Defaults of nodes and namespaces."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Namespace, Node, Object, timestamps
from steersman.api.defaults import NAMESPACE_LABEL
from steersman.cluster.store.admission.amounts import rounded_up
from steersman.cluster.store.errors import NamespaceTerminating
from steersman.cluster.store.finalizers import KUBERNETES, TERMINATING
from steersman.cluster.store.store import ClusterView

ACTIVE: Final = "Active"

_replace = msgspec.structs.replace


def admit_node(node: Node, _: Node | None, __: ClusterView) -> Node:
    """Return the node with rounded amounts; allocatable defaults to the capacity."""
    status = node.status
    capacity = rounded_up(status.capacity)
    allocatable = rounded_up(status.allocatable) or capacity
    if capacity is status.capacity and allocatable is status.allocatable:
        return node
    return _replace(node, status=_replace(status, capacity=capacity, allocatable=allocatable))


def admit_namespace(namespace: Namespace, old: Namespace | None, _: ClusterView) -> Namespace:
    """Return the namespace with its name label and, if new, its finalizer (`kubernetes`)."""
    meta, status = namespace.metadata, namespace.status
    if old is None and KUBERNETES not in namespace.spec.finalizers:
        finalizers = (*namespace.spec.finalizers, KUBERNETES)
        namespace = _replace(namespace, spec=_replace(namespace.spec, finalizers=finalizers))
    if meta.labels.get(NAMESPACE_LABEL) != meta.name:
        meta = _replace(meta, labels={**meta.labels, NAMESPACE_LABEL: meta.name})
    if not status.phase:
        status = _replace(status, phase=ACTIVE)
    return _replace(namespace, metadata=meta, status=status)


def check_namespace(obj: Object, view: ClusterView) -> None:
    """Raise `NamespaceTerminating` if the object is new and its namespace is terminating.

    Objects created before the deletion of the namespace are from a dump and are admitted.
    """
    namespace = view.find(Namespace, obj.metadata.namespace)
    if namespace is None or namespace.status.phase != TERMINATING:
        return
    created, deleted = obj.metadata.creation_timestamp, namespace.metadata.deletion_timestamp
    if created and deleted and timestamps.parse(created) >= timestamps.parse(deleted):
        why = f"unable to create new content in namespace {obj.metadata.namespace} because it is being terminated"
        raise NamespaceTerminating(type(obj), obj.metadata.name, why)
