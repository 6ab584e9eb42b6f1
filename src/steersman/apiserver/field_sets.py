# SPDX-License-Identifier: Apache-2.0
"""Sets of fields, and their form on the wire: `fieldsV1` of an entry in `metadata.managedFields`.

A path is a tuple of steps as `fieldsV1` writes them: `f:name` is a field or the key of a map, `k:{"name":"web"}` the element of
a list with these keys, `v:"x"` an element of a set of scalars. A set of fields is a set of paths; an object is in it apart from
its fields, as `.` on the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from steersman.api.schemas import FieldSchema

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]

NO_FIELDS: Final[FieldSet] = frozenset()
FIELD, KEYS, VALUE = "f:", "k:", "v:"
_ITSELF: Final = "."


def to_fields_v1(fields: FieldSet) -> dict[str, Any]:
    """The nested form; steps are in order, as upstream writes them."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node[_ITSELF] = {}
    return _without_lonely_dots(tree)


def from_fields_v1(tree: Mapping[str, Any]) -> FieldSet:
    """The paths of the nested form. What is no object in it stands for nothing."""
    paths: set[Path] = set()
    _collect(tree, (), paths)
    return frozenset(paths)


def _collect(tree: Mapping[str, Any], prefix: Path, paths: set[Path]) -> None:
    for step, below in tree.items():
        if step == _ITSELF:
            paths.add(prefix)
            continue
        path = (*prefix, step)
        if isinstance(below, Mapping) and below:
            _collect(below, path, paths)
        else:
            paths.add(path)


def _without_lonely_dots(tree: dict[str, Any]) -> dict[str, Any]:
    """A field without fields of its own is written as `{}`."""
    if tree.keys() == {_ITSELF}:
        return {}
    return {step: below if step == _ITSELF else _without_lonely_dots(below) for step, below in tree.items()}


def path_text(path: Path) -> str:
    """`.spec.containers[name="web"].image`, as messages write it."""
    return "".join(map(_step_text, path))


def _step_text(step: str) -> str:
    rest = step[2:]
    if step.startswith(KEYS):
        keys: dict[str, Any] = msgspec.json.decode(rest)
        return "[" + ",".join(f"{name}={_json(value)}" for name, value in keys.items()) + "]"
    if step.startswith(VALUE):
        return f"[={rest}]"
    return f".{rest}" if step.startswith(FIELD) else f"[{rest}]"


def keys_step(keys: Mapping[str, Any]) -> str:
    """The step to the element of a list that has these keys."""
    return f"{KEYS}{_json(dict(sorted(keys.items())))}"


def value_step(value: Any) -> str:
    """The step to an element of a set."""
    return f"{VALUE}{_json(value)}"


def with_named_fields(fields: FieldSet, schema: FieldSchema | None) -> FieldSet:
    """The set with the declared fields that lead to its members: whoever owns `spec.strategy.type` owns `spec.strategy` and
    `spec`, but not a label's `metadata.labels` entry, which is the key of a map."""
    named = set(fields)
    declared: dict[Path, tuple[bool, FieldSchema | None]] = {(): (False, schema)}
    for path in fields:
        for length in range(1, len(path)):
            is_named, _ = _declaration(path[:length], declared)
            if is_named:
                named.add(path[:length])
    return frozenset(named)


def _declaration(path: Path, known: dict[Path, tuple[bool, FieldSchema | None]]) -> tuple[bool, FieldSchema | None]:
    """Whether the path ends in a declared field, and its schema."""
    if path not in known:
        _, parent = _declaration(path[:-1], known)
        step = path[-1]
        if parent is None:
            known[path] = (False, None)
        elif step.startswith(FIELD):
            known[path] = (step[2:] in parent.names, parent.child(step[2:]))
        else:
            known[path] = (False, parent.elements)
    return known[path]


def below(fields: Iterable[Path], step: str) -> FieldSet:
    """The fields of the value behind the step, as paths from there."""
    return frozenset(path[1:] for path in fields if path[0] == step and len(path) > 1)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
