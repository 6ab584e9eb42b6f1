# SPDX-License-Identifier: Apache-2.0
"""Validation by declarations of fields (upstream: `+k8s:` tags and
`apimachinery/pkg/api/validate`).

A `Structure` lists the fields of an object in upstream's order. On updates, a field that has not
changed is not validated again; elements of lists with a key are compared with the old element of
the same key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.api.json_values import Document, is_same
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.rule_table import shared_check

IMMUTABLE: Final = "field is immutable"
NOT_SET_LATER: Final = "field cannot be set once created"
NOT_CLEARED: Final = "field cannot be cleared once set"
NOT_ADDED: Final = "item may not be added"
NOT_REMOVED: Final = "item may not be removed"

_ABSENT: Final[tuple[Any, ...]] = (None, [])
_ZEROS: Final[tuple[Any, ...]] = (*_ABSENT, "", 0)


class Field(msgspec.Struct, frozen=True):
    """Rules of one field."""

    name: str
    #: Rule of the value, as in `rules.txt`; "" for none.
    check: str = ""
    #: Structure of the value or of the elements of a list; a name in the table of structures.
    structure: str = ""
    is_required: bool = False
    is_immutable: bool = False
    #: Whether the field can neither be set nor cleared after creation.
    is_fixed: bool = False
    max_items: int = 0
    #: Key of list elements; "" for other fields.
    key: str = ""
    #: Whether elements can neither be added nor removed after creation.
    has_fixed_items: bool = False
    #: Value of an absent field on updates; None for no value.
    default: Any = None


class Structure(msgspec.Struct, frozen=True):
    """Rules of an object."""

    fields: tuple[Field, ...]
    #: Fields of which exactly one must be set.
    union: tuple[str, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """A value at a path, with the value that it replaces."""

    path: str
    value: Any
    old: Any = None
    is_update: bool = False
    #: Whether `old` is the previous version of the value, rather than that of another element.
    has_old: bool = False

    def child(self, field: Field) -> Change:
        name = field.name
        value, old = self.value.get(name), self.old.get(name) if isinstance(self.old, Mapping) else None
        if field.default is not None and (self.is_update or field.structure):
            value = field.default if value is None else value
            old = field.default if old is None and self.has_old else old
        return Change(f"{self.path}.{name}", value, old, self.is_update, self.has_old)

    @property
    def is_unchanged(self) -> bool:
        return self.is_update and self.has_old and (is_same(self.value, self.old) or self.is_absent_in_both)

    @property
    def is_absent(self) -> bool:
        return self.value in _ABSENT

    @property
    def is_absent_in_both(self) -> bool:
        return self.is_absent and self.old in _ABSENT


Structures = Mapping[str, Structure]


def created(path: str, document: Document) -> Change:
    """Return the value of a new object."""
    return Change(path, document)


def updated(path: str, document: Document, old: Document) -> Change:
    """Return the changed value of an object."""
    return Change(path, document, old, is_update=True, has_old=True)


def declared_errors(structures: Structures, name: str, change: Change) -> Iterator[FieldError]:
    """Yield the errors of an object by the structure with this name."""
    structure = structures[name]
    yield from _union_errors(structure.union, change)
    for field in structure.fields:
        yield from _field_errors(structures, field, change.child(field))


def _union_errors(members: tuple[str, ...], change: Change) -> Iterator[FieldError]:
    given = [name for name in members if change.value.get(name) not in _ABSENT]
    if not members or len(given) == 1:
        return
    if change.is_update and isinstance(change.old, Mapping) and _is_same_union(members, given, change.old):
        return
    known = ", ".join(f"`{name}`" for name in members)
    if given:
        yield FieldError.invalid(change.path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {known}")
    else:
        yield FieldError.invalid(change.path, "", f"must specify one of: {known}")


def _is_same_union(members: tuple[str, ...], given: list[str], old: Mapping[str, Any]) -> bool:
    return given == [name for name in members if old.get(name) not in _ABSENT]


def _field_errors(structures: Structures, field: Field, change: Change) -> Iterator[FieldError]:
    if change.is_unchanged:
        return
    refusals = list(_refusals(field, change))
    yield from refusals
    if refusals or change.is_absent:
        return
    if isinstance(change.value, list):
        yield from _element_errors(structures, field, change)
        return
    if field.check:
        yield from shared_check(field.check)(change.path, change.value)
    if field.structure and isinstance(change.value, Mapping):
        yield from declared_errors(structures, field.structure, change)


def _refusals(field: Field, change: Change) -> Iterator[FieldError]:
    """Yield the errors after which the value itself is not validated."""
    path = change.path
    if change.is_update and field.is_immutable:
        yield FieldError.invalid(path, None, IMMUTABLE)
    if field.is_required and change.value in _ZEROS:
        yield FieldError.required(path)
    if change.is_update and field.is_fixed and change.is_absent != (change.old in _ABSENT):
        yield FieldError.invalid(path, None, NOT_CLEARED if change.is_absent else NOT_SET_LATER)
    if field.max_items and len(change.value or ()) > field.max_items:
        yield FieldError.too_many(path, len(change.value), field.max_items)
    if change.is_update and field.has_fixed_items:
        yield from _item_changes(field, change)


def _item_changes(field: Field, change: Change) -> Iterator[FieldError]:
    new, old = ([item.get(field.key) for item in items or ()] for items in (change.value, change.old))
    yield from (
        FieldError.forbidden(f"{change.path}[{index}]", NOT_ADDED) for index, key in enumerate(new) if key not in old
    )
    yield from (FieldError.forbidden(change.path, NOT_REMOVED) for key in old if key not in new)


def _element_errors(structures: Structures, field: Field, change: Change) -> Iterator[FieldError]:
    seen: set[Any] = set()
    for index, item in enumerate(change.value if field.key else ()):
        if item.get(field.key) in seen:
            yield FieldError.duplicate(f"{change.path}[{index}]", item)
        seen.add(item.get(field.key))
    known = {item.get(field.key): item for item in change.old or ()} if field.key else {}
    for index, item in enumerate(change.value):
        old = known.get(item.get(field.key)) if field.key else None
        element = Change(f"{change.path}[{index}]", item, old, change.is_update, old is not None)
        if not element.is_unchanged:
            yield from declared_errors(structures, field.structure, element)
