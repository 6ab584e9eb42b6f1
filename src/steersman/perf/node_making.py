"""Nodes of `createNodes`: from a template or the usual node, prepared as the operation says.

In comes the operation, out come nodes that `running` creates, and the objects that belong to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from uuid import UUID

import msgspec

from steersman import api
from steersman.perf.operations import CreateNodes, NodeAllocatable
from steersman.perf.templates import Draft, Templates, named, of_kind

HOSTNAME: Final = "kubernetes.io/hostname"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_AMOUNTS: Final[api.ResourceList] = {"pods": "110", "cpu": "4", "memory": "32Gi"}
_USUAL: Final = api.Node(
    status=api.NodeStatus(
        capacity=_AMOUNTS, allocatable=_AMOUNTS, conditions=(api.Condition(type="Ready", status="True"),)
    )
)

_replace = msgspec.structs.replace


def nodes(operation: CreateNodes, prefix: str, templates: Templates) -> Iterator[tuple[Draft, ...]]:
    """Every node, each with its CSINode if it has one. `prefix` begins the names of usual nodes."""
    file = operation.node_template_path
    template = None if file is None else templates(file)
    for index in range(operation.count):
        draft = Draft(_USUAL) if template is None else template.draft(index, operation.count)
        node = of_kind(api.Node, draft, file)
        node = _named(node, prefix if template is None else node.metadata.generate_name, index)
        node = _labelled(node, operation, index)
        allocatable = operation.node_allocatable_strategy
        if allocatable is None:
            yield (Draft(node, draft.document),)
        else:
            csi_node = _csi_node(node.metadata.name, allocatable)
            yield Draft(_with_allocatable(node, allocatable), draft.document), Draft(csi_node)


def _named(node: api.Node, prefix: str, index: int) -> api.Node:
    """Nodes carry their names as a label, so that the name has to be known before the server could make one."""
    name = node.metadata.name or f"{prefix}{index:05d}"
    return named(node, name=name, labels={**node.metadata.labels, HOSTNAME: name})


def _labelled(node: api.Node, operation: CreateNodes, index: int) -> api.Node:
    labels = dict(node.metadata.labels)
    if (given := operation.label_node_prepare_strategy) is not None:
        labels[given.label_key] = given.label_values[index % len(given.label_values)]
    if (unique := operation.unique_node_label_strategy) is not None:
        labels[unique.label_key] = str(UUID(int=index, version=4))
    return named(node, labels=labels)


def _with_allocatable(node: api.Node, strategy: NodeAllocatable) -> api.Node:
    offered = node.status.allocatable or node.status.capacity
    return _replace(node, status=_replace(node.status, allocatable={**offered, **strategy.node_allocatable}))


def _csi_node(name: str, strategy: NodeAllocatable) -> api.CSINode:
    drivers = tuple(
        api.CSINodeDriver(name=driver, node_id=name, allocatable=api.VolumeNodeResources(count=resources.count))
        for driver, resources in strategy.csi_node_allocatable.items()
    )
    annotations = {MIGRATED_PLUGINS: ",".join(strategy.migrated_plugins)}
    return api.CSINode(
        metadata=api.ObjectMeta(name=name, annotations=annotations), spec=api.CSINodeSpec(drivers=drivers)
    )
