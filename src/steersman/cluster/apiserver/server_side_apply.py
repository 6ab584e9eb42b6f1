# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: merges the fields applied by a manager into the live document, with conflict
detection.

Fields that the manager applied before and now omits are removed unless another manager owns them
too. A different value for another manager's field is a conflict, except with `force`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.api import FieldSchema, codec, is_same
from steersman.base import InputError
from steersman.cluster.apiserver.field_sets import FieldSet, Path, path_text, with_named_fields
from steersman.cluster.apiserver.managed_fields import (
    BEFORE_FIRST_APPLY,
    NEVER_MANAGED,
    NO_FIELDS,
    Managed,
    Manager,
    Managers,
    ignored_fields,
    managers_of,
    taken_from_all,
    updated,
    with_managers,
    without_ignored,
    without_managed_fields,
)
from steersman.cluster.apiserver.typed_documents import NotAsDeclared, compared, field_set, merged, without
from steersman.cluster.store.documents import Document
from steersman.cluster.store.errors import TOO_DEEP, BadRequest, StatusCause, StatusError

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation in which client-side `kubectl apply` saves the applied configuration."""
KUBECTL: Final = "kubectl"
MAX_ANNOTATION_BYTES: Final = 256 * 1024


class UndeclaredFields(StatusError):
    """The applied document does not match its schema; like upstream, 500 without a reason."""

    reason = ""


class ApplyConflict(StatusError):
    """The apply would change fields of other managers; `conflicts` maps these to the fields."""

    code = 409
    reason = "Conflict"

    def __init__(self, conflicts: dict[Manager, list[Path]]) -> None:
        self.conflicts = conflicts
        causes = [
            StatusCause("FieldManagerConflict", f"conflict with {_printed(manager)}", path_text(path))
            for manager, paths in conflicts.items()
            for path in paths
        ]
        super().__init__(_conflict_message(conflicts), causes)


def apply(
    live: Document | None,
    applied: Document,
    manager: str,
    force: bool,
    now: str,
    schema: FieldSchema | None,
    *,
    subresource: str = "",
    has_status: bool = True,
) -> Document:
    """Return the document after the apply, with managed fields; `live` is None to create it. Raises
    `ApplyConflict` and `BadRequest`. `has_status` is whether the kind has a status subresource."""
    request = _Apply(live, applied, manager, now, schema, subresource, has_status)
    try:
        result = request.carried_out(force)
    except ApplyConflict as refusal:
        if manager != KUBECTL or live is None:
            raise
        remaining = _not_allowed(refusal.conflicts, _fields_of_client_side_apply(live, schema))
        if remaining:
            raise ApplyConflict(remaining) from None
        result = request.carried_out(force=True)
    return _with_last_applied(result, applied) if manager == KUBECTL else result


class _Apply:
    """An apply request, which may be retried with force."""

    def __init__(
        self,
        live: Document | None,
        applied: Document,
        manager: str,
        now: str,
        schema: FieldSchema | None,
        subresource: str,
        has_status: bool,
    ) -> None:
        if (applied.get("metadata") or {}).get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        self._applied = applied
        self._version = str(applied.get("apiVersion", ""))
        self._manager = Manager(manager, "Apply", "", subresource)
        self._now = now
        self._schema = schema
        self._ignored = ignored_fields(subresource, has_status)
        self._managers, self._live = self._before(live, has_status)

    def _before(self, live: Document | None, has_status: bool) -> tuple[Managers, Document]:
        """Return the live entries; without any, an entry "before-first-apply" owns all fields."""
        if live is None:
            return {}, {}
        try:
            managers = managers_of(live)
        except ValueError as error:
            raise BadRequest(f"failed to decode managed fields: {error}") from error
        plain = without_managed_fields(live)
        if not managers:
            tracked = updated(
                None, plain, BEFORE_FIRST_APPLY, "Update", "", self._now, self._schema, has_status=has_status
            )
            managers = managers_of(tracked)
        return managers, plain

    def carried_out(self, force: bool) -> Document:
        try:
            return self._result(force)
        except NotAsDeclared as error:
            raise UndeclaredFields(f"failed to create typed patch object ({_named(self._applied)}): {error}") from error
        except RecursionError:
            raise BadRequest(TOO_DEEP) from None

    def _result(self, force: bool) -> Document:
        fields = without_ignored(field_set(self._applied, self._schema), self._ignored)
        last = self._managers.get(self._manager)
        managers = {**self._managers, self._manager: Managed(fields, self._version, "" if last is None else last.time)}
        document = merged(self._live, self._applied, self._schema)
        if last is not None:
            document = self._pruned(document, managers, last.fields)
        managers = self._after_changes(document, managers, force)
        own = managers.get(self._manager)
        if own is not None:
            is_changed = not is_same(document, self._live)
            time = self._now if is_changed or not own.time else own.time
            managers[self._manager] = Managed(own.fields - NEVER_MANAGED, self._version, time)
            if not managers[self._manager].fields:
                del managers[self._manager]
        return with_managers(_without_nulls(document), managers)

    def _pruned(self, document: Document, managers: Managers, last: FieldSet) -> Document:
        """Remove the fields that only this manager had applied and that it now omits."""
        schema = self._schema
        before = self._stored_fields(document)
        owned_last = with_named_fields(last, schema)
        owned_now = with_named_fields(frozenset().union(*(managed.fields for managed in managers.values())), schema)
        pruned = without(document, owned_last, schema)
        after = self._stored_fields(pruned)
        pruned = without(document, before - (after | owned_now), schema)
        after = self._stored_fields(pruned)
        return without(document, (before - after) & owned_last, schema)

    def _stored_fields(self, document: Document) -> FieldSet:
        return with_named_fields(field_set(document, self._schema, is_stored=True), self._schema)

    def _after_changes(self, document: Document, managers: Managers, force: bool) -> Managers:
        """Take changed fields from the other managers, or raise `ApplyConflict`."""
        comparison = compared(self._live, document, self._schema)
        written = without_ignored(comparison.written, self._ignored)
        others = {manager: managed for manager, managed in managers.items() if manager != self._manager}
        conflicts = {
            manager: sorted(managed.fields & written)
            for manager, managed in sorted(others.items())
            if managed.fields & written
        }
        if conflicts and not force:
            raise ApplyConflict(conflicts)
        after = taken_from_all(others, written | without_ignored(comparison.removed, self._ignored))
        own = managers[self._manager]
        return {**after, self._manager: own} if own.fields else after


# -- messages --------------------------------------------------------------------------------------


def _conflict_message(conflicts: dict[Manager, list[Path]]) -> str:
    count = sum(map(len, conflicts.values()))
    if count == 1:
        ((manager, (path,)),) = conflicts.items()
        return f"Apply failed with 1 conflict: conflict with {_printed(manager)}: {path_text(path)}"
    lines: list[str] = []
    for manager, paths in conflicts.items():
        lines.append(f"conflicts with {_printed(manager)}:")
        lines += (f"- {path_text(path)}" for path in paths)
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)


def _printed(manager: Manager) -> str:
    text = f'"{manager.name}"'
    if manager.subresource:
        text += f' with subresource "{manager.subresource}"'
    return f"{text} using {manager.api_version}" if manager.operation == "Update" else text


def _named(document: Document) -> str:
    metadata = document.get("metadata") or {}
    group_version = document.get("apiVersion", "")
    group_version = group_version if "/" in group_version else f"/{group_version}"
    return (
        f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {group_version}, Kind={document.get('kind', '')}"
    )


# -- what `kubectl apply` without `--server-side` left behind --------------------------------------


def _fields_of_client_side_apply(live: Document, schema: FieldSchema | None) -> FieldSet:
    """Return the fields that client-side apply has set and that are unchanged since: `kubectl apply
    --server-side` may take these without a conflict."""
    text = _annotations(live).get(LAST_APPLIED)
    if not isinstance(text, str) or not text:
        return NO_FIELDS
    try:
        applied = codec.plain(text.encode())
        if not isinstance(applied, dict) or applied.get("apiVersion") != live.get("apiVersion"):
            return NO_FIELDS
        comparison = compared(applied, without_managed_fields(live), schema)
        return field_set(applied, schema, is_stored=True) - comparison.modified - comparison.added - comparison.removed
    except (InputError, NotAsDeclared):
        return NO_FIELDS


def _not_allowed(conflicts: dict[Manager, list[Path]], allowed: FieldSet) -> dict[Manager, list[Path]]:
    left = {manager: [path for path in paths if path not in allowed] for manager, paths in conflicts.items()}
    return {manager: paths for manager, paths in left.items() if paths}


def _with_last_applied(document: Document, applied: Document) -> Document:
    """Update any last-applied annotation, so that users can return to client-side apply."""
    annotations = _annotations(document)
    if not annotations.get(LAST_APPLIED):
        return document
    metadata = applied.get("metadata") or {}
    own = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != LAST_APPLIED}
    plain = {**applied, "metadata": {**metadata, "annotations": own}} if "annotations" in metadata else applied
    text = msgspec.json.encode(plain, order="sorted").decode() + "\n"
    changed = {**annotations, LAST_APPLIED: text}
    if sum(len(name) + len(str(value)) for name, value in changed.items()) > MAX_ANNOTATION_BYTES:
        del changed[LAST_APPLIED]
    return {**document, "metadata": {**document["metadata"], "annotations": changed}}


def _annotations(document: Document) -> dict[str, Any]:
    annotations = (document.get("metadata") or {}).get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def _without_nulls(document: Document) -> Document:
    plain: Document = codec.without_nulls(document)
    return plain
