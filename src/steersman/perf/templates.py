"""Template files → API objects: one file makes any number of objects, each from its index.

`node_making`, `pod_making` and the operations that create or update anything call `Template.make`. A file without
expressions is read and decoded once, and its objects share everything but their names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.api import codec, validation, yaml_documents
from steersman.errors import InputError
from steersman.perf.field_case import with_exact_names
from steersman.perf.go_templates import has_expressions, rendered

T = TypeVar("T", bound=api.Object)

ONE_DOCUMENT: Final = "a template file holds exactly one object"


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
        self._only: api.Object | None = None

    @property
    def varies(self) -> bool:
        """Whether objects differ by their index."""
        return has_expressions(self._text)

    def make(self, index: int = 0, count: int = 1) -> api.Object:
        """The object with that index of so many; may lack a name, but not both name and generateName."""
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
        made = self.make(index, count)
        if not isinstance(made, kind):
            raise InputError(
                "is of the wrong kind", file=self.file, field="kind", value=made.KIND, hint=f"use a {kind.KIND}"
            )
        return made

    def _decoded(self, text: str) -> api.Object:
        try:
            return _object(_document(text))
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
