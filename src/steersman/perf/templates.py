"""Template files → API objects: one file makes any number of objects, each from its index.

`node_making`, `pod_making` and the operations that create or update anything call `Template.make`. A file without
expressions is read and decoded once, and its objects share everything but their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from steersman import api
from steersman.api import codec, validation, yaml_documents
from steersman.errors import InputError
from steersman.perf.field_case import with_exact_names
from steersman.perf.go_templates import has_expressions, rendered

T = TypeVar("T", bound=api.Object)

ONE_DOCUMENT: Final = "a template file holds exactly one object"


class Draft(NamedTuple):
    """An object that is to be created."""

    object: api.Object
    #: The same as its template has it, with fields that Steersman does not read and an API server does; {} for an
    #: object that was made without a template.
    document: Mapping[str, Any] = {}


class UnknownKind(InputError):
    """The template is of a kind that Steersman does not read."""


class Template:
    """One file. Raises `InputError` that names the file."""

    def __init__(self, file: str) -> None:
        self.file = file
        try:
            self._text = Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=file) from error
        except UnicodeDecodeError as error:
            raise InputError("is not UTF-8 text", file=file) from error
        self._only: Draft | None = None

    @property
    def varies(self) -> bool:
        """Whether objects differ by their index."""
        return has_expressions(self._text)

    def make(self, index: int = 0, count: int = 1) -> api.Object:
        """The object with that index of so many."""
        return self.draft(index, count).object

    def draft(self, index: int = 0, count: int = 1) -> Draft:
        """The same, with its document."""
        if not self.varies:
            if self._only is None:
                self._only = self._decoded(self._text)
            return self._only
        try:
            return self._decoded(rendered(self._text, index, count))
        except InputError as error:
            raise error.located(file=self.file) from error

    def make_a(self, kind: type[T], index: int = 0, count: int = 1) -> T:
        """The same, of one kind."""
        return of_kind(kind, self.draft(index, count), self.file)

    def _decoded(self, text: str) -> Draft:
        try:
            document = _document(text)
            return Draft(_object(document), document)
        except InputError as error:
            raise error.located(file=self.file) from error


class Templates:
    """The files of one run, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, Template] = {}

    def __call__(self, file: str) -> Template:
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = Template(file)
        return known


def named(obj: T, **changes: Any) -> T:
    """The object with other metadata."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **changes))


def of_kind(kind: type[T], draft: Draft, file: str | None) -> T:
    """The drafted object if it is of the kind that an operation needs."""
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
    validation.check_quantities(obj)
    return obj
