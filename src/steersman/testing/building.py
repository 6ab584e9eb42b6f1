# SPDX-License-Identifier: Apache-2.0
"""The base class of builders: chains of methods that return new builders, and deterministic uids.

web = make_pod("web-0").label("app", "web")
first, second = web.node("n1"), web.name("web-1").node("n2")      # `web` is unchanged
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Self, TypeVar

import msgspec

from steersman import api

T = TypeVar("T", bound=api.Object)


class Builder(Generic[T]):
    """Base class of builders. Every method returns a new builder and leaves this one unchanged."""

    __slots__ = ("_object",)

    def __init__(self, initial: T) -> None:
        self._object = initial

    def obj(self) -> T:
        """Return the API object. Without an explicit uid it has `uid-pod-default-web-0`, so that
        equal chains give equal objects."""
        meta = self._object.metadata
        owners = tuple(_identified(owner, meta.namespace) for owner in meta.owner_references)
        return self._meta(uid=meta.uid or uid_of(self._object), owner_references=owners)._object

    def name(self, name: str) -> Self:
        return self._meta(name=name)

    def namespace(self, namespace: str) -> Self:
        return self._meta(namespace=namespace)

    def uid(self, uid: str) -> Self:
        return self._meta(uid=uid)

    def resource_version(self, version: str | int) -> Self:
        return self._meta(resource_version=str(version))

    def created(self, timestamp: str) -> Self:
        return self._meta(creation_timestamp=timestamp)

    def terminating(self, since: str = "2030-01-01T00:00:00Z") -> Self:
        return self._meta(deletion_timestamp=since)

    def label(self, key: str, value: str) -> Self:
        return self.labels({key: value})

    def labels(self, labels: Mapping[str, str]) -> Self:
        """Add labels to the existing ones."""
        return self._meta(labels={**self._object.metadata.labels, **labels})

    def annotation(self, key: str, value: str) -> Self:
        return self._meta(annotations={**self._object.metadata.annotations, key: value})

    def owner(self, kind: str, name: str, *, uid: str = "", controller: bool = True) -> Self:
        """Set the controller reference, with the default uid of the owner's builder."""
        known = api.KINDS.get(kind)
        added = api.OwnerReference(
            api_version=known.API_VERSION if known else "", kind=kind, name=name, uid=uid, controller=controller
        )
        return self._meta(owner_references=(*self._object.metadata.owner_references, added))

    def _meta(self, **fields: object) -> Self:
        return self._with(metadata=msgspec.structs.replace(self._object.metadata, **fields))

    def _spec(self, **fields: object) -> Self:
        return self._part("spec", fields)

    def _status(self, **fields: object) -> Self:
        return self._part("status", fields)

    def _part(self, name: str, fields: Mapping[str, object]) -> Self:
        return self._with(**{name: msgspec.structs.replace(getattr(self._object, name), **fields)})

    def _with(self, **fields: object) -> Self:
        return type(self)(msgspec.structs.replace(self._object, **fields))


def uid_of(obj: api.Object) -> str:
    meta = obj.metadata
    return deterministic_uid(obj.KIND, meta.namespace if obj.NAMESPACED else "", meta.name)


def deterministic_uid(kind: str, namespace: str, name: str) -> str:
    return "-".join(part for part in ("uid", kind.lower(), namespace, name) if part)


def _identified(owner: api.OwnerReference, namespace: str) -> api.OwnerReference:
    return msgspec.structs.replace(owner, uid=owner.uid or deterministic_uid(owner.kind, namespace, owner.name))


def named(kind: type[T], name: str) -> T:
    """Return an object of this kind with default values, in the default namespace if the kind is
    namespaced."""
    namespace = api.DEFAULT_NAMESPACE if kind.NAMESPACED else ""
    return kind(metadata=api.ObjectMeta(name=name, namespace=namespace))


def resource_list(amounts: Mapping[str, api.Quantity]) -> api.ResourceList:
    """Convert keyword arguments to resource names: `ephemeral_storage` becomes `ephemeral-storage`;
    qualified names are unchanged."""
    return {name if "/" in name else name.replace("_", "-"): amount for name, amount in amounts.items()}
