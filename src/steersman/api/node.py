# SPDX-License-Identifier: Apache-2.0
"""Nodes and namespaces."""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Condition, Int64, Object, ResourceList, Struct
from steersman.api.scheduling import Taint


class NodeSpec(Struct, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""


class ContainerImage(Struct, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeAddress(Struct, frozen=True):
    type: str = ""
    address: str = ""


class AttachedVolume(Struct, frozen=True):
    name: str = ""
    device_path: str = ""


class NodeStatus(Struct, frozen=True):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Object, frozen=True):
    KIND: ClassVar[str] = "Node"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "nodes"
    NAMESPACED: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NamespaceSpec(Struct, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(Struct, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(Object, frozen=True):
    KIND: ClassVar[str] = "Namespace"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "namespaces"
    NAMESPACED: ClassVar[bool] = False

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()
