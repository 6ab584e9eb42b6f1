# SPDX-License-Identifier: Apache-2.0
"""Conversion between JSON, plain dicts and typed objects.

Used by all code that reads or writes API objects: manifests, the embedded cluster, the client.
Decoding is msgspec's, with additions: Go's treatment of `null` (absent), errors that name field and
value, and the guarantee that any text yields an object or an `InputError`, however deep or long its
values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from steersman.api import decode_errors, nesting
from steersman.api.kinds import KINDS
from steersman.api.meta import Object
from steersman.base import InputError

T = TypeVar("T")

NEEDS_KIND: Final = 'an object needs "apiVersion" and "kind"'

_STRING_MAPS: Final = frozenset({"labels", "annotations", "matchLabels"})
"""Maps whose `null` values are empty strings; elsewhere, `null` is an absent entry."""
_FOREIGN_SHAPES: Final = frozenset(
    {"resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2"}
)
"""Versions of known kinds whose fields differ from the version that is read."""


class Header(msgspec.Struct, frozen=True, rename="camel"):
    """Fields that identify the kind of an object."""

    api_version: str | None = None
    kind: str | None = None


def class_for(header: Header, custom: Iterable[type[Object]] = ()) -> type[Object] | None:
    """Return the Struct for a kind; None if it is not read (such as a Service of another API
    group). Of `custom` kinds, only the declared version is read."""
    for kind in custom:
        if (header.api_version, header.kind) == (kind.API_VERSION, kind.KIND):
            return kind
    cls = KINDS.get(header.kind or "")
    if cls is None or not header.api_version:
        return cls
    same_group = _group(header.api_version) == _group(cls.API_VERSION)
    return cls if same_group and header.api_version not in _FOREIGN_SHAPES else None


def decode(data: bytes | msgspec.Raw, cls: type[T]) -> T:
    """Decode JSON to a typed object. Raises `InputError` with field and value. Too deeply nested
    values in fields that are not read count as `null`."""
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
    """Decode JSON to dicts and lists, up to `nesting.MAX_DEPTH`. Raises `InputError`. Numbers with
    too many digits for Python stay text."""
    text = nesting.pruned(bytes(data))
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return _with_long_numbers(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise decode_errors.malformed(error, text) from error


def convert(data: Any, cls: type[T]) -> T:
    """Convert plain data to a typed object. Raises `InputError` with field and value."""
    try:
        return msgspec.convert(data, cls)
    except msgspec.ValidationError:
        data = without_nulls(data)
    try:
        return msgspec.convert(data, cls)
    except msgspec.ValidationError as error:
        raise decode_errors.invalid(error, data) from error


def convert_part(data: Any, cls: type[T], path: str) -> T:
    """Convert a part of an object, such as a template; errors have paths from the object's root."""
    try:
        return convert(data, cls)
    except InputError as error:
        raise error.beneath(path) from error


def convert_object(data: Any, custom: Iterable[type[Object]] = ()) -> Object:
    """Convert a dict to a typed object of its kind."""
    return convert(data, _known_class(convert(data, Header), custom))


def encode(obj: Object) -> bytes:
    """Encode an object as JSON, with `apiVersion` and `kind`."""
    return with_kind(obj.API_VERSION, obj.KIND, msgspec.json.encode(obj))


def with_kind(api_version: str, kind: str, body: bytes) -> bytes:
    """Prepend `apiVersion` and `kind` to the JSON of an object."""
    header = f'{{"apiVersion":"{api_version}","kind":"{kind}"'.encode()
    return header + (b"}" if body == b"{}" else b"," + body[1:])


def to_dict(obj: Object) -> dict[str, Any]:
    """Convert an object to plain data, with `apiVersion` and `kind`."""
    result: dict[str, Any] = msgspec.json.decode(encode(obj))
    return result


def without_nulls(data: Any) -> Any:
    """Remove `null` entries, as Go reads them."""
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
    """Decode JSON with long numbers by the standard library: msgspec has no number hooks."""
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
