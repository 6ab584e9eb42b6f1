# SPDX-License-Identifier: Apache-2.0
"""Manifests and dumps of `-f`, as documents with every field, stored as they are.

Definitions of custom resources and what admission looks up come first, so that everything else finds them; pods come last.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from steersman import api
from steersman.api import codec
from steersman.api.documents import SourcePlace
from steersman.api.field_check import FieldCheck, Validation
from steersman.api.manifests import find_all
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.default_fields import with_default_fields
from steersman.apiserver.service_addresses import with_addresses
from steersman.embedded import AlreadyExists, Document, StatusError, Store
from steersman.embedded.documents import typed
from steersman.errors import InputError

_FIRST: Final = ("CustomResourceDefinition", "Namespace", "PriorityClass", "StorageClass", "RuntimeClass", "Node")


class FoundDocument(NamedTuple):
    """An object as a file has it; `apiVersion` and `kind` are filled in where its list says them."""

    document: Document
    place: SourcePlace


def read_documents(
    paths: Iterable[str], notes: list[str] | None = None, validate: Validation = "ignore"
) -> Iterator[FoundDocument]:
    """All objects of files, directories and `-`, in their order; raises `InputError`. What a user should know is added to
    `notes` at the end: files that are no manifests, and unknown fields."""
    told: list[str] = []
    fields = FieldCheck(validate)
    for found in find_all(paths, told, sys.stdin.buffer):
        plain = found.data if isinstance(found.data, dict) else codec.plain(found.data)
        header = {"apiVersion": found.header.api_version, "kind": found.header.kind}
        document = {**plain, **header}
        fields.check(found, "", lambda: _description(document))  # noqa: B023  # called at once
        yield FoundDocument(document, found.place)
    if notes is not None:
        notes += (*told, *fields.lines())


def create_all(store: Store, catalog: Catalog, paths: Iterable[str], validate: Validation = "warn") -> list[str]:
    """Stores what the files hold, as a dump has it: with uid, time and status. What is there already, in a cluster that was
    restored, stays as it is. Returns notes about the files; raises `InputError`."""
    notes: list[str] = []
    for one in in_order(read_documents(paths, notes, validate)):
        create_document(store, catalog, one)
    return notes


def in_order(documents: Iterable[FoundDocument]) -> list[FoundDocument]:
    """The documents in an order in which they can be created one after the other."""
    return sorted(documents, key=lambda one: _order(str(one.document["kind"])))


def _order(kind: str) -> int:
    if kind in _FIRST:
        return _FIRST.index(kind)
    return len(_FIRST) + (kind == "Pod")


def _description(document: Document) -> str:
    return f"{document['kind']} {(document.get('metadata') or {}).get('name', '')}"


def create_document(store: Store, catalog: Catalog, found: FoundDocument) -> bool:
    """Stores one object, with uid, time and status as it has them; False if there is one of its name. Raises `InputError`."""
    document = found.document
    metadata = dict(document.get("metadata") or {})
    description = _description(document)
    resource = catalog.of_kind(str(document.get("apiVersion")), document["kind"])
    if resource is None or resource.stored_as is None:
        message = f'no resource is served for {document["kind"]} of "{document.get("apiVersion")}"'
        hint = "add its CustomResourceDefinition, or correct apiVersion and kind"
        raise InputError(message, object=description, hint=hint).located(**found.place._asdict())
    if resource.namespaced:
        metadata.setdefault("namespace", "default")
    metadata.pop("resourceVersion", None)
    whole = with_default_fields({**document, "metadata": metadata})
    try:
        if resource.stored_as is api.Service:
            whole = with_addresses(store, whole, None)
        store.create(typed(whole, resource.stored_as), whole)
    except AlreadyExists:
        return False
    except InputError as error:
        raise error.located(object=description, **found.place._asdict()) from error
    except StatusError as error:
        raise InputError(error.message, object=description).located(**found.place._asdict()) from error
    return True
