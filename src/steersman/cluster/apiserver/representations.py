# SPDX-License-Identifier: Apache-2.0
"""Forms of objects in responses: whole, as a Table for kubectl, or metadata only.

Lists and watches use the same forms. Input documents are in their stored version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from steersman.base import Clock
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.conversions import presented
from steersman.cluster.apiserver.custom_resources import CustomResources
from steersman.cluster.apiserver.lists import Chunk
from steersman.cluster.apiserver.media_types import PARTIAL, TABLE, MediaType
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.statuses import bad_request
from steersman.cluster.apiserver.structural_schemas import defaulted, pruned
from steersman.cluster.apiserver.tables import IncludeObject, table_of
from steersman.cluster.store import Document

INCLUDED: Final = ("Metadata", "Object", "None")
_TYPE_FIELDS: Final = ("apiVersion", "kind")


class Representations:
    """Builder of representations. `clock` provides the time for ages."""

    def __init__(self, catalog: Catalog, customs: CustomResources, clock: Clock) -> None:
        self._catalog = catalog
        self._customs = customs
        self._clock = clock

    def one(self, resource: Resource, document: Document, media: MediaType, include: str = "") -> Document:
        """Return the representation of a stored object; `include`: object part of Table rows."""
        return self.presented(resource, self._current(resource, document), media, include)

    def presented(self, resource: Resource, shown: Document, media: MediaType, include: str = "") -> Document:
        """Return the representation of a document that is already in the client's version."""
        if media.form == PARTIAL:
            return _partial(shown, media)
        if media.form == TABLE:
            version = {"resourceVersion": (shown.get("metadata") or {}).get("resourceVersion", "")}
            return self._table(resource, [shown], version, media, include)
        return shown

    def event(self, resource: Resource, document: Document, media: MediaType, is_first: bool) -> Document:
        """Return the object of a watch event; only a watch's first Table has column definitions."""
        if media.form != TABLE:
            return self.one(resource, document, media)
        shown = self._current(resource, document)
        version = {"resourceVersion": shown["metadata"].get("resourceVersion", "")}
        return self._table(resource, [shown], version, media, "", has_header=is_first)

    def listed(self, resource: Resource, chunk: Chunk, media: MediaType, include: str = "") -> Document:
        """Return a list or a Table."""
        if not media.form:
            return self.list_of(resource, chunk)
        shown = [self._current(resource, document) for document in chunk.documents]
        if media.form == TABLE:
            return self._table(resource, shown, chunk.metadata, media, include)
        kind, version = "PartialObjectMetadataList", f"meta.k8s.io/{media.version}"
        items = [_partial(document, media) for document in shown]
        return {"kind": kind, "apiVersion": version, "metadata": chunk.metadata, "items": items}

    def list_of(self, resource: Resource, chunk: Chunk) -> Document:
        """Return a list of whole objects; items of built-in kinds omit `apiVersion` and `kind`."""
        items = [self._current(resource, document) for document in chunk.documents]
        if self._catalog.is_built_in(resource):
            items = [{name: part for name, part in item.items() if name not in _TYPE_FIELDS} for item in items]
        header = {"kind": resource.list_kind, "apiVersion": resource.api_version}
        return {**header, "metadata": chunk.metadata, "items": items}

    def _current(self, resource: Resource, document: Document) -> Document:
        """Convert a stored document to the client's version. If the definition of a custom resource
        has changed, it is pruned and defaulted with the current schema."""
        shown, version = presented(resource, document), self._customs.version(resource)
        if not version.is_changed or not version.schema:
            return shown
        return defaulted(pruned(shown, version.schema), version.schema)

    def _table(
        self,
        resource: Resource,
        documents: Sequence[Document],
        metadata: Document,
        media: MediaType,
        include: str,
        *,
        has_header: bool = True,
    ) -> Document:
        include = include or "Metadata"
        if include not in INCLUDED:
            raise bad_request(f'unrecognized includeObject value: "{include}"')
        columns = None
        if not self._catalog.is_built_in(resource):
            columns = self._customs.version(resource).printer_columns
        table = table_of(
            documents,
            resource.api_version,
            resource.kind,
            self._clock.now(),
            include_object=cast("IncludeObject", include),
            printer_columns=columns,
            list_metadata=metadata,
            has_header=has_header,
        )
        return {**table, "apiVersion": f"meta.k8s.io/{media.version}"}


def _partial(document: Document, media: MediaType) -> Document:
    version = f"meta.k8s.io/{media.version}"
    return {"kind": PARTIAL, "apiVersion": version, "metadata": document.get("metadata") or {}}
