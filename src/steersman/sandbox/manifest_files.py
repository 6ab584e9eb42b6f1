# SPDX-License-Identifier: Apache-2.0
"""Manifests and dumps of `-f`, as documents with every field, stored as they are.

Definitions of custom resources and what admission looks up come first, so that everything else finds them; pods come last.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from steersman import api
from steersman.api import codec
from steersman.api.documents import Place, find_objects
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.default_fields import with_default_fields
from steersman.apiserver.service_addresses import with_addresses
from steersman.embedded import AlreadyExists, ApiError, Document, Store
from steersman.embedded.documents import typed
from steersman.errors import InputError

SUFFIXES: Final = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
_FIRST: Final = ("CustomResourceDefinition", "Namespace", "PriorityClass", "StorageClass", "RuntimeClass", "Node")


class FoundDocument(NamedTuple):
    """An object as a file has it; `apiVersion` and `kind` are filled in where its list says them."""

    document: Document
    place: Place


def read_documents(paths: Iterable[str]) -> Iterator[FoundDocument]:
    """All objects of files, directories and `-`, in their order; raises `InputError`."""
    for name, data in _contents(paths):
        try:
            for found in find_objects(name, data, is_json=name.removesuffix(".gz").endswith(".json")):
                plain = found.data if isinstance(found.data, dict) else codec.plain(found.data)
                header = {"apiVersion": found.header.api_version, "kind": found.header.kind}
                yield FoundDocument({**plain, **header}, found.place)
        except InputError as error:
            raise error.located(file=name) from error


def create_all(store: Store, catalog: Catalog, paths: Iterable[str]) -> int:
    """Stores what the files hold, as a dump has it: with uid, time and status; how many objects that were. What is there
    already, in a cluster that was restored, stays as it is. Raises `InputError`."""
    found = sorted(read_documents(paths), key=lambda one: _order(one.document["kind"]))
    return sum(_create(store, catalog, one) for one in found)


def _order(kind: str) -> int:
    if kind in _FIRST:
        return _FIRST.index(kind)
    return len(_FIRST) + (kind == "Pod")


def _create(store: Store, catalog: Catalog, found: FoundDocument) -> bool:
    document = found.document
    metadata = dict(document.get("metadata") or {})
    description = f"{document['kind']} {metadata.get('name', '')}"
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
    except ApiError as error:
        raise InputError(error.message, object=description).located(**found.place._asdict()) from error
    return True


def _contents(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        if path == "-":
            yield path, sys.stdin.buffer.read()
            continue
        for file in _files(Path(path)):
            yield str(file), _read(file)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
    if not files:
        raise InputError(f"contains no {', '.join(SUFFIXES)} file", file=str(path))
    return files


def _read(file: Path) -> bytes:
    try:
        data = file.read_bytes()
        return gzip.decompress(data) if file.name.endswith(".gz") else data
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {reason}", file=str(file)) from error
