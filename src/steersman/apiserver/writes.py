# SPDX-License-Identifier: Apache-2.0
"""Creations, updates, patches and deletions, as clients of an API server ask for them.

    body ─► incoming ─► unknown fields ─► defaults and rules of the kind ─► struct ─► Store (admission) ─► document

Documents go in and come out in the version of the resource that the request names; `conversions` lies between that and what is
stored. Everything here is synchronous: a request is carried out, or refused, as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import msgspec

from steersman import api
from steersman.api import codec
from steersman.api.schemas import FieldSchema, schema_of
from steersman.api.validation.field_errors import FieldError
from steersman.apiserver import incoming
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.conversions import presented, stored
from steersman.apiserver.invalid_objects import InvalidObject
from steersman.apiserver.lists import documents_at
from steersman.apiserver.managed_fields import updated
from steersman.apiserver.patches import APPLY_PATCH, patched
from steersman.apiserver.resources import Resource
from steersman.apiserver.routing import RequestTarget
from steersman.apiserver.selection import Selection
from steersman.apiserver.server_side_apply import apply
from steersman.apiserver.service_addresses import with_addresses
from steersman.apiserver.statuses import RequestRefused, invalid
from steersman.apiserver.write_options import IGNORE, DeleteOptions, WriteOptions
from steersman.embedded import AlreadyExists, Document, NotFound, Store, delete
from steersman.embedded.deletion import check_preconditions
from steersman.embedded.documents import typed
from steersman.embedded.errors import BadRequest
from steersman.errors import InputError

CREATED_BY_UPDATE: Final = frozenset({"leases", "events", "endpoints", "limitranges", "services"})
"""Resources that an update creates when they are not there."""
GENERATED_TRIES: Final = 8


class ObjectRules(Protocol):
    """Rules that check and complete the document of a resource before it is stored; they raise refusals."""

    def prepare(
        self,
        resource: Resource,
        document: Document,
        old: Document | None,
        options: WriteOptions,
        warnings: list[str],
        subresource: str = "",
    ) -> Document: ...

    def decode(
        self, resource: Resource, document: Document, options: WriteOptions, warnings: list[str]
    ) -> Document: ...

    def custom_schema(self, resource: Resource) -> FieldSchema | None: ...


class Writer:
    """Writes to a store. `rules` know what objects have to be like, and who manages which of their fields."""

    def __init__(self, store: Store, catalog: Catalog, rules: ObjectRules) -> None:
        self._store = store
        self._catalog = catalog
        self._rules = rules

    # -- creating ----------------------------------------------------------------------------------------------------

    def create(self, target: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        """The object as it is stored, in the version of the client; raises `RequestRefused` or `StatusError`."""
        resource = target.resource
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
        new = incoming.as_new(resource, document, now, is_custom=is_custom)
        new = self._addressed(resource, self._rules.prepare(resource, new, None, options, warnings), None)

        def write(complete: Document) -> Document:
            kept = stored(resource, complete)
            made = self._store.create(self._typed(resource, kept), kept)
            return presented(resource, self._store.document(type(made), api.key(made)))

        return self._tracked(resource, None, new, "", options, write)

    def _check_namespace(self, target: RequestTarget) -> None:
        if target.resource.namespaced and self._store.find(api.Namespace, target.namespace or "") is None:
            raise NotFound(api.Namespace, target.namespace or "")

    # -- updating ----------------------------------------------------------------------------------------------------

    def update(
        self, target: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        """The object as it is stored now, and whether it is new."""
        resource = target.resource
        document = incoming.identified(target, document)
        kind = self._kind(resource)
        if self._store.find(kind, target.key) is None:
            if resource.plural in CREATED_BY_UPDATE and target.subresource is None:
                return self.create(target, document, options, warnings), True
            raise NotFound(kind, target.key)
        return self._update(target, document, options, warnings), False

    def patch(
        self, target: RequestTarget, content_type: str, patch: Any, options: WriteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        """The object after the patch, and whether it is new, as it may be with server-side apply."""
        resource = target.resource
        if content_type == APPLY_PATCH:
            return self._apply(target, patch, options, warnings)
        current = presented(resource, self._store.document(self._kind(resource), target.key))
        changed = patched(content_type, current, patch, self._schema(resource))
        document = incoming.identified(target, changed)
        try:
            return self._update(target, document, options, warnings), False
        except BadRequest as error:
            raise InvalidObject("", "", [FieldError.invalid("patch", _json(document), error.message)]) from error

    def _apply(
        self, target: RequestTarget, applied: Any, options: WriteOptions, warnings: list[str]
    ) -> tuple[Document, bool]:
        resource, kind = target.resource, self._kind(target.resource)
        if not options.field_manager:
            raise invalid(resource, target.name, ["fieldManager: Required value: is required for apply patch"])
        wanted = incoming.identified(target, applied if isinstance(applied, dict) else {})
        self._rules.decode(resource, wanted, options, warnings)
        is_new = self._store.find(kind, target.key) is None
        if is_new and target.subresource is not None:
            raise NotFound(kind, target.key)
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
            return self.create(collection, result, known, warnings), True
        return self._update(target, result, known, warnings), False

    def _update(
        self, target: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]
    ) -> Document:
        resource, kind = target.resource, self._kind(target.resource)
        self._check_version(target, document)
        before = presented(resource, self._store.document(kind, target.key))
        has_status = resource.subresource("status") is not None
        subresource = "" if target.subresource is None else target.subresource.name
        if subresource == "status":
            changed = incoming.as_changed_status(document, before)
        else:
            changed = incoming.as_changed(document, before, keeps_status=has_status)
        changed = self._rules.prepare(resource, changed, before, options, warnings, subresource)
        changed = self._addressed(resource, changed, before)
        save = self._store.update_status if subresource == "status" else self._store.update
        if not has_status:
            save = self._store.replace

        def write(complete: Document) -> Document:
            kept = stored(resource, complete)
            written = save(self._typed(resource, kept), kept)
            if self._store.find(kind, target.key) is None:  # its last finalizer is gone
                return presented(resource, {**kept, "metadata": codec.to_dict(written)["metadata"]})
            return presented(resource, self._store.document(kind, target.key))

        return self._tracked(resource, before, changed, subresource, options, write)

    def _tracked(
        self,
        resource: Resource,
        before: Document | None,
        document: Document,
        subresource: str,
        options: WriteOptions,
        write: Callable[[Document], Document],
    ) -> Document:
        """Writes the document, with a note of who has set which of its fields. Those that admission fills in belong to the
        writer too, so that the object is first written on trial."""
        with self._store.dry_run():
            completed = write(document)
        if options.tracks_fields:
            sent = document["metadata"].get("managedFields")
            metadata = {name: value for name, value in completed["metadata"].items() if name != "managedFields"}
            metadata |= {} if sent is None else {"managedFields": sent}
            noted = updated(
                before,
                {**completed, "metadata": metadata},
                options.field_manager,
                "Update",
                subresource,
                self._store.timestamp(),
                self._field_schema(resource),
                has_status=resource.subresource("status") is not None,
            )
            document = _with_managed_fields(document, noted)
            completed = _with_managed_fields(completed, noted)
        return completed if options.is_dry_run else write(document)

    def _check_version(self, target: RequestTarget, document: Document) -> None:
        """Custom resources are updated only by those who have seen them."""
        version = document["metadata"].get("resourceVersion")
        if not version and not self._catalog.is_built_in(target.resource):
            error = "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"
            raise invalid(target.resource, target.name, [error])

    # -- deleting ----------------------------------------------------------------------------------------------------

    def delete(self, target: RequestTarget, options: DeleteOptions) -> tuple[Document, bool]:
        """The object as it is now, or was last, and whether it is gone."""
        return self._delete(target.resource, target.key, options)

    def delete_collection(self, resource: Resource, selection: Selection, options: DeleteOptions) -> Iterable[Document]:
        """Deletes whatever is selected; what has gone meanwhile does not matter."""
        found = documents_at(self._store, self._kind(resource), self._store.version)
        for name in [name for name in sorted(found) if selection.matches(found[name])]:
            try:
                yield self._delete(resource, name, options)[0]
            except NotFound:
                continue

    def _delete(self, resource: Resource, name: str, options: DeleteOptions) -> tuple[Document, bool]:
        kind = self._kind(resource)
        before = self._store.document(kind, name)
        if options.is_dry_run:
            check_preconditions(self._store.get(kind, name), options.uid, options.resource_version)
            return presented(resource, before), False
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

    # -- inside ------------------------------------------------------------------------------------------------------

    def _kind(self, resource: Resource) -> type[api.Object]:
        assert resource.stored_as is not None, "only what is stored can be written"
        return resource.stored_as

    def _addressed(self, resource: Resource, document: Document, old: Document | None) -> Document:
        """A Service gets its address; other objects stay as they are."""
        return with_addresses(self._store, document, old) if resource.stored_as is api.Service else document

    def _schema(self, resource: Resource) -> FieldSchema | None:
        return schema_of(resource.api_version, resource.kind) if self._catalog.is_built_in(resource) else None

    def _field_schema(self, resource: Resource) -> FieldSchema | None:
        """The schema by which fields are told apart, also that of a custom resource."""
        return self._schema(resource) or self._rules.custom_schema(resource)

    def _typed(self, resource: Resource, document: Document) -> api.Object:
        """The struct of a document; 400 if a field has a value that cannot be read, as upstream's decoder says it."""
        try:
            return typed(document, self._kind(resource))
        except InputError as error:
            kind = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
            raise RequestRefused(400, "BadRequest", f"{kind}: {error}") from error


def _json(document: Document) -> str:
    return msgspec.json.encode(document).decode()


def _with_managed_fields(document: Document, noted: Document) -> Document:
    fields = noted["metadata"].get("managedFields")
    metadata = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    return {**document, "metadata": {**metadata, "managedFields": fields} if fields else metadata}
