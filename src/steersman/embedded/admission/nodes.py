# SPDX-License-Identifier: Apache-2.0
"""Defaults of nodes and namespaces."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Namespace, Node
from steersman.embedded.admission.amounts import rounded_up
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


def admit_namespace(namespace: Namespace, _: Namespace | None, __: ClusterView) -> Namespace:
    """Every namespace has its name as a label, so that selectors can name it."""
    meta, status = namespace.metadata, namespace.status
    if meta.labels.get(NAME_LABEL) != meta.name:
        meta = _replace(meta, labels={**meta.labels, NAME_LABEL: meta.name})
    if not status.phase:
        status = _replace(status, phase=ACTIVE)
    return _replace(namespace, metadata=meta, status=status)
