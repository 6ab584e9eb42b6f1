# SPDX-License-Identifier: Apache-2.0
"""The form in which objects are shown: whole, as a Table for kubectl, or their metadata alone.

Lists and watches use the same forms. Documents come in as they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from steersman.apiserver.catalog import Catalog
from steersman.apiserver.conversions import presented
from steersman.apiserver.custom_resources import CustomResources
from steersman.apiserver.lists import Chunk
from steersman.apiserver.media_types import PARTIAL, TABLE, MediaType
from steersman.apiserver.resources import Resource
from steersman.apiserver.statuses import bad_request
from steersman.apiserver.tables import IncludeObject, table_of
from steersman.clock import Clock
from steersman.embedded import Document

INCLUDED: Final = ("Metadata", "Object", "None")


class Representations:
    """Makes representations of documents. `clock` tells how old objects are."""

    def __init__(self, catalog: Catalog, customs: CustomResources, clock: Clock) -> None:
        self._catalog = catalog
        self._customs = customs
        self._clock = clock

    def one(self, resource: Resource, document: Document, media: MediaType, include: str = "") -> Document:
        """A single object; `include` is what a Table carries of it besides the cells."""
        return self.presented(resource, presented(resource, document), media, include)

    def presented(self, resource: Resource, shown: Document, media: MediaType, include: str = "") -> Document:
        """A single object, as `one` shows it, of a document that is in the version of the client already."""
        if media.form == PARTIAL:
            return _partial(shown, media)
        if media.form == TABLE:
            version = {"resourceVersion": (shown.get("metadata") or {}).get("resourceVersion", "")}
            return self._table(resource, [shown], version, media, include)
        return shown

    def event(self, resource: Resource, document: Document, media: MediaType, is_first: bool) -> Document:
        """The object of a watch event; only the first Table of a watch has to say which columns there are."""
        if media.form != TABLE:
            return self.one(resource, document, media)
        shown = presented(resource, document)
        version = {"resourceVersion": shown["metadata"].get("resourceVersion", "")}
        return self._table(resource, [shown], version, media, "", has_header=is_first)

    def listed(self, resource: Resource, chunk: Chunk, media: MediaType, include: str = "") -> Document:
        """A list, or a Table of it."""
        shown = [presented(resource, document) for document in chunk.documents]
        if media.form == TABLE:
            return self._table(resource, shown, chunk.metadata, media, include)
        if media.form == PARTIAL:
            kind, version = "PartialObjectMetadataList", f"meta.k8s.io/{media.version}"
            items = [_partial(document, media) for document in shown]
            return {"kind": kind, "apiVersion": version, "metadata": chunk.metadata, "items": items}
        header = {"kind": resource.list_kind, "apiVersion": resource.api_version}
        return {**header, "metadata": chunk.metadata, "items": shown}

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
