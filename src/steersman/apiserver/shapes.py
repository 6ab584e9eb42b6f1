# SPDX-License-Identifier: Apache-2.0
"""The form in which objects are shown: whole, as a Table for kubectl, or their metadata alone.

Lists and watches use the same forms. Documents come in as they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.apiserver.conversions import presented
from steersman.apiserver.lists import Chunk
from steersman.apiserver.media_types import PARTIAL, TABLE, MediaType
from steersman.apiserver.resources import Resource
from steersman.embedded import Document


class Shapes:
    """Shapes documents."""

    def one(self, resource: Resource, document: Document, media: MediaType, include: str = "") -> Document:
        """A single object; `include` is what a Table carries of it besides the cells."""
        shown = presented(resource, document)
        if media.form == PARTIAL:
            return _partial(shown, media)
        if media.form == TABLE:
            return self.table(resource, [shown], {}, media, include)
        return shown

    def event(self, resource: Resource, document: Document, media: MediaType, is_first: bool) -> Document:
        """The object of a watch event; only the first Table of a watch has to say which columns there are."""
        return self.one(resource, document, media)

    def listed(self, resource: Resource, chunk: Chunk, media: MediaType, include: str = "") -> Document:
        """A list, or a Table of it."""
        shown = [presented(resource, document) for document in chunk.documents]
        if media.form == TABLE:
            return self.table(resource, shown, chunk.metadata, media, include)
        if media.form == PARTIAL:
            kind, version = "PartialObjectMetadataList", f"meta.k8s.io/{media.version}"
            items = [_partial(document, media) for document in shown]
            return {"kind": kind, "apiVersion": version, "metadata": chunk.metadata, "items": items}
        header = {"kind": resource.list_kind, "apiVersion": resource.api_version}
        return {**header, "metadata": chunk.metadata, "items": shown}

    def table(
        self, resource: Resource, documents: Sequence[Document], metadata: Document, media: MediaType, include: str
    ) -> Document:
        rows = [
            {"cells": [document["metadata"]["name"]], "object": _partial(document, media)} for document in documents
        ]
        columns = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
        version = f"meta.k8s.io/{media.version}"
        return {
            "kind": TABLE,
            "apiVersion": version,
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": rows,
        }


def _partial(document: Document, media: MediaType) -> Document:
    version = f"meta.k8s.io/{media.version}"
    return {"kind": PARTIAL, "apiVersion": version, "metadata": document.get("metadata") or {}}
