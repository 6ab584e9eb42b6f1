# SPDX-License-Identifier: Apache-2.0
"""Operations on documents by schema: field sets, comparison, merge, removal of fields.

Objects are merged by field unless the schema declares them atomic, lists of type `map` by key and
lists of type `set` by value; other lists are replaced. Without a schema, objects are merged and
lists replaced. Used by `managed_fields` and `server_side_apply`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.api import FieldSchema, is_same
from steersman.cluster.apiserver.field_sets import FIELD, FieldSet, Path, below, keys_step, path_text, value_step
from steersman.cluster.store.documents import Document

ABSENT: Final[Any] = msgspec.UNSET
"""Placeholder for an absent value, unlike null."""


class NotAsDeclared(Exception):
    """The document does not conform to its schema; the text is the path and reason."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path_text(path)}: {why}")


class FieldComparison(msgspec.Struct, frozen=True):
    """Fields that differ between two documents."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    @property
    def written(self) -> FieldSet:
        return self.added | self.modified


def keyed_elements(elements: list[Any], schema: FieldSchema, path: Path) -> list[tuple[str, Any]]:
    """Return the elements of a list of type map or set with their steps. Raises `NotAsDeclared`."""
    return [(_element_step(element, schema, path), element) for element in elements]


def _element_step(element: Any, schema: FieldSchema, path: Path) -> str:
    if schema.list_type == "set":
        if isinstance(element, (dict, list)) or element is None:
            raise NotAsDeclared(path, "associative list without keys has an element that's a map type")
        return value_step(element)
    if not isinstance(element, dict):
        what = "a null element" if element is None else "non-map elements"
        raise NotAsDeclared(path, f"associative list with keys may not have {what}")
    keys = {name: element.get(name, _key_default(schema, name)) for name in schema.list_map_keys}
    known = {name: value for name, value in keys.items() if value is not None}
    if not known:
        names = " ".join(f'"{name}"' for name in schema.list_map_keys)
        raise NotAsDeclared(
            path,
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)",
        )
    return keys_step(known)


def _key_default(schema: FieldSchema, name: str) -> Any:
    child = None if schema.elements is None else schema.elements.child(name)
    return None if child is None else child.default


def is_granular(value: Any, schema: FieldSchema | None) -> bool:
    """Return whether the value is merged by member; otherwise it is a leaf."""
    if isinstance(value, dict):
        return schema is None or not schema.is_atomic_map
    return isinstance(value, list) and schema is not None and schema.list_type in ("map", "set")


# -- which fields there are ------------------------------------------------------------------------


def field_set(document: Document, schema: FieldSchema | None, *, is_stored: bool = False) -> FieldSet:
    """Return the fields that the document sets. Raises `NotAsDeclared`. Undeclared fields and
    duplicate keys are errors unless the document `is_stored`."""
    return frozenset(_fields(document, schema, (), is_stored))


def _fields(value: Any, schema: FieldSchema | None, path: Path, is_stored: bool) -> Iterator[Path]:
    if not is_granular(value, schema):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _member_fields(name, member, schema, (*path, FIELD + name), is_stored)
    elif schema is not None:
        seen: set[str] = set()
        for step, element in keyed_elements(value, schema, path):
            if step in seen and not is_stored:
                raise NotAsDeclared(path, f"duplicate entries for key {path_text((step,))}")
            seen.add(step)
            yield from _fields(element, schema.elements, (*path, step), is_stored)
            yield (*path, step)


def _member_fields(name: str, value: Any, parent: FieldSchema | None, path: Path, is_stored: bool) -> Iterator[Path]:
    child = None if parent is None else parent.child(name)
    is_declared = parent is not None and name in parent.names
    if not is_stored and parent is not None and child is None and not parent.preserves_unknown_fields:
        raise NotAsDeclared(path, "field not declared in schema")
    if value is None or value == {} or not is_declared:
        yield path
    if value is not None:
        yield from _fields(value, child, path, is_stored)


# -- what differs ----------------------------------------------------------------------------------


def compared(old: Document, new: Document, schema: FieldSchema | None) -> FieldComparison:
    """Compare two documents. Raises `NotAsDeclared` if list elements have no keys."""
    walk = _Compare()
    walk.compare(old, new, schema, ())
    return FieldComparison(frozenset(walk.added), frozenset(walk.modified), frozenset(walk.removed))


class _Compare:
    def __init__(self) -> None:
        self.added: set[Path] = set()
        self.modified: set[Path] = set()
        self.removed: set[Path] = set()

    def compare(self, old: Any, new: Any, schema: FieldSchema | None, path: Path) -> None:
        if old is new:
            return
        if old is ABSENT or new is ABSENT:
            self._one_sided(new if old is ABSENT else old, schema, path, self.added if old is ABSENT else self.removed)
        elif isinstance(old, dict) and isinstance(new, dict) and is_granular(new, schema) and (old or new):
            for name in {**old, **new}:
                child = None if schema is None else schema.child(name)
                self.compare(old.get(name, ABSENT), new.get(name, ABSENT), child, (*path, FIELD + name))
        elif isinstance(old, list) and isinstance(new, list) and is_granular(new, schema) and schema and (old or new):
            self._compare_elements(old, new, schema, path)
        elif not is_same(old, new):
            self._replaced(old, new, schema, path)

    def _replaced(self, old: Any, new: Any, schema: FieldSchema | None, path: Path) -> None:
        """Record a changed leaf; null in place of an object or list counts as an empty one."""
        if path and old is None and is_granular(new, schema):
            self._members(new, schema, path, self.added)
        elif path and new is None and is_granular(old, schema):
            self._members(old, schema, path, self.removed)
        else:
            self.modified.add(path)

    def _one_sided(self, value: Any, schema: FieldSchema | None, path: Path, found: set[Path]) -> None:
        """Record a value that exists on one side only, and all its members."""
        found.add(path)
        self._members(value, schema, path, found)

    def _members(self, value: Any, schema: FieldSchema | None, path: Path, found: set[Path]) -> None:
        if not is_granular(value, schema):
            return
        if isinstance(value, dict):
            for name, member in value.items():
                child = None if schema is None else schema.child(name)
                self._one_sided(member, child, (*path, FIELD + name), found)
        elif schema is not None:
            for step, element in keyed_elements(value, schema, path):
                self._one_sided(element, schema.elements, (*path, step), found)

    def _compare_elements(self, old: list[Any], new: list[Any], schema: FieldSchema, path: Path) -> None:
        before, after = _grouped(old, schema, path), _grouped(new, schema, path)
        for step in {**before, **after}:
            left, right = before.get(step, []), after.get(step, [])
            if len(left) <= 1 and len(right) <= 1:
                sides = (left[0] if left else ABSENT, right[0] if right else ABSENT)
                self.compare(*sides, schema.elements, (*path, step))
            elif not left:
                self.added.add((*path, step))
            elif not right:
                self.removed.add((*path, step))
            elif not is_same(left, right):
                self.modified.add((*path, step))


def _grouped(elements: list[Any], schema: FieldSchema, path: Path) -> dict[str, list[Any]]:
    """Group list elements by step; clients may store duplicate keys except by apply."""
    groups: dict[str, list[Any]] = {}
    for step, element in keyed_elements(elements, schema, path):
        groups.setdefault(step, []).append(element)
    return groups


# -- what they are together ------------------------------------------------------------------------


def merged(live: Document, config: Document, schema: FieldSchema | None) -> Document:
    """Merge an applied configuration into the live document."""
    result: Document = _merged(live, config, schema, ())
    return result


def _merged(live: Any, config: Any, schema: FieldSchema | None, path: Path) -> Any:
    if config is ABSENT:
        return live
    if isinstance(live, dict) and isinstance(config, dict) and is_granular(config, schema):
        both = dict(live)
        for name, value in config.items():
            child = None if schema is None else schema.child(name)
            both[name] = _merged(live.get(name, ABSENT), value, child, (*path, FIELD + name))
        return both
    if isinstance(live, list) and isinstance(config, list) and schema is not None and is_granular(config, schema):
        return _merged_elements(live, config, schema, path)
    return config


def _merged_elements(live: list[Any], config: list[Any], schema: FieldSchema, path: Path) -> list[Any]:
    """Merge lists in the configuration's order; live-only elements keep their neighbours."""
    left, right = keyed_elements(live, schema, path), keyed_elements(config, schema, path)
    before, after = dict(reversed(left)), dict(right)
    shared = [step for step, _ in right if step in before]
    result: list[Any] = []
    taken: set[str] = set()
    index = 0

    def take(step: str) -> None:
        taken.add(step)
        result.append(_merged(before.get(step, ABSENT), after[step], schema.elements, (*path, step)))
        if shared and shared[0] == step:
            shared.pop(0)

    for step, _ in right:
        while index < len(left) and left[index][0] != step:
            other, element = left[index]
            if other not in after:
                result.append(element)
            elif shared and shared[0] == other and other not in taken:
                break  # a later iteration takes it and its successors
            index += 1
        take(step)
        if index < len(left) and left[index][0] == step:
            index += 1
    return [*result, *(element for step, element in left[index:] if step not in after)]


# -- without some fields ---------------------------------------------------------------------------


def without(document: Document, fields: FieldSet, schema: FieldSchema | None) -> Document:
    """Remove fields and elements, and objects and lists that become empty."""
    result = _without(document, fields, schema, ())
    return {} if result is ABSENT else result


def _without(value: Any, fields: FieldSet, schema: FieldSchema | None, path: Path) -> Any:
    if not fields or not value or not is_granular(value, schema):
        return value
    if isinstance(value, dict):
        kept = dict(_kept_members(value, fields, schema, path))
        return kept if kept else ABSENT
    if schema is None:
        return value
    elements = [
        _without(element, below(fields, step), schema.elements, (*path, step))
        for step, element in keyed_elements(value, schema, path)
        if (step,) not in fields
    ]
    return [element for element in elements if element is not ABSENT] or ABSENT


def _kept_members(
    value: Mapping[str, Any], fields: FieldSet, schema: FieldSchema | None, path: Path
) -> Iterator[tuple[str, Any]]:
    for name, member in value.items():
        step = FIELD + name
        if (step,) in fields:
            continue
        child = None if schema is None else schema.child(name)
        kept = _without(member, below(fields, step), child, (*path, step))
        if kept is not ABSENT:
            yield name, kept
