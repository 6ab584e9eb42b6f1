# SPDX-License-Identifier: Apache-2.0
"""Bytes of a file → the API objects in it, still undecoded: YAML or JSON, one document or many, lists taken apart.

`manifests` gives the bytes and decodes what comes out. The items of a JSON list stay views of the file's bytes until
then, so that a dump of hundreds of megabytes needs little more memory than its objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from steersman.api import codec, decode_errors, yaml_documents
from steersman.errors import InputError

D = TypeVar("D")
T = TypeVar("T")
_BLANK: Final = re.compile(r"\s*")


class SourcePlace(NamedTuple):
    """Where an object was found; document and item of a list are counted from 1."""

    file: str
    document: int
    item: int | None = None

    def __str__(self) -> str:
        return f"{self.file}, document {self.document}" + (f", item {self.item}" if self.item else "")


class Found(NamedTuple):
    """An object that is yet to be decoded: JSON, or what a YAML document held."""

    header: codec.Header
    data: bytes | msgspec.Raw | dict[str, Any]
    place: SourcePlace


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    items: list[msgspec.Raw] | None = None


def find_objects(file: str, data: bytes, *, is_json: bool) -> Iterator[Found]:
    """All objects of a file; `is_json` says that its name promises JSON. Raises `InputError`."""
    if not is_json and data.lstrip()[:1] != b"{":
        return _in_plain(file, yaml_documents.documents(_text(data)))
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        separated = not is_json and b"\n---" in data  # YAML documents in JSON's notation
        if "trailing characters" in str(error) and not separated:
            return _in_plain(file, _concatenated(_text(data)))
        if is_json:
            raise decode_errors.malformed(error, data) from error
        return _in_plain(file, yaml_documents.documents(_text(data)))
    return _in_json(data, SourcePlace(file, 1), codec.Header())


def _in_json(data: bytes | msgspec.Raw, place: SourcePlace, list_header: codec.Header) -> Iterator[Found]:
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
    own = _at(place, codec.convert, data, codec.Header)
    header = _header(own.api_version, own.kind, list_header, place)
    items = data.get("items")
    if items is None or not _is_list(header):
        yield Found(header, data, place)
        return
    for index, item in enumerate(_at(place, codec.convert, items, list[Any]), start=1):
        yield from _in_document(item, place._replace(item=index), header)


def _header(api_version: str | None, kind: str | None, list_header: codec.Header, place: SourcePlace) -> codec.Header:
    """The version and kind of an object; an item that does not say its kind is what its list is a list of."""
    if kind:
        return codec.Header(api_version, kind)
    if list_header.kind and list_header.kind != "List":
        return codec.Header(list_header.api_version, list_header.kind.removesuffix("List"))
    raise InputError("is missing", field="kind", hint=codec.NEEDS_KIND).located(**place._asdict())


def _is_list(header: codec.Header) -> bool:
    return (header.kind or "").endswith("List")


def _at(place: SourcePlace, decode: Callable[[D, type[T]], T], data: D, cls: type[T]) -> T:
    """Decode; an error says where the data stands."""
    try:
        return decode(data, cls)
    except InputError as error:
        raise error.located(**place._asdict()) from error


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(decode_errors.NOT_UTF8) from error


def _concatenated(text: str) -> Iterator[Any]:
    """The values of a stream of JSON values, as `jq -c` or several dumps in one file make it."""
    decoder = json.JSONDecoder()
    position = _after_blanks(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise InputError(f"JSON is malformed: {error.msg}", line=error.lineno) from error
        except ValueError as error:  # a number of thousands of digits
            raise InputError("JSON holds a number that is too long", line=text.count("\n", 0, position) + 1) from error
        yield value
        position = _after_blanks(text, end)


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
