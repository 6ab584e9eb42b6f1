# SPDX-License-Identifier: Apache-2.0
"""Field managers of objects: `metadata.managedFields`, maintained as by kube-apiserver.

`updated` is called for every create, update and patch, `server_side_apply.apply` for every apply.
An entry is identified by manager, operation and subresource; a manager that changes a field takes
it from all others. The oldest update entries beyond `MAX_UPDATERS` are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from steersman.api import FieldSchema, timestamps
from steersman.base import InputError
from steersman.cluster.apiserver.field_sets import NO_FIELDS, FieldSet, from_fields_v1, to_fields_v1
from steersman.cluster.apiserver.typed_documents import FieldComparison, NotAsDeclared, compared
from steersman.cluster.store.documents import Document

Operation: TypeAlias = Literal["Apply", "Update"]

MAX_UPDATERS: Final = 10
MERGED_MANAGERS: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"
UNKNOWN_MANAGER: Final = "unknown"

_META: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
)
NEVER_MANAGED: Final[FieldSet] = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        ("f:metadata", "f:resourceVersion"),
        *(("f:metadata", f"f:{name}") for name in _META),
    }
)
"""Fields that identify an object or are set only by the server."""
_IN_EVERY_OBJECT: Final = frozenset(
    {"metadata", "spec", "status", "template", "jobTemplate", "strategy", "updateStrategy", "resources"}
)
"""Parts that new objects of a built-in kind already contain, so no manager owns them."""


class Manager(NamedTuple):
    """Identity of an entry of `managedFields`, unique within an object."""

    name: str
    operation: Operation
    #: Part of the identity for updates only; "" for applies.
    api_version: str
    subresource: str = ""


class Managed(msgspec.Struct, frozen=True):
    """Fields of a manager, and the time of its last write ("" if unknown)."""

    fields: FieldSet
    api_version: str
    time: str = ""


Managers: TypeAlias = dict[Manager, Managed]


def updated(
    old: Document | None,
    new: Document,
    manager: str,
    operation: Operation,
    subresource: str,
    now: str,
    schema: FieldSchema | None,
    *,
    has_status: bool = True,
) -> Document:
    """Return `new` with `metadata.managedFields` after a create (`old` is None), update or patch.

    If `has_status` (the kind has a status subresource), only writes to it track `status`.
    """
    managers = _managers_before(old, new, subresource)
    plain = without_managed_fields(new)
    if not managers and old is not None:
        return plain  # the first apply adds managed fields
    try:
        before = _empty(new, schema) if old is None else without_managed_fields(old)
        comparison = compared(before, plain, schema)
    except (NotAsDeclared, RecursionError):
        return plain
    api_version = str(new.get("apiVersion", ""))
    identity = Manager(manager or UNKNOWN_MANAGER, operation, api_version, subresource)
    ignored = ignored_fields(subresource, has_status)
    return with_managers(plain, capped(_after_update(managers, identity, comparison, ignored, now)))


def _after_update(
    managers: Managers, identity: Manager, comparison: FieldComparison, ignored: Iterable[str], now: str
) -> Managers:
    written = without_ignored(comparison.written, ignored) - NEVER_MANAGED
    removed = without_ignored(comparison.removed, ignored)
    after = taken_from_all(managers, without_ignored(comparison.written, ignored) | removed)
    if written:
        before = after.get(identity)
        fields = written if before is None else written | before.fields
        after[identity] = Managed(fields, identity.api_version, now)
    return after


def taken_from_all(managers: Managers, fields: FieldSet) -> Managers:
    """Remove the fields from all managers, and managers without fields."""
    left = {
        manager: Managed(managed.fields - fields, managed.api_version, managed.time)
        for manager, managed in managers.items()
    }
    return {manager: managed for manager, managed in left.items() if managed.fields}


def ignored_fields(subresource: str, has_status: bool) -> tuple[str, ...]:
    """Return the top-level fields that a request ignores: `spec` for the status, else `status` if
    it is a subresource."""
    if subresource == "status":
        return ("spec",)
    return ("status",) if has_status and not subresource else ()


def without_ignored(fields: FieldSet, ignored: Iterable[str]) -> FieldSet:
    steps = {f"f:{name}" for name in ignored}
    return frozenset(path for path in fields if not path or path[0] not in steps) - {()} if steps else fields - {()}


def capped(managers: Managers) -> Managers:
    """Merge the oldest update entries beyond `MAX_UPDATERS`, per API version."""
    updaters = sorted(
        (manager for manager in managers if manager.operation == "Update"),
        key=lambda manager: (managers[manager].time, manager),
    )
    result = dict(managers)
    length = len(updaters)
    first: dict[str, Manager] = {}
    for manager in updaters:
        if length <= MAX_UPDATERS:
            break
        version = manager.api_version
        if version not in first:
            first[version] = manager
            continue
        bucket = Manager(MERGED_MANAGERS, "Update", version)
        held = result.pop(bucket, None) or result.pop(first[version])
        merged = result.pop(manager, held)
        result[bucket] = Managed(held.fields | merged.fields, version, merged.time)
        length -= 1
    return result


# -- on the wire -----------------------------------------------------------------------------------


def managers_of(document: Document) -> Managers:
    """Return the entries of a document. Raises `ValueError` if one is unreadable."""
    entries = (document.get("metadata") or {}).get("managedFields") or []
    return dict(_decoded(entry) for entry in entries)


def _decoded(entry: Any) -> tuple[Manager, Managed]:
    if not isinstance(entry, Mapping) or entry.get("operation") not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    api_version, fields = entry.get("apiVersion"), entry.get("fieldsV1") or {}
    if not api_version or entry.get("fieldsType") != "FieldsV1" or not isinstance(fields, Mapping):
        raise ValueError("an entry of managedFields needs apiVersion, fieldsType FieldsV1 and fieldsV1")
    operation: Operation = entry["operation"]
    identity_version = str(api_version) if operation == "Update" else ""
    manager = Manager(str(entry.get("manager", "")), operation, identity_version, str(entry.get("subresource", "")))
    return manager, Managed(from_fields_v1(fields), str(api_version), _readable_time(entry.get("time")))


def _readable_time(text: Any) -> str:
    try:
        timestamps.parse(text)
    except (InputError, ValueError, TypeError, AttributeError):
        return ""
    return str(text)


def with_managers(document: Document, managers: Managers) -> Document:
    """Return the document with these entries, sorted as upstream."""
    entries = sorted(
        (_encoded(manager, managed) for manager, managed in managers.items()),
        key=lambda entry: (
            entry["operation"],
            entry.get("time", ""),
            entry["manager"],
            entry["apiVersion"],
            entry.get("subresource", ""),
        ),
    )
    if not entries:
        return document
    return {**document, "metadata": {**(document.get("metadata") or {}), "managedFields": entries}}


def _encoded(manager: Manager, managed: Managed) -> Document:
    entry: Document = {"manager": manager.name, "operation": manager.operation, "apiVersion": managed.api_version}
    if managed.time:
        entry["time"] = managed.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_fields_v1(managed.fields)}
    return {**entry, "subresource": manager.subresource} if manager.subresource else entry


def without_managed_fields(document: Document) -> Document:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    return {**document, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _managers_before(old: Document | None, new: Document, subresource: str) -> Managers:
    """Return the managers sent by the client if readable, else the stored ones. An empty list, or a
    list of one empty entry, resets them."""
    sent = (new.get("metadata") or {}).get("managedFields")
    if not subresource and sent is not None:
        if sent in ([], [{}]):
            return {}
        managers = _readable_managers(new)
        if managers:
            return managers
    return {} if old is None else _readable_managers(old)


def _readable_managers(document: Document) -> Managers:
    try:
        return managers_of(document)
    except ValueError:
        return {}


def _empty(document: Document, schema: FieldSchema | None) -> Document:
    """Return the document to compare a create with: for built-in kinds, the parts of every
    object."""
    is_built_in = schema is not None and schema.definition
    return _empty_parts(document) if is_built_in else {}


def _empty_parts(document: Document) -> Document:
    empty: Document = {}
    for name, value in document.items():
        if name in _IN_EVERY_OBJECT and isinstance(value, dict):
            empty[name] = _empty_parts(value)
        elif name == "containers" and isinstance(value, list):
            empty[name] = None
    return empty


__all__ = ["NO_FIELDS", "Managed", "Manager", "Managers", "managers_of", "updated"]
