# SPDX-License-Identifier: Apache-2.0
"""Quotas, limit ranges and runtime classes, which limit or change pod requests at admission."""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Object, ResourceList, Struct
from steersman.api.scheduling import Toleration


class ScopedSelectorRequirement(Struct, frozen=True):
    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Struct, frozen=True):
    match_expressions: tuple[ScopedSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Struct, frozen=True):
    hard: ResourceList = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct, frozen=True):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(Object, frozen=True):
    KIND: ClassVar[str] = "ResourceQuota"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "resourcequotas"

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class LimitRangeItem(Struct, frozen=True):
    """Limits of a `Container`, `Pod` or `PersistentVolumeClaim`; only containers have defaults."""

    type: str = ""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(Struct, frozen=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Object, frozen=True):
    KIND: ClassVar[str] = "LimitRange"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "limitranges"

    spec: LimitRangeSpec = LimitRangeSpec()


class RuntimeClassOverhead(Struct, frozen=True):
    pod_fixed: ResourceList = {}


class RuntimeClassScheduling(Struct, frozen=True):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Object, frozen=True):
    KIND: ClassVar[str] = "RuntimeClass"
    API_VERSION: ClassVar[str] = "node.k8s.io/v1"
    PLURAL: ClassVar[str] = "runtimeclasses"
    NAMESPACED: ClassVar[bool] = False

    handler: str = ""
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None
