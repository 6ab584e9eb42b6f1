# SPDX-License-Identifier: Apache-2.0
"""Manifests and dumps → typed objects: files, directories and standard input, in YAML or JSON, single objects or lists.

The way in for everything that a user has on disk: `simulate` and `Simulation.load`. What a file contains is found by
`documents`, decoded by `codec` and checked by `field_check` and `quantity_checks`. JSON is about fifty times as fast as
YAML; files may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from steersman.api import codec, documents, quantity_checks
from steersman.api.documents import Found, SourcePlace
from steersman.api.field_check import FieldCheck, Validation
from steersman.api.kinds import KINDS
from steersman.api.meta import Object, key
from steersman.api.pod import Pod
from steersman.api.sharing import Sharer
from steersman.errors import InputError

STDIN: Final = "-"
DEFAULT_NAMESPACE: Final = "default"
SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Of files in directories; any of them may be followed by `.gz`."""
MOST_DOCUMENTS: Final = 1000
"""Of so many pending pods everything is kept that was written about them, also what nothing here reads."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_HAS_KIND: Final = re.compile(rb"""^["']?kind["']?\s*:""", re.MULTILINE)
"""A YAML document that says which kind of object it is."""


class LoadedObject(NamedTuple):
    """An object and where it was found."""

    object: Object
    place: SourcePlace
    #: Of pods without a node, as long as there are not too many: everything that was written, as JSON or plain values.
    document: bytes | dict[str, Any] | None = None


class Loaded(NamedTuple):
    """All objects in the order of the input, how many objects of which unknown kinds were passed over, and what else a user
    should know: files of directories that were passed over, unknown fields."""

    objects: list[LoadedObject]
    skipped: dict[str, int]
    notes: tuple[str, ...] = ()


class _File(NamedTuple):
    """A file to be read; `is_named` if the user named the file itself, and not a directory that it lies in."""

    name: str
    data: bytes
    is_named: bool


def load(
    paths: Iterable[str],
    stdin: BinaryIO | None = None,
    custom: Iterable[type[Object]] = (),
    validate: Validation = "warn",
) -> Loaded:
    """Read all paths: files, directories with everything below, `-` for `stdin`; also objects of `custom` kinds. `validate`
    says what happens to unknown fields. Raises `InputError`."""
    collection = _Collection(custom, FieldCheck(validate))
    passed_over: list[str] = []
    for found in find_all(paths, passed_over, stdin):
        try:
            collection.add(found)
        except RecursionError as error:
            raise InputError("is nested too deeply", file=found.place.file) from error
    notes = (*passed_over, *collection.field_check.lines())
    return Loaded(collection.objects, dict(sorted(collection.skipped.items())), notes)


def find_all(paths: Iterable[str], passed_over: list[str], stdin: BinaryIO | None = None) -> Iterator[Found]:
    """The objects of all paths, not yet decoded. Files of directories that are no manifests are passed over, which is noted in
    `passed_over`. Raises `InputError`."""
    for file in _contents(paths, stdin):
        is_json = file.name.removesuffix(".gz").endswith(".json")
        try:
            yield from documents.find_objects(file.name, file.data, is_json=is_json)
        except InputError as error:
            if file.is_named or not _is_no_manifest(file, error):
                raise error.located(file=file.name) from error
            passed_over.append(f"{file.name} is no manifest and was passed over: {_reason(error)}")
        except RecursionError as error:
            raise InputError("is nested too deeply", file=file.name) from error


def _is_no_manifest(file: _File, error: InputError) -> bool:
    """Values of a chart, its templates, a kustomization without kind: what lies beside manifests in a directory."""
    if error.object is not None or error.item is not None:
        return False
    if file.name.removesuffix(".gz").endswith(".json"):
        return error.field == "kind"
    return _HAS_KIND.search(file.data) is None or b"{{" in file.data


def _reason(error: InputError) -> str:
    return f"{error.field} {error.message}" if error.field else error.message


class _Collection:
    """The objects that were found so far, each of them once."""

    def __init__(self, custom: Iterable[type[Object]], field_check: FieldCheck) -> None:
        self._custom = tuple(custom)
        self.field_check = field_check
        self.objects: list[LoadedObject] = []
        self.skipped: dict[str, int] = {}
        self._places: dict[tuple[type[Object], str], SourcePlace] = {}
        self._sharer = Sharer()
        self._generated: dict[tuple[type[Object], str, str], int] = {}
        self._documents = 0

    def add(self, found: Found) -> None:
        """Decode, name and check the object; one of an unknown kind is only counted."""
        cls = codec.class_for(found.header, self._custom)
        api_version = "" if cls is None else cls.API_VERSION
        self.field_check.check(found, api_version, lambda: _description(found, cls))
        if cls is None:
            self._skip(found.header)
            return
        try:
            obj = self._checked(self._named(_decode(found, cls)))
            self._remember(obj, found.place)
        except InputError as error:
            raise error.located(**found.place._asdict(), object=_description(found, cls)) from error
        except msgspec.ValidationError as error:
            unreadable = InputError("holds a number that is too long")
            raise unreadable.located(**found.place._asdict(), object=found.header.kind) from error
        self.objects.append(LoadedObject(obj, found.place, self._document(obj, found)))

    def _document(self, obj: Object, found: Found) -> bytes | dict[str, Any] | None:
        """The document on which changes of a pending pod's spec are shown; a node's pods are many, and their specs stay."""
        if not isinstance(obj, Pod) or obj.spec.node_name or self._documents == MOST_DOCUMENTS:
            return None
        self._documents += 1
        return found.data if isinstance(found.data, dict) else bytes(found.data)

    def _checked(self, obj: Object) -> Object:
        """The object, after a look at its quantities; a pod whose containers were seen before has nothing new to look at."""
        if not isinstance(obj, Pod):
            quantity_checks.check_quantities(obj)
            return obj
        shared = self._sharer.shared(obj)
        is_repeated = shared.spec.containers is not obj.spec.containers
        if not is_repeated or obj.spec.init_containers or obj.spec.overhead or obj.spec.resources:
            quantity_checks.check_quantities(obj)
        return shared

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

    def _remember(self, obj: Object, place: SourcePlace) -> None:
        identity = (type(obj), key(obj))
        first = self._places.setdefault(identity, place)
        if first is not place:
            raise InputError(f"is defined twice, first in {first}", object=f"{obj.KIND} {key(obj)}")


def _decode(found: Found, cls: type[Object]) -> Object:
    if isinstance(found.data, dict):
        return codec.convert(found.data, cls)
    return codec.decode(found.data, cls)


def _description(found: Found, cls: type[Object] | None) -> str:
    """`Pod default/web-0` for an object that could not be used, as far as it says so itself."""
    kind = found.header.kind or ""
    data = found.data if isinstance(found.data, dict) else codec.plain(found.data)
    meta = data.get("metadata")
    if not isinstance(meta, dict) or not meta.get("name"):
        return kind
    is_namespaced = bool(meta.get("namespace")) if cls is None else cls.NAMESPACED
    if not is_namespaced:
        return f"{kind} {meta['name']}"
    return f"{kind} {meta.get('namespace') or DEFAULT_NAMESPACE}/{meta['name']}"


def _contents(paths: Iterable[str], stdin: BinaryIO | None) -> Iterator[_File]:
    """Name and bytes of every file."""
    for path in paths:
        if path != STDIN:
            is_named = not Path(path).is_dir()
            for file in files_at(Path(path)):
                yield _File(str(file), _uncompressed(_read(file), str(file)), is_named)
        elif stdin is None:
            raise InputError("there is no standard input to read", file=STDIN)
        else:
            yield _File(STDIN, _uncompressed(stdin.read(), STDIN), True)


def files_at(path: Path) -> list[Path]:
    """The file itself, or the manifests in and below a folder, in order. Raises `InputError` for a folder without any."""
    if not path.is_dir():
        return [path]
    files = sorted(
        file for file in path.rglob("*") if file.name.removesuffix(".gz").endswith(SUFFIXES) and file.is_file()
    )
    if not files:
        raise InputError(f"contains no {', '.join(SUFFIXES)} file", file=str(path))
    return files


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error


def _uncompressed(data: bytes, file: str) -> bytes:
    """The data, unpacked if gzip has compressed it, whatever the file is called."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be uncompressed: {error}", file=file) from error
