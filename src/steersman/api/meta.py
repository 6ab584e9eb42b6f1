# SPDX-License-Identifier: Apache-2.0
"""The parts that all API objects share: the Struct base with Kubernetes' field names, object metadata, label selectors.

Every other module of this package builds on these. Objects are frozen: a change is a new object
(`msgspec.structs.replace`), and an object that was read may be kept and shared without copying.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from steersman.graph_copy import shared_by_copies

Quantity: TypeAlias = str | int | float
"""A resource quantity as it stands in the JSON; `steersman.api.quantity` gives it a value."""

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

ResourceList: TypeAlias = dict[str, Quantity]

_LONGEST_VERSION: Final = 20
"""Digits of the largest integer of 64 bits."""
_ACRONYMS: Final = {"id": "ID", "ip": "IP", "ips": "IPs", "uri": "URI"}


def wire_name(attribute: str) -> str:
    """The JSON name of an attribute: `host_ip` → `hostIP`, `node_name` → `nodeName`."""
    first, *rest = attribute.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


# An API object is a tree, never part of a reference cycle: the garbage collector need not look at it (`gc=False`).
class Struct(msgspec.Struct, frozen=True, rename=wire_name, omit_defaults=True, gc=False):
    """Base of every part of an API object; unknown fields of the JSON are ignored."""


class OwnerReference(Struct, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct, frozen=True):
    """Timestamps are RFC 3339 texts, see `steersman.api.timestamps`; None means absent."""

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
    """Base of the kinds that the API server stores."""

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
    """A label selector as written in an object; `steersman.api.selectors.from_label_selector` compiles it."""

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
    """One entry of `status.conditions`, of pods, nodes, budgets and devices alike."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_transition_time: str | None = None


def key(obj: Object) -> str:
    """`namespace/name`, or just the name of a cluster-scoped object."""
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}" if obj.NAMESPACED else meta.name


def kind_of(obj: Object) -> str:
    """The kind: "Pod", "Node"."""
    return obj.KIND


def version_number(resource_version: str) -> int:
    """The place of a resource version among others; 0 for one that is no number of 64 bits."""
    is_number = len(resource_version) <= _LONGEST_VERSION and resource_version.isdecimal()
    return int(resource_version) if is_number else 0
