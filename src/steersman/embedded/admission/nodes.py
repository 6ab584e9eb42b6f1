# SPDX-License-Identifier: Apache-2.0
"""Defaults of nodes and namespaces."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Namespace, Node, Object, timestamps
from steersman.embedded.admission.amounts import rounded_up
from steersman.embedded.errors import NamespaceTerminating
from steersman.embedded.finalizers import KUBERNETES, TERMINATING
from steersman.embedded.store import ClusterView

NAME_LABEL: Final = "kubernetes.io/metadata.name"
ACTIVE: Final = "Active"

_replace = msgspec.structs.replace


def admit_node(node: Node, _: Node | None, __: ClusterView) -> Node:
    """A node that does not say what of its capacity is allocatable offers all of it."""
    status = node.status
    capacity = rounded_up(status.capacity)
    allocatable = rounded_up(status.allocatable) or capacity
    if capacity is status.capacity and allocatable is status.allocatable:
        return node
    return _replace(node, status=_replace(status, capacity=capacity, allocatable=allocatable))


def admit_namespace(namespace: Namespace, old: Namespace | None, _: ClusterView) -> Namespace:
    """Every namespace has its name as a label, so that selectors can name it, and is emptied before it goes."""
    meta, status = namespace.metadata, namespace.status
    if old is None and KUBERNETES not in namespace.spec.finalizers:
        finalizers = (*namespace.spec.finalizers, KUBERNETES)
        namespace = _replace(namespace, spec=_replace(namespace.spec, finalizers=finalizers))
    if meta.labels.get(NAME_LABEL) != meta.name:
        meta = _replace(meta, labels={**meta.labels, NAME_LABEL: meta.name})
    if not status.phase:
        status = _replace(status, phase=ACTIVE)
    return _replace(namespace, metadata=meta, status=status)


def check_namespace(obj: Object, view: ClusterView) -> None:
    """Nothing may be created in a namespace that is being emptied; raises `NamespaceTerminating`.

    What has been created before the namespace was deleted comes from a dump and is let in.
    """
    namespace = view.find(Namespace, obj.metadata.namespace)
    if namespace is None or namespace.status.phase != TERMINATING:
        return
    created, deleted = obj.metadata.creation_timestamp, namespace.metadata.deletion_timestamp
    if created and deleted and timestamps.parse(created) >= timestamps.parse(deleted):
        why = f"unable to create new content in namespace {obj.metadata.namespace} because it is being terminated"
        raise NamespaceTerminating(type(obj), obj.metadata.name, why)
