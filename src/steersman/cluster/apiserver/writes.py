# SPDX-License-Identifier: Apache-2.0
"""Creates, updates, patches and deletes requested by clients of the API server.

    body ─► incoming ─► unknown fields ─► defaults and rules of the kind ─► struct ─► Store (admission) ─► document

Documents are in the version of the requested resource; `conversions` converts from and to the
stored version. Everything is synchronous and atomic: a request succeeds or is rejected as a whole.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.api import FieldSchema, codec, is_same, schema_of
from steersman.api.validation import FieldError
from steersman.base import InputError
from steersman.cluster.apiserver import incoming, pod_security
from steersman.cluster.apiserver.admission_policies import AdmissionPolicies
from steersman.cluster.apiserver.admission_requests import CREATE, DELETE, UPDATE, AdmissionRequest
from steersman.cluster.apiserver.admission_webhooks import AdmissionWebhooks
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.conversions import presented, stored
from steersman.cluster.apiserver.invalid_objects import InvalidObject
from steersman.cluster.apiserver.lists import documents_at
from steersman.cluster.apiserver.managed_fields import updated
from steersman.cluster.apiserver.media_types import UNRECOGNIZED
from steersman.cluster.apiserver.patches import APPLY_PATCH, patched
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.routing import RequestTarget
from steersman.cluster.apiserver.rules import PreparedObject, Rules
from steersman.cluster.apiserver.selection import Selection
from steersman.cluster.apiserver.server_side_apply import apply
from steersman.cluster.apiserver.service_addresses import with_addresses
from steersman.cluster.apiserver.statuses import RequestRefused, bad_request, invalid
from steersman.cluster.apiserver.write_options import IGNORE, DeleteOptions, WriteOptions
from steersman.cluster.store import AlreadyExists, Conflict, Document, NotFound, Store, delete
from steersman.cluster.store.documents import typed
from steersman.cluster.store.errors import BadRequest, Forbidden, ForbiddenAfterValidation, StatusError
from steersman.cluster.store.store import check_uid

CREATED_BY_UPDATE: Final = frozenset({"leases", "events", "endpoints", "limitranges", "services"})
"""Resources that an update creates if they do not exist."""
UPDATED_CONDITIONALLY: Final = frozenset(
    {
        "apiservices", "csidrivers", "csinodes", "csistoragecapacities", "customresourcedefinitions", "leases",
        "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
        "poddisruptionbudgets", "runtimeclasses", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations", "volumeattachments",
    }
)  # fmt: skip
"""Resources whose updates require a `resourceVersion`; custom resources do too."""
_ADMITTED_FIRST: Final = (api.Pod, api.PodGroup, api.CompositePodGroup)
"""Kinds whose mutating admission may reject a new object."""
GENERATED_TRIES: Final = 8
T = TypeVar("T")


class Writer:
    """Writer to a store. `rules` validate objects and complete their documents.

    A request with a large body may run in its own thread so that decoding and validation do not
    block the event loop; it then writes in the loop's thread (`writing_in`).
    """

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        rules: Rules,
        policies: AdmissionPolicies,
        webhooks: AdmissionWebhooks,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._rules = rules
        self._policies = policies
        self._webhooks = webhooks
        self._thread = threading.local()

    @contextmanager
    def writing_in(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Redirect writes of this thread to the thread of an event loop."""
        self._thread.loop = loop
        try:
            yield
        finally:
            self._thread.loop = None

    def run(self, write: Callable[[], T]) -> T:
        """Run a function that writes to the store in the thread set by `writing_in`."""
        loop: asyncio.AbstractEventLoop | None = getattr(self._thread, "loop", None)
        if loop is None:
            return write()

        async def call() -> T:
            return write()

        return asyncio.run_coroutine_threadsafe(call(), loop).result()

    # -- creating ----------------------------------------------------------------------------------

    def create(self, target: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        """Create and return an object (client's version). Raise `RequestRefused`, `StatusError`."""
        resource = target.resource
        if not (document.get("kind") or self._catalog.is_built_in(resource)):
            sent = _json(document)
            raise bad_request(f"{UNRECOGNIZED} (must be of type {resource.kind}): Object 'Kind' is missing in '{sent}'")
        document = incoming.identified(target, document)
        self._check_namespace(target)
        is_generated = not document["metadata"].get("name")
        for attempt in range(1, GENERATED_TRIES + 1):
            try:
                return self._create(resource, document, options, warnings)
            except AlreadyExists:
                if not is_generated or attempt == GENERATED_TRIES:
                    raise
        raise AssertionError("the last try raises")

    def _create(self, resource: Resource, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        is_custom = not self._catalog.is_built_in(resource)
        now = self._store.timestamp()
        new = incoming.as_new(resource, document, now, is_custom=is_custom, is_dry_run=options.is_dry_run)
        prepared = self._prepared(resource, new, None, "", options, warnings)

        def write(complete: Document) -> Document:
            kept = stored(resource, complete)
            made = self._store.create(self._typed(resource, kept), kept)
            return presented(resource, self._store.document(type(made), api.key(made)))

        return self._tracked(resource, None, prepared, "", options, warnings, write)

    def _check_namespace(self, target: RequestTarget) -> None:
        if target.resource.namespaced and self._store.find(api.Namespace, target.namespace or "") is None:
            raise NotFound(api.Namespace, target.namespace or "")

    # -- updating ----------------------------------------------------------------------------------

    def update(
        self, target: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        """Update an object; return it, and whether it was created."""
        resource = target.resource
        document = incoming.identified(target, document, needs_name=True)
        kind = self._kind(resource)
        if self._store.find(kind, target.key) is None:
            if resource.plural in CREATED_BY_UPDATE and target.subresource is None:
                return self.create(target, document, options, warnings), True
            raise NotFound(kind, target.key)
        check_uid(self._store.get(kind, target.key), document["metadata"].get("uid") or "")
        return self._update(target, document, options, warnings), False

    def patch(
        self, target: RequestTarget, content_type: str, patch: Any, options: WriteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        """Patch an object; return it, and whether it was created (by server-side apply)."""
        resource = target.resource
        if content_type == APPLY_PATCH:
            return self._apply(target, patch, options, warnings)
        current = presented(resource, self._store.document(self._kind(resource), target.key))
        changed = patched(content_type, current, patch, self._schema(resource))
        try:
            document = incoming.identified(target, changed)
            return self._update(target, document, options, warnings), False
        except BadRequest as error:
            raise InvalidObject("", "", [FieldError.invalid("patch", _json(changed), error.message)]) from error

    def _apply(
        self, target: RequestTarget, applied: Any, options: WriteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        resource, kind = target.resource, self._kind(target.resource)
        applied = applied if isinstance(applied, dict) else {}
        if (applied.get("apiVersion"), applied.get("kind")) != (resource.api_version, resource.kind):
            group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
            raise bad_request(f"invalid object type: {group}/{version}, Kind={applied.get('kind') or ''}")
        wanted = incoming.identified(target, applied, needs_name=True)
        is_new = self._store.find(kind, target.key) is None
        if is_new and target.subresource is not None:
            raise NotFound(kind, target.key)
        if is_new and (uid := wanted["metadata"].get("uid")):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise Conflict(kind, target.key, why)
        live = None if is_new else presented(resource, self._store.document(kind, target.key))
        result = apply(
            live,
            wanted,
            options.field_manager,
            options.is_forced,
            self._store.timestamp(),
            self._field_schema(resource),
            subresource="" if target.subresource is None else target.subresource.name,
            has_status=resource.subresource("status") is not None,
        )
        known = msgspec.structs.replace(options, field_validation=IGNORE, tracks_fields=False)
        if is_new:
            collection = RequestTarget(resource, target.namespace)
            result["metadata"].pop("resourceVersion", None)
            return self.create(collection, result, known, warnings), True
        return self._update(target, result, known, warnings), False

    def _update(
        self, target: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]
    ) -> Document:
        resource, kind = target.resource, self._kind(target.resource)
        self._check_version(target, document)
        seen = self._store.get(kind, target.key).metadata.resource_version
        before = presented(resource, self._store.document(kind, target.key))
        has_status = resource.subresource("status") is not None
        subresource = "" if target.subresource is None else target.subresource.name
        if subresource == "status":
            is_custom = not self._catalog.is_built_in(resource)
            changed = incoming.as_changed_status(resource, document, before, is_custom=is_custom)
        else:
            changed = incoming.as_changed(document, before, keeps_status=has_status)
        _check_finalizers(resource, changed, before)
        if (sent := document["metadata"].get("uid") or "") not in ("", before["metadata"].get("uid")):
            raise invalid(resource, target.name, [f'metadata.uid: Invalid value: "{sent}": field is immutable'])
        prepared = self._prepared(resource, changed, before, subresource, options, warnings)
        changed = prepared.document
        save = self._store.update_status if subresource == "status" else self._store.update
        if not has_status or (subresource == "status" and _is_relabelled(changed, before)):
            save = self._store.replace

        def write(complete: Document) -> Document:
            if self._store.get(kind, target.key).metadata.resource_version != seen:  # another thread has written it
                raise Conflict(kind, target.key)
            kept = stored(resource, complete)
            written = save(self._typed(resource, kept), kept)
            if self._store.find(kind, target.key) is None:  # its last finalizer was removed
                return presented(resource, {**kept, "metadata": codec.to_dict(written)["metadata"]})
            return presented(resource, self._store.document(kind, target.key))

        return self._tracked(resource, before, prepared, subresource, options, warnings, write)

    def _prepared(
        self,
        resource: Resource,
        document: Document,
        old: Document | None,
        subresource: str,
        options: WriteOptions,
        warnings: list[str],
    ) -> PreparedObject:
        """Return the validated document with defaults and the changes of mutating webhooks."""
        try:
            prepared = self._rules.prepare(resource, document, old, options, warnings, subresource)
        except InvalidObject:
            if old is None and resource.stored_as in _ADMITTED_FIRST:
                self._check_mutating_admission(resource, document)
            raise
        document, sent = prepared
        mutated = self._webhooks.mutated(self._request(resource, document, old, subresource, options), warnings)
        if mutated is not None and mutated is not document:
            document = self._rules.prepare(resource, mutated, old, options, warnings, subresource).document
        return PreparedObject(self._addressed(resource, document, old), sent)

    def _check_mutating_admission(self, resource: Resource, document: Document) -> None:
        """Raise mutating admission's rejection of an invalid object, which precedes validation."""

        def try_out() -> None:
            with self._store.dry_run():
                self._store.create(self._typed(resource, document))

        try:
            self.run(try_out)
        except (StatusError, RequestRefused) as refusal:
            if isinstance(refusal, Forbidden) and not isinstance(refusal, ForbiddenAfterValidation):
                raise

    def _request(
        self,
        resource: Resource,
        document: Document | None,
        old: Document | None,
        subresource: str,
        options: WriteOptions | DeleteOptions,
    ) -> AdmissionRequest:
        operation = DELETE if document is None else CREATE if old is None else UPDATE
        about = (self._store, resource, operation, document, old, subresource)
        return AdmissionRequest(*about, options.user, options.is_dry_run)

    def _tracked(
        self,
        resource: Resource,
        before: Document | None,
        prepared: PreparedObject,
        subresource: str,
        options: WriteOptions,
        warnings: list[str],
        write: Callable[[Document], Document],
    ) -> Document:
        """Write the document with updated managed fields, after a dry run with all admission."""
        document = prepared.document

        def try_out() -> Document:
            with self._store.dry_run():
                return write(document)

        completed = self.run(try_out)
        request = self._request(resource, completed, before, subresource, options)
        pod_security.check(request, warnings)
        self._policies.check(request, warnings)
        self._webhooks.validate(request, warnings)
        if options.tracks_fields:
            noted = updated(
                before,
                prepared.sent,
                options.field_manager,
                "Update",
                subresource,
                self._store.timestamp(),
                self._field_schema(resource),
                has_status=resource.subresource("status") is not None,
            )
            document = _with_managed_fields(document, noted)
            completed = _with_managed_fields(completed, noted)
        if before is not None and is_same(_without_times(completed), _without_times(before)):
            document, completed = _with_managed_fields(document, before), _with_managed_fields(completed, before)
        return completed if options.is_dry_run else self.run(lambda: write(document))

    def _check_version(self, target: RequestTarget, document: Document) -> None:
        """Raise 422 for an update without a required version; the message names the plural."""
        resource = target.resource
        is_conditional = resource.plural in UPDATED_CONDITIONALLY or not self._catalog.is_built_in(resource)
        if is_conditional and not document["metadata"].get("resourceVersion"):
            error = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
            raise invalid(msgspec.structs.replace(resource, kind=resource.plural), target.name, [error])
        version = str(document["metadata"].get("resourceVersion") or "0")
        if not version.isdecimal():
            raise RequestRefused(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')

    # -- deleting ----------------------------------------------------------------------------------

    def delete(self, target: RequestTarget, options: DeleteOptions, warnings: list[str]) -> tuple[Document, bool]:
        """Delete an object; return its current or last state, and whether it is gone."""
        return self._delete_admitted(target.resource, target.key, options, warnings)

    def _delete_admitted(
        self, resource: Resource, name: str, options: DeleteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        kind = self._kind(resource)
        if self._store.find(kind, name) is not None:
            old = presented(resource, self._store.document(kind, name))
            request = self._request(resource, None, old, "", options)
            self._webhooks.mutated(request, warnings)
            self._policies.check(request, warnings)
            self._webhooks.validate(request, warnings)
        return self.run(lambda: self._delete(resource, name, options))

    def delete_collection(
        self, resource: Resource, selection: Selection, options: DeleteOptions, warnings: list[str]
    ) -> Iterable[Document]:
        """Delete the selected objects; objects that are already gone are ignored."""
        found = documents_at(self._store, self._kind(resource), self._store.version)
        for name in [name for name in sorted(found) if selection.matches(found[name])]:
            try:
                yield self._delete_admitted(resource, name, options, warnings)[0]
            except NotFound:
                continue

    def _delete(self, resource: Resource, name: str, options: DeleteOptions) -> tuple[Document, bool]:
        if options.is_dry_run:
            with self._store.dry_run():
                return self._delete(resource, name, msgspec.structs.replace(options, is_dry_run=False))
        kind = self._kind(resource)
        before = self._store.document(kind, name)
        deleted, is_gone = delete(
            self._store,
            kind,
            name,
            propagation=options.propagation,
            grace_period_seconds=options.grace_period_seconds,
            uid=options.uid,
            resource_version=options.resource_version,
        )
        if not is_gone:
            return presented(resource, self._store.document(kind, name)), False
        metadata = {**before["metadata"], "resourceVersion": deleted.metadata.resource_version}
        return presented(resource, {**before, "metadata": metadata}), True

    # -- inside ------------------------------------------------------------------------------------

    def _kind(self, resource: Resource) -> type[api.Object]:
        assert resource.stored_as is not None, "only what is stored can be written"
        return resource.stored_as

    def _addressed(self, resource: Resource, document: Document, old: Document | None) -> Document:
        """Return a Service with addresses and ports; other objects unchanged."""
        return with_addresses(self._store, document, old) if resource.stored_as is api.Service else document

    def _schema(self, resource: Resource) -> FieldSchema | None:
        return schema_of(resource.api_version, resource.kind) if self._catalog.is_built_in(resource) else None

    def _field_schema(self, resource: Resource) -> FieldSchema | None:
        """Return the field schema of a built-in kind or of a custom resource."""
        return self._schema(resource) or self._rules.custom_schema(resource)

    def _typed(self, resource: Resource, document: Document) -> api.Object:
        """Convert a document to its struct. Raises 400 with the message of upstream's decoder for
        an unreadable value."""
        try:
            return typed(document, self._kind(resource))
        except InputError as error:
            kind = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
            raise RequestRefused(400, "BadRequest", f"{kind}: {error}") from error


def _check_finalizers(resource: Resource, document: Document, old: Document) -> None:
    added = set(document["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
    if added and old["metadata"].get("deletionTimestamp"):
        found = ", ".join(f'"{name}"' for name in sorted(added))
        why = "no new finalizers can be added if the object is being deleted, found new finalizers"
        name = old["metadata"]["name"]
        raise invalid(resource, name, [f"metadata.finalizers: Forbidden: {why} []string{{{found}}}"])


def _is_relabelled(document: Document, old: Document) -> bool:
    ignored = ("resourceVersion", "managedFields")
    both = [{name: part for name, part in one["metadata"].items() if name not in ignored} for one in (document, old)]
    return both[0] != both[1]


def _without_times(document: Document) -> Document:
    """Return the document without version and managers' times, whose changes are no-ops."""
    metadata = {name: value for name, value in document["metadata"].items() if name != "resourceVersion"}
    entries = metadata.get("managedFields") or ()
    metadata["managedFields"] = [{name: part for name, part in one.items() if name != "time"} for one in entries]
    return {**document, "metadata": metadata}


def _json(document: Document) -> str:
    return msgspec.json.encode(document).decode()


def _with_managed_fields(document: Document, noted: Document) -> Document:
    fields = noted["metadata"].get("managedFields")
    metadata = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    return {**document, "metadata": {**metadata, "managedFields": fields} if fields else metadata}
