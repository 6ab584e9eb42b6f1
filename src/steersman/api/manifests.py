# SPDX-License-Identifier: Apache-2.0
"""Manifests and dumps → typed objects: files, directories and standard input, in YAML or JSON, single objects or lists.

The way in for everything that a user has on disk: `simulate`, `explain`, `Simulation.load`. What a file contains is
found by `documents`, decoded by `codec` and checked by `validation`. JSON is about fifty times as fast as YAML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from steersman.api import codec, documents, validation
from steersman.api.documents import Found, Place
from steersman.api.kinds import KINDS
from steersman.api.meta import Object, key
from steersman.api.pod import Pod
from steersman.api.sharing import Sharer
from steersman.errors import InputError

STDIN: Final = "-"
DEFAULT_NAMESPACE: Final = "default"
SUFFIXES: Final = (".json", ".yaml", ".yml")


class LoadedObject(NamedTuple):
    """An object and where it was found."""

    object: Object
    place: Place


class Loaded(NamedTuple):
    """All objects in the order of the input, and how many objects of which unknown kinds were passed over."""

    objects: list[LoadedObject]
    skipped: dict[str, int]


def load(paths: Iterable[str], stdin: BinaryIO | None = None, custom: Iterable[type[Object]] = ()) -> Loaded:
    """Read all paths: files, directories with everything below, `-` for `stdin`; also objects of `custom` kinds. Raises
    `InputError`."""
    collection = _Collection(custom)
    for file, data in _contents(paths, stdin):
        try:
            for found in documents.find_objects(file, data, is_json=file.endswith(".json")):
                collection.add(found)
        except InputError as error:
            raise error.located(file=file) from error
        except RecursionError as error:
            raise InputError("is nested too deeply", file=file) from error
    return Loaded(collection.objects, dict(sorted(collection.skipped.items())))


class _Collection:
    """The objects that were found so far, each of them once."""

    def __init__(self, custom: Iterable[type[Object]]) -> None:
        self._custom = tuple(custom)
        self.objects: list[LoadedObject] = []
        self.skipped: dict[str, int] = {}
        self._places: dict[tuple[type[Object], str], Place] = {}
        self._sharer = Sharer()
        self._generated: dict[tuple[type[Object], str, str], int] = {}

    def add(self, found: Found) -> None:
        """Decode, name and check the object; one of an unknown kind is only counted."""
        cls = codec.class_for(found.header, self._custom)
        if cls is None:
            self._skip(found.header)
            return
        try:
            obj = self._named(_decode(found, cls))
            validation.check_quantities(obj)
            self._remember(obj, found.place)
            obj = self._sharer.shared(obj) if isinstance(obj, Pod) else obj
        except InputError as error:
            raise error.located(**found.place._asdict(), object=_description(found, cls)) from error
        except msgspec.ValidationError as error:
            unreadable = InputError("holds a number that is too long")
            raise unreadable.located(**found.place._asdict(), object=found.header.kind) from error
        self.objects.append(LoadedObject(obj, found.place))

    def _skip(self, header: codec.Header) -> None:
        kind = header.kind or ""
        # Known by name only: of another API group, or a version with another shape.
        if kind in KINDS or any(kind == known.KIND for known in self._custom):
            kind = f"{kind} ({header.api_version})"
        self.skipped[kind] = self.skipped.get(kind, 0) + 1

    def _named(self, obj: Object) -> Object:
        """The object with the namespace and name under which an API server would store it."""
        meta = obj.metadata
        namespace = (meta.namespace or DEFAULT_NAMESPACE) if obj.NAMESPACED else ""
        name = meta.name or self._generated_name(obj, namespace)
        if (namespace, name) == (meta.namespace, meta.name):
            return obj
        return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(meta, namespace=namespace, name=name))

    def _generated_name(self, obj: Object, namespace: str) -> str:
        prefix = obj.metadata.generate_name
        if not prefix:
            raise InputError("is missing", field="metadata.name", hint='give it a "name" or a "generateName"')
        family = (type(obj), namespace, prefix)
        self._generated[family] = self._generated.get(family, 0) + 1
        return f"{prefix}{self._generated[family]}"

    def _remember(self, obj: Object, place: Place) -> None:
        identity = (type(obj), key(obj))
        first = self._places.setdefault(identity, place)
        if first is not place:
            raise InputError(f"is defined twice, first in {first}", object=f"{obj.KIND} {key(obj)}")


def _decode(found: Found, cls: type[Object]) -> Object:
    if isinstance(found.data, dict):
        return codec.convert(found.data, cls)
    return codec.decode(found.data, cls)


def _description(found: Found, cls: type[Object]) -> str:
    """`Pod default/web-0` for an object that could not be used, as far as it says so itself."""
    kind = found.header.kind or ""
    data = found.data if isinstance(found.data, dict) else codec.plain(found.data)
    meta = data.get("metadata")
    if not isinstance(meta, dict) or not meta.get("name"):
        return kind
    if not cls.NAMESPACED:
        return f"{kind} {meta['name']}"
    return f"{kind} {meta.get('namespace') or DEFAULT_NAMESPACE}/{meta['name']}"


def _contents(paths: Iterable[str], stdin: BinaryIO | None) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file."""
    for path in paths:
        if path != STDIN:
            for file in _files(Path(path)):
                yield str(file), _read(file)
        elif stdin is None:
            raise InputError("there is no standard input to read", file=STDIN)
        else:
            yield STDIN, stdin.read()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise InputError(f"contains no {', '.join(SUFFIXES)} file", file=str(path))
    return files


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error
