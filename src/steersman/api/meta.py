# SPDX-License-Identifier: Apache-2.0
"""Common parts of API objects: the Struct base with Kubernetes' field names, metadata, label
selectors.

All other modules of this package build on these. Objects are frozen: a change creates a new object
(`msgspec.structs.replace`), and objects can be shared without copying.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from steersman.base.graph_copy import shared_by_copies

Quantity: TypeAlias = str | int | float
"""Resource quantity as in JSON; `steersman.api.quantity` computes its value."""

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

IntOrPercent: TypeAlias = Int32 | str
"""A number, or a percentage such as "25%"."""

ResourceList: TypeAlias = dict[str, Quantity]

_MAX_VERSION: Final = 20
"""Digits of the maximum 64-bit integer."""
_ACRONYMS: Final = {"id": "ID", "ip": "IP", "ips": "IPs", "uri": "URI"}


def wire_name(attribute: str) -> str:
    """Return the JSON name of an attribute: `host_ip` → `hostIP`, `node_name` → `nodeName`."""
    first, *rest = attribute.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


# API objects have no reference cycles, so the garbage collector need not track them (`gc=False`).
class Struct(msgspec.Struct, frozen=True, rename=wire_name, omit_defaults=True, gc=False):
    """Base of all parts of API objects; unknown JSON fields are ignored."""


class OwnerReference(Struct, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct, frozen=True):
    """Object metadata. Timestamps are RFC 3339 texts, see `steersman.api.timestamps`, or None."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    generate_name: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None


@shared_by_copies
class Object(Struct, frozen=True):
    """Base of all kinds."""

    KIND: ClassVar[str]
    API_VERSION: ClassVar[str]
    PLURAL: ClassVar[str]
    NAMESPACED: ClassVar[bool] = True

    metadata: ObjectMeta = ObjectMeta()


class LabelSelectorRequirement(Struct, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Struct, frozen=True):
    """Label selector as in an object; `steersman.api.selectors.from_label_selector` compiles it."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Struct, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class Condition(Struct, frozen=True):
    """Entry of `status.conditions`, for all kinds."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_transition_time: str | None = None


def key(obj: Object) -> str:
    """Return `namespace/name`, or the name of a cluster-scoped object."""
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}" if obj.NAMESPACED else meta.name


def reference_to(obj: Object) -> ObjectReference:
    """Return a reference to the object in its current version."""
    meta = obj.metadata
    return ObjectReference(obj.KIND, meta.namespace, meta.name, meta.uid, obj.API_VERSION, meta.resource_version)


def kind_of(obj: Object) -> str:
    """Return the kind: "Pod", "Node"."""
    return obj.KIND


def version_number(resource_version: str) -> int:
    """Return a resource version as a number; 0 if it is not a 64-bit number."""
    is_number = len(resource_version) <= _MAX_VERSION and resource_version.isdecimal()
    return int(resource_version) if is_number else 0
