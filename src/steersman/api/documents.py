# SPDX-License-Identifier: Apache-2.0
"""Parsing of files into undecoded API objects: YAML or JSON, several documents, lists split into
items.

`manifests` reads the files and decodes the objects. Items of a JSON list stay views of the file's
bytes until then, so that a dump of hundreds of megabytes needs little more memory than its objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from steersman.api import codec, decode_errors, yaml_documents
from steersman.base import InputError

D = TypeVar("D")
T = TypeVar("T")
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
#: Name, offset and magic number of archive formats.
_ARCHIVES: Final = (("tar", 257, b"ustar"), ("zip", 0, b"PK\x03\x04"))
_BLANK: Final = re.compile(r"\s*")


class SourcePlace(NamedTuple):
    """Location of an object; documents and list items are counted from 1."""

    file: str
    document: int
    item: int | None = None

    def __str__(self) -> str:
        return f"{self.file}, document {self.document}" + (f", item {self.item}" if self.item else "")


class Found(NamedTuple):
    """Object that is not decoded yet: JSON, or the content of a YAML document."""

    header: codec.Header
    data: bytes | msgspec.Raw | dict[str, Any]
    place: SourcePlace


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    items: list[msgspec.Raw] | None = None


def find_objects(file: str, data: bytes, *, is_json: bool) -> Iterator[Found]:
    """Yield all objects of a file, a JSON file if `is_json`. Raise `InputError`."""
    if not is_json and data.lstrip()[:1] != b"{":
        return _in_plain(file, yaml_documents.documents(_text(data)))
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        separated = not is_json and b"\n---" in data  # YAML documents in JSON notation
        if "trailing characters" in str(error) and not separated:
            return _in_plain(file, _concatenated(_text(data)))
        if is_json:
            raise decode_errors.malformed(error, data) from error
        return _in_plain(file, yaml_documents.documents(_text(data)))
    return _in_json(data, SourcePlace(file, 1), codec.Header())


def _in_json(data: bytes | msgspec.Raw, place: SourcePlace, list_header: codec.Header) -> Iterator[Found]:
    if bytes(data[:64] if isinstance(data, bytes) else data).lstrip()[:1] == b"[":
        _reject_list([], place)
    document = _at(place, codec.decode, data, _Document)
    header = _header(document.api_version, document.kind, list_header, place)
    if document.items is None or not _is_list(header):
        yield Found(header, data, place)
        return
    for index, item in enumerate(document.items, start=1):
        yield from _in_json(item, place._replace(item=index), header)


def _in_plain(file: str, documents: Iterable[Any]) -> Iterator[Found]:
    for index, document in enumerate(documents, start=1):
        if document is not None:
            yield from _in_document(document, SourcePlace(file, index), codec.Header())


def _in_document(data: Any, place: SourcePlace, list_header: codec.Header) -> Iterator[Found]:
    _reject_list(data, place)
    own = _at(place, codec.convert, data, codec.Header)
    header = _header(own.api_version, own.kind, list_header, place)
    items = data.get("items")
    if items is None or not _is_list(header):
        yield Found(header, data, place)
        return
    for index, item in enumerate(_at(place, codec.convert, items, list[Any]), start=1):
        yield from _in_document(item, place._replace(item=index), header)


def _header(api_version: str | None, kind: str | None, list_header: codec.Header, place: SourcePlace) -> codec.Header:
    """Return version and kind of an object; items without a kind have that of their list."""
    if kind:
        return codec.Header(api_version, kind)
    if list_header.kind and list_header.kind != "List":
        return codec.Header(list_header.api_version, list_header.kind.removesuffix("List"))
    raise InputError("is missing", field="kind", hint=codec.NEEDS_KIND).located(**place._asdict())


def _is_list(header: codec.Header) -> bool:
    return (header.kind or "").endswith("List")


def _reject_list(value: Any, place: SourcePlace) -> None:
    """Raise `InputError` for a list in place of an object, such as the output of `jq .items`."""
    if isinstance(value, list):
        hint = 'write {"apiVersion": "v1", "kind": "List", "items": […]}'
        raise InputError("must be an object, not a list", hint=hint).located(**place._asdict())


def _at(place: SourcePlace, decode: Callable[[D, type[T]], T], data: D, cls: type[T]) -> T:
    """Decode data, adding its location to errors."""
    try:
        return decode(data, cls)
    except InputError as error:
        raise error.located(**place._asdict()) from error


def _text(data: bytes) -> str:
    if data.startswith(_UTF16_MARKS):
        raise InputError("is UTF-16 text", hint="save it as UTF-8; PowerShell: `… | Out-File -Encoding utf8 FILE`")
    for archive, position, magic in _ARCHIVES:
        if data.startswith(magic, position):
            raise InputError(f"is a {archive} archive", hint="unpack it, and give the folder")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(decode_errors.NOT_UTF8) from error


def _concatenated(text: str) -> Iterator[Any]:
    """Yield concatenated JSON values, as from `jq -c` or several dumps."""
    decoder = json.JSONDecoder()
    position = _after_blanks(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise InputError(f"JSON is malformed: {error.msg}", line=error.lineno) from error
        except ValueError as error:  # a number with thousands of digits
            raise InputError("JSON holds a number that is too long", line=text.count("\n", 0, position) + 1) from error
        yield value
        position = _after_blanks(text, end)


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
