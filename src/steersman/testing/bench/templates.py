# SPDX-License-Identifier: Apache-2.0
"""Template files for API objects: one file makes any number of objects, each from its index.

A file without expressions is decoded once, and its objects share everything but their names. Field
names are matched like Go's encoding/json: exactly, or else case-insensitively; a kube-apiserver is
stricter, and so is Steersman elsewhere.

`go_templates` has the expressions of templates: `{{ .Index }}`, `{{ .Count }}`, parameters of the
operation, and functions of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from steersman import api
from steersman.api import codec, quantity_checks, read_text, yaml_documents
from steersman.base import InputError
from steersman.testing.bench import go_templates

T = TypeVar("T", bound=api.Object)

NO_PARAMETERS: Final[Mapping[str, Any]] = MappingProxyType({})
ONE_DOCUMENT: Final = "a template file holds exactly one object"


class Draft(NamedTuple):
    """An object to create."""

    object: api.Object
    #: The object as in its template, including fields that Steersman does not read; {} for an
    #: object without a template.
    document: Mapping[str, Any] = {}


class UnknownKind(InputError):
    """Error for a template of a kind that Steersman does not read."""


class Template:
    """One template file. Errors in it raise `InputError` with the file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._text = read_text(file)
        self._only: Draft | None = None
        self._block: go_templates.Block | None = None

    def draft(self, index: int = 0, count: int = 1, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Draft:
        """Return the object with this index, out of `count`, of an operation with these
        parameters."""
        if not go_templates.has_expressions(self._text):
            if self._only is None:
                self._only = self._decoded(self._text)
            return self._only
        try:
            self._block = self._block or go_templates.parse(self._text)
            text = self._block.render({go_templates.DOT: {**parameters, "Index": index, "Count": count}})
            return self._decoded(text)
        except InputError as error:
            raise error.located(file=self.file) from error

    def make_object(self, kind: type[T]) -> T:
        """Return the first object, which must be of this kind."""
        return of_kind(kind, self.draft(), self.file)

    def _decoded(self, text: str) -> Draft:
        try:
            document = _document(text)
            return Draft(_object(document), document)
        except InputError as error:
            raise error.located(file=self.file) from error


class Templates:
    """Template files of one run, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Template] = {}

    def __call__(self, file: str) -> Template:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = Template(file)
        return known


def named(obj: T, **changes: Any) -> T:
    """Return the object with changed metadata."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **changes))


def of_kind(kind: type[T], draft: Draft, file: str | None) -> T:
    """Return the draft's object. Raise `InputError` if it is of another kind."""
    made = draft.object
    if not isinstance(made, kind):
        raise InputError("is of the wrong kind", file=file, field="kind", value=made.KIND, hint=f"use a {kind.KIND}")
    return made


def _document(text: str) -> dict[str, Any]:
    found = [document for document in yaml_documents.documents(text) if document is not None]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise InputError(f"has {len(found)} documents", hint=ONE_DOCUMENT)
    return found[0]


def _object(data: dict[str, Any]) -> api.Object:
    header = codec.convert(data, codec.Header)
    kind = codec.class_for(header)
    if kind is None:
        raise UnknownKind("is not a kind that Steersman reads", field="kind", value=header.kind or "")
    obj = codec.convert(with_exact_names(data, kind), kind)
    quantity_checks.check_quantities(obj)
    return obj


# -- field names -------------------------------------------------------------------------------------------------------


def with_exact_names(data: Any, kind: type[api.Object]) -> Any:
    """Return the document with its keys in the exact spelling of the kind's fields."""
    return _with_exact_names(data, _type_info(kind))


@cache
def _type_info(kind: type[api.Object]) -> inspect.Type:
    return inspect.type_info(kind)


def _with_exact_names(data: Any, type_: inspect.Type) -> Any:
    for option in type_.types if isinstance(type_, inspect.UnionType) else (type_,):
        if isinstance(data, dict) and isinstance(option, inspect.StructType):
            fields = _fields(option.cls)
            return dict(_exact_field(name, value, fields) for name, value in data.items())
        if isinstance(data, dict) and isinstance(option, inspect.DictType):
            return {name: _with_exact_names(value, option.value_type) for name, value in data.items()}
        if isinstance(data, list) and isinstance(option, (inspect.ListType, inspect.VarTupleType)):
            return [_with_exact_names(element, option.item_type) for element in data]
    return data


def _exact_field(name: str, value: Any, fields: dict[str, tuple[str, inspect.Type]]) -> tuple[str, Any]:
    known = fields.get(name) or fields.get(name.lower())
    return (name, value) if known is None else (known[0], _with_exact_names(value, known[1]))


@cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, tuple[str, inspect.Type]]:
    """Return the fields of a Struct by exact and by lowercase name."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    entries = [(field.encode_name, field.type) for field in info.fields]
    return {name.lower(): (name, type_) for name, type_ in entries} | {name: (name, type_) for name, type_ in entries}
