# SPDX-License-Identifier: Apache-2.0
"""Sets of fields, and their serialised form: `fieldsV1` of an entry in `metadata.managedFields`.

A path is a tuple of steps in the notation of `fieldsV1`: `f:name` is a field or map key,
`k:{"name":"web"}` the list element with these keys, `v:"x"` an element of a set of scalars. A field
set is a set of paths; the path of an object stands for the object itself, without its fields (`.`
in `fieldsV1`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from steersman.api import FieldSchema

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]

NO_FIELDS: Final[FieldSet] = frozenset()
FIELD, KEYS, VALUE = "f:", "k:", "v:"
_ITSELF: Final = "."


def to_fields_v1(fields: FieldSet) -> dict[str, Any]:
    """Serialise a field set to the nested form; steps are sorted, as upstream."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node[_ITSELF] = {}
    return _without_empty_dots(tree)


def from_fields_v1(tree: Mapping[str, Any]) -> FieldSet:
    """Parse the nested form, ignoring members that are not objects."""
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


def _without_empty_dots(tree: dict[str, Any]) -> dict[str, Any]:
    """Replace `{".": {}}` by `{}`."""
    if tree.keys() == {_ITSELF}:
        return {}
    return {step: below if step == _ITSELF else _without_empty_dots(below) for step, below in tree.items()}


def path_text(path: Path) -> str:
    """Format a path as in messages: `.spec.containers[name="web"].image`."""
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
    """Return the step to the list element with these keys."""
    return f"{KEYS}{_json(dict(sorted(keys.items())))}"


def value_step(value: Any) -> str:
    """Return the step to the element of a set."""
    return f"{VALUE}{_json(value)}"


def with_named_fields(fields: FieldSet, schema: FieldSchema | None) -> FieldSet:
    """Add the declared parents of the fields: the owner of `spec.strategy.type` owns
    `spec.strategy` and `spec`, but the owner of a label does not own the map `metadata.labels`."""
    named = set(fields)
    declared: dict[Path, tuple[bool, FieldSchema | None]] = {(): (False, schema)}
    for path in fields:
        for length in range(1, len(path)):
            is_named, _ = _declaration(path[:length], declared)
            if is_named:
                named.add(path[:length])
    return frozenset(named)


def _declaration(path: Path, known: dict[Path, tuple[bool, FieldSchema | None]]) -> tuple[bool, FieldSchema | None]:
    """Return whether the path ends in a declared field, and the schema there."""
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
    """Return the fields below the step, as relative paths."""
    return frozenset(path[1:] for path in fields if path[0] == step and len(path) > 1)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
