# SPDX-License-Identifier: Apache-2.0
"""JSON and plain dicts ↔ typed objects.

Used by everything that reads or writes API objects: manifests, the embedded cluster, the client. Decoding is msgspec's;
what is added here is Go's treatment of `null` (as if the field were absent), errors that name field and value, and that no
text, however deep or long its values, ends in anything but an object or an `InputError`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from steersman.api import decode_errors, nesting
from steersman.api.kinds import KINDS
from steersman.api.meta import Object
from steersman.errors import InputError

T = TypeVar("T")

NEEDS_KIND: Final = 'an object needs "apiVersion" and "kind"'

_STRING_MAPS: Final = frozenset({"labels", "annotations", "matchLabels"})
"""Maps whose `null` values are empty strings; elsewhere a `null` is an absent entry."""
_FOREIGN_SHAPES: Final = frozenset({"resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1"})
"""Versions of known kinds whose fields differ from those of the version that is read."""


class Header(msgspec.Struct, frozen=True, rename="camel"):
    """The fields that identify the kind of an object."""

    api_version: str | None = None
    kind: str | None = None


def class_for(header: Header, custom: Iterable[type[Object]] = ()) -> type[Object] | None:
    """The Struct for a kind, None for one that is not read (also: a Service of another API group). Of `custom` kinds, which
    others have declared, one version is read."""
    for kind in custom:
        if (header.api_version, header.kind) == (kind.API_VERSION, kind.KIND):
            return kind
    cls = KINDS.get(header.kind or "")
    if cls is None or not header.api_version:
        return cls
    same_group = _group(header.api_version) == _group(cls.API_VERSION)
    return cls if same_group and header.api_version not in _FOREIGN_SHAPES else None


def decode(data: bytes | msgspec.Raw, cls: type[T]) -> T:
    """JSON → typed; raises `InputError` that names the field and its value. A value that nests too deeply counts as `null`
    in fields that are not read."""
    try:
        result: T = _decoder(cls).decode(data)
        return result
    except RecursionError:
        return _decode_pruned(nesting.pruned(bytes(data)), cls)
    except msgspec.ValidationError:
        return convert(plain(data), cls)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise decode_errors.malformed(error, bytes(data)) from error


def plain(data: bytes | msgspec.Raw) -> Any:
    """JSON → dicts and lists, as deep as `nesting.DEEPEST`; raises `InputError`. A number that Python does not read, because
    it has thousands of digits, stays text."""
    text = nesting.pruned(bytes(data))
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return _with_long_numbers(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise decode_errors.malformed(error, text) from error


def convert(data: Any, cls: type[T]) -> T:
    """Plain dicts and lists → typed; raises `InputError` that names the field and its value."""
    try:
        return msgspec.convert(data, cls)
    except msgspec.ValidationError:
        data = without_nulls(data)
    try:
        return msgspec.convert(data, cls)
    except msgspec.ValidationError as error:
        raise decode_errors.invalid(error, data) from error


def convert_part(data: Any, cls: type[T], path: str) -> T:
    """Makes a struct of the part of an object at a path, such as a template; errors name fields from the object's root."""
    try:
        return convert(data, cls)
    except InputError as error:
        raise error.beneath(path) from error


def convert_object(data: Any, custom: Iterable[type[Object]] = ()) -> Object:
    """Plain dict → the typed object of the kind that it names."""
    return convert(data, _known_class(convert(data, Header), custom))


def encode(obj: Object) -> bytes:
    """Typed → JSON, with `apiVersion` and `kind`."""
    return with_kind(obj.API_VERSION, obj.KIND, msgspec.json.encode(obj))


def with_kind(api_version: str, kind: str, body: bytes) -> bytes:
    """The JSON of an object, with `apiVersion` and `kind` before the rest."""
    header = f'{{"apiVersion":"{api_version}","kind":"{kind}"'.encode()
    return header + (b"}" if body == b"{}" else b"," + body[1:])


def to_dict(obj: Object) -> dict[str, Any]:
    """Typed → plain dicts and lists, with `apiVersion` and `kind`."""
    result: dict[str, Any] = msgspec.json.decode(encode(obj))
    return result


def without_nulls(data: Any) -> Any:
    """The data without entries that are `null`, as Go reads it."""
    if isinstance(data, list):
        return [without_nulls(element) for element in data]
    if not isinstance(data, dict):
        return data
    return {
        name: _strings(value) if name in _STRING_MAPS else without_nulls(value)
        for name, value in data.items()
        if value is not None
    }


def _decode_pruned(text: bytes, cls: type[T]) -> T:
    try:
        result: T = _decoder(cls).decode(text)
        return result
    except msgspec.ValidationError:
        return convert(plain(text), cls)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise decode_errors.malformed(error, text) from error


def _with_long_numbers(text: bytes) -> Any:
    """The standard library asks what to do with numbers; msgspec does not."""
    try:
        return json.loads(text.decode(), parse_int=_number, parse_float=_number, parse_constant=_no_constant)
    except ValueError as error:
        raise InputError(f"JSON is malformed: {error}") from error


def _number(digits: str) -> int | float | str:
    try:
        number: int | float = msgspec.json.decode(digits)
    except msgspec.DecodeError:
        return digits
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _strings(labels: Any) -> Any:
    if not isinstance(labels, dict):
        return labels
    return {name: "" if value is None else value for name, value in labels.items()}


def _known_class(header: Header, custom: Iterable[type[Object]] = ()) -> type[Object]:
    if not header.kind:
        raise InputError("is missing", field="kind", hint=NEEDS_KIND)
    cls = class_for(header, custom)
    if cls is None:
        kind = f"{header.kind} ({header.api_version})" if header.api_version else header.kind
        raise InputError("is not a kind that can be read", field="kind", value=kind)
    return cls


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def _decoder(cls: type) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(cls)
    if decoder is None:
        decoder = _decoders[cls] = msgspec.json.Decoder(cls)
    return decoder
