# SPDX-License-Identifier: Apache-2.0
"""Manifests and dumps of `-f` as documents with all fields, stored unchanged.

CRDs and objects that admission reads come first; pods come last.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from steersman import api
from steersman.api import ObjectCheck, SourcePlace, Validation, codec, find_all, part, timestamps
from steersman.api.cel import find_selector_errors
from steersman.api.defaults import with_default_fields
from steersman.base import InputError
from steersman.cluster.apiserver import Catalog, with_addresses
from steersman.cluster.store import AlreadyExists, Document, StatusError, Store, enforce_pod_security, typed

_FIRST: Final = ("CustomResourceDefinition", "Namespace", "PriorityClass", "StorageClass", "RuntimeClass", "Node")


class FoundDocument(NamedTuple):
    """An object of a file; `apiVersion` and `kind` may come from its list."""

    document: Document
    place: SourcePlace


def read_documents(
    paths: Iterable[str], notes: list[str] | None = None, validate: Validation = "ignore"
) -> Iterator[FoundDocument]:
    """Yield all objects of files, directories and `-` in order. Raise `InputError`. Notes about
    files without manifests and about unknown fields are added to `notes` at the end."""
    skipped: list[str] = []
    check = ObjectCheck(validate, find_selector_errors)
    for found in find_all(paths, skipped, sys.stdin.buffer):
        plain = found.data if isinstance(found.data, dict) else codec.plain(found.data)
        header = {"apiVersion": found.header.api_version, "kind": found.header.kind}
        document = {**plain, **header}
        check.check(found, "", lambda: _description(document))  # noqa: B023  # called at once
        yield FoundDocument(document, found.place)
    check.raise_errors()
    if notes is not None:
        notes += (*skipped, *check.lines())


def create_all(store: Store, catalog: Catalog, paths: Iterable[str], validate: Validation = "warn") -> list[str]:
    """Store the objects of the files with uid, time and status. Existing objects, as in a restored
    cluster, are not changed. Return notes about the files; raise `InputError`."""
    notes: list[str] = []
    for one in in_order(read_documents(paths, notes, validate)):
        create_document(store, catalog, one)
    return notes


def in_order(documents: Iterable[FoundDocument]) -> list[FoundDocument]:
    """Return the documents in an order in which they can be created one after the other."""
    return sorted(documents, key=lambda one: _order(str(one.document["kind"])))


def _order(kind: str) -> int:
    if kind in _FIRST:
        return _FIRST.index(kind)
    return len(_FIRST) + (kind == "Pod")


def _description(document: Document) -> str:
    return f"{document['kind']} {(document.get('metadata') or {}).get('name', '')}"


def create_document(store: Store, catalog: Catalog, found: FoundDocument) -> bool:
    """Store one object with its uid, time and status; return False if its name exists. Raise
    `InputError`."""
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
    if resource.stored_as is api.Pod and part(document, "spec").get("nodeName"):
        # A pod that is bound in a file existed before: admission does not treat it as new.
        metadata.setdefault("creationTimestamp", timestamps.render(store.clock.now() - 1))
    whole = with_default_fields({**document, "metadata": metadata})
    try:
        if resource.stored_as is api.Service:
            whole = with_addresses(store, whole, whole)  # another cluster may have another range
        if resource.stored_as is api.Pod and not metadata.get("uid"):
            enforce_pod_security(store, metadata["namespace"], metadata.get("name", ""), metadata, part(whole, "spec"))
        store.create(typed(whole, resource.stored_as), whole)
    except AlreadyExists:
        return False
    except InputError as error:
        raise error.located(object=description, **found.place._asdict()) from error
    except StatusError as error:
        raise InputError(error.message, object=description).located(**found.place._asdict()) from error
    return True
