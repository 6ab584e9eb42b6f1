# SPDX-License-Identifier: Apache-2.0
"""Loading of manifests and dumps: files, directories and standard input, in YAML or JSON, objects
or lists.

Used for all user files by `simulate` and `Simulation.load`. `documents` finds the objects of a
file, `codec` decodes them, `object_check` and `quantity_checks` check them. JSON is about fifty
times as fast as YAML; files may be gzipped.
"""

from __future__ import annotations

import gzip
import io
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from steersman.api import codec, documents, quantity_checks
from steersman.api.added_definitions import GATES_OF_KINDS
from steersman.api.documents import Found, SourcePlace
from steersman.api.kinds import KINDS
from steersman.api.manifest_folders import CHART, renderer_of
from steersman.api.meta import Object, key
from steersman.api.object_check import ExtraRules, ObjectCheck, Validation
from steersman.api.pod import Pod
from steersman.api.schemas import definition_names
from steersman.api.sharing import Sharer
from steersman.api.text_files import errors_in_file
from steersman.api.wellknown import DEFAULT_NAMESPACE
from steersman.base import InputError

STDIN: Final = "-"
NO_OBJECTS: Final = "contains no objects"
SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Suffixes of files in directories, optionally followed by `.gz`."""
MAX_DOCUMENTS: Final = 1000
"""Maximum number of pending pods whose complete documents are retained."""
MIN_UNCOMPRESSED_LIMIT: Final = 64 << 20
MAX_COMPRESSION_RATIO: Final = 100
"""Maximum ratio of the decompressed size of a gzip file, above `MIN_UNCOMPRESSED_LIMIT` bytes."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_HAS_KIND: Final = re.compile(rb"""^["']?kind["']?\s*:""", re.MULTILINE)
"""Start of the `kind` field in a YAML document."""


class LoadedObject(NamedTuple):
    """Object and its location."""

    object: Object
    place: SourcePlace
    #: The complete JSON or plain data of pods without a node, up to `MAX_DOCUMENTS`.
    document: bytes | dict[str, Any] | None = None


class Loaded(NamedTuple):
    """All objects in input order, counts of skipped unknown kinds, and notes for the user: skipped
    files of directories, unknown fields."""

    objects: list[LoadedObject]
    skipped: dict[str, int]
    notes: tuple[str, ...] = ()


class _File(NamedTuple):
    """File to read; `is_named` if the user named it, rather than its directory."""

    name: str
    data: bytes
    is_named: bool


def load(
    paths: Iterable[str],
    stdin: BinaryIO | None = None,
    custom: Iterable[type[Object]] = (),
    validate: Validation = "warn",
    extra_rules: ExtraRules | None = None,
) -> Loaded:
    """Load all paths: files, directories recursively, `-` for `stdin`; also objects of `custom`
    kinds. `validate` determines the treatment of unknown fields and invalid values. Raises
    `InputError` with all unusable objects."""
    paths = list(paths)
    collection = _Collection(custom, ObjectCheck(validate, extra_rules))
    passed_over: list[str] = []
    for found in find_all(paths, passed_over, stdin):
        try:
            collection.add(found)
        except InputError as error:
            collection.object_check.add_error(error)
        except RecursionError:
            collection.object_check.add_error(InputError("is nested too deeply", file=found.place.file))
    collection.object_check.raise_errors()
    if paths and not collection.objects and not collection.skipped:
        raise InputError(NO_OBJECTS, file=", ".join(paths), hint=passed_over[0] if passed_over else None)
    notes = (*passed_over, *collection.object_check.lines())
    return Loaded(collection.objects, dict(sorted(collection.skipped.items())), notes)


def find_all(paths: Iterable[str], passed_over: list[str], stdin: BinaryIO | None = None) -> Iterator[Found]:
    """Yield the undecoded objects of all paths. Files of directories that are not manifests are
    skipped and noted in `passed_over`. Raises `InputError`."""
    for file in _contents(paths, passed_over, stdin):
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
    """Return whether the file is no manifest but a kustomization or chart values or templates."""
    if error.object is not None or error.item is not None:
        return False
    if file.name.removesuffix(".gz").endswith(".json"):
        return error.field == "kind"
    return _HAS_KIND.search(file.data) is None or b"{{" in file.data


def _reason(error: InputError) -> str:
    return f"{error.field} {error.message}" if error.field else error.message


class _Collection:
    """Objects found so far, without duplicates."""

    def __init__(self, custom: Iterable[type[Object]], object_check: ObjectCheck) -> None:
        self._custom = tuple(custom)
        self.object_check = object_check
        self.objects: list[LoadedObject] = []
        self.skipped: dict[str, int] = {}
        self._places: dict[tuple[type[Object], str], SourcePlace] = {}
        self._sharer = Sharer()
        self._generated: dict[tuple[type[Object], str, str], int] = {}
        self._documents = 0

    def add(self, found: Found) -> None:
        """Decode, name and check an object; unknown kinds are only counted."""
        cls = codec.class_for(found.header, self._custom)
        api_version = "" if cls is None else cls.API_VERSION
        if cls is None or (cls not in self._custom and not _is_served(found.header)):
            self.object_check.check_kind(found, lambda: _description(found, cls))
            self.object_check.check(found, api_version, lambda: _description(found, cls), checks_values=False)
            self._skip(found.header)
            return
        try:
            obj = self._checked(self._named(_decode(found, cls)), found.place)
            self._remember(obj, found.place)
            is_read_version = found.header.api_version in (None, cls.API_VERSION)
            self.object_check.check(found, api_version, lambda: _description(found, cls), checks_values=is_read_version)
        except InputError as error:
            raise error.located(**found.place._asdict(), object=_description(found, cls)) from error
        except msgspec.ValidationError as error:
            unreadable = InputError("holds a number that is too long")
            raise unreadable.located(**found.place._asdict(), object=found.header.kind) from error
        self.objects.append(LoadedObject(obj, found.place, self._document(obj, found)))

    def _document(self, obj: Object, found: Found) -> bytes | dict[str, Any] | None:
        """Return the document of a pending pod, for showing spec changes; None for bound pods,
        which are many and unchanged."""
        if not isinstance(obj, Pod) or obj.spec.node_name or self._documents == MAX_DOCUMENTS:
            return None
        self._documents += 1
        return found.data if isinstance(found.data, dict) else bytes(found.data)

    def _checked(self, obj: Object, place: SourcePlace) -> Object:
        """Return the object after checking its quantities, skipped for known containers of pods."""
        if not isinstance(obj, Pod):
            self._check_quantities(obj, place)
            return obj
        shared = self._sharer.shared(obj)
        is_repeated = shared.spec.containers is not obj.spec.containers
        if not is_repeated or obj.spec.init_containers or obj.spec.overhead or obj.spec.resources:
            self._check_quantities(obj, place)
        return shared

    def _check_quantities(self, obj: Object, place: SourcePlace) -> None:
        quantity_checks.check_quantities(obj)
        for note in quantity_checks.implausible(obj):
            located = note.located(**place._asdict(), object=f"{obj.KIND} {key(obj)}")
            self.object_check.add_note(obj.KIND, located)

    def _skip(self, header: codec.Header) -> None:
        kind = header.kind or ""
        # Only the name is known: another API group, or a version with other fields.
        if kind in KINDS or any(kind == known.KIND for known in self._custom):
            kind = f"{kind} ({header.api_version})"
        self.skipped[kind] = self.skipped.get(kind, 0) + 1

    def _named(self, obj: Object) -> Object:
        """Return the object with the namespace and name that an API server would store."""
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


def _is_served(header: codec.Header) -> bool:
    """Return whether an API server with default feature gates serves the kind's version."""
    identity = (header.api_version or "", header.kind or "")
    return not header.api_version or (identity in definition_names() and identity not in GATES_OF_KINDS)


def _decode(found: Found, cls: type[Object]) -> Object:
    if isinstance(found.data, dict):
        return codec.convert(found.data, cls)
    return codec.decode(found.data, cls)


def _description(found: Found, cls: type[Object] | None) -> str:
    """Describe an unusable object as far as possible: `Pod default/web-0`."""
    kind = found.header.kind or ""
    data = found.data if isinstance(found.data, dict) else codec.plain(found.data)
    meta = data.get("metadata")
    if not isinstance(meta, dict) or not meta.get("name"):
        return kind
    is_namespaced = bool(meta.get("namespace")) if cls is None else cls.NAMESPACED
    if not is_namespaced:
        return f"{kind} {meta['name']}"
    return f"{kind} {meta.get('namespace') or DEFAULT_NAMESPACE}/{meta['name']}"


def _contents(paths: Iterable[str], passed_over: list[str], stdin: BinaryIO | None) -> Iterator[_File]:
    """Yield the name and bytes of every file."""
    for path in paths:
        if path != STDIN:
            _check_path(path)
            renderer = renderer_of(Path(path))
            if renderer is not None:
                raise InputError(f"is {renderer.folder}, which has to be rendered", file=path, hint=renderer.hint)
            is_named = not Path(path).is_dir()
            with errors_in_file(path):
                charts = [] if is_named else sorted({file.parent for file in Path(path).rglob(CHART)})
            passed_over += (f"{chart} is a Helm chart and was passed over" for chart in charts)
            for file in files_at(Path(path)):
                if any(file.is_relative_to(chart) for chart in charts):
                    continue
                yield _File(str(file), decompressed(_read(file), str(file)), is_named)
        elif stdin is None:
            raise InputError("there is no standard input to read", file=STDIN)
        else:
            yield _File(STDIN, decompressed(stdin.read(), STDIN), True)


def _check_path(path: str) -> None:
    """Raise `InputError` for a URL, and for an empty path, which would mean the current folder."""
    if not path:
        raise InputError("a path is empty; name a file or a folder, or - for the standard input")
    if "://" in path:
        raise InputError("is a URL", file=path, hint=f"pipe `curl -fL {shlex.quote(path)}` to `-f -`")


def files_at(path: Path) -> list[Path]:
    """Return the file itself, or all manifests in a folder, sorted. Raises `InputError` if there
    are none."""
    if not path.is_dir():
        return [path]
    with errors_in_file(str(path)):
        files = sorted(
            file for file in path.rglob("*") if file.name.removesuffix(".gz").endswith(SUFFIXES) and file.is_file()
        )
    if not files:
        raise InputError(f"contains no {', '.join(SUFFIXES)} file", file=str(path))
    return files


def _read(file: Path) -> bytes:
    with errors_in_file(str(file)):
        return file.read_bytes()


def decompressed(data: bytes, file: str) -> bytes:
    """Decompress gzip data, regardless of the file's name. Raises `InputError`."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    limit = max(MIN_UNCOMPRESSED_LIMIT, MAX_COMPRESSION_RATIO * len(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            content = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be uncompressed: {error}", file=file) from error
    if len(content) > limit:
        hint = "decompress it yourself if you trust it"
        raise InputError(f"is larger than {limit >> 20} MiB when it is decompressed", file=file, hint=hint)
    return content
