# SPDX-License-Identifier: Apache-2.0
"""Documents as trees with all that a strict decoder needs: order, repeated keys, literals.

First stage of decoding; `documents` creates the tree, and `field_kinds` reads it. Text that begins
with `{` is JSON: Python's `json` scans it, and hooks preserve what it drops. Other text is YAML and
becomes the JSON tree of kube-scheduler, with its errors for repeated keys. PyYAML parses; the
semantics are here and in `yaml_scalars`: only the first document counts, keys become sorted
strings, aliases and merge keys are expanded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeAlias

import msgspec
import yaml

from steersman.api import quote
from steersman.config.yaml_scalars import MERGE, Scalar, ScalarError, resolve

# -- the tree, and JSON ------------------------------------------------------------------------------------------------

_MAX_INTEGER_LENGTH: Final = 400
"""Number of characters: Python does not parse integers of thousands of digits."""


class MalformedError(ValueError):
    """The text is neither JSON nor YAML."""


class Number(msgspec.Struct, frozen=True):
    """A number as written in the text: `3`, `3.0` and `3e0` are different to a Go decoder."""

    literal: str

    def plain(self) -> int | float:
        """Return the number. Raise `MalformedError` if it exceeds the range of a float."""
        if len(self.literal) <= _MAX_INTEGER_LENGTH:
            try:
                return int(self.literal)
            except ValueError:
                pass
        value = float(self.literal)
        if math.isinf(value):
            raise MalformedError(f"json: the number {self.literal[:40]} is out of range")
        return value


class JsonObject(msgspec.Struct, frozen=True):
    """Key-value pairs in the order of the text; a key may occur more than once."""

    pairs: tuple[tuple[str, JsonValue], ...]


JsonValue: TypeAlias = "bool | str | Number | tuple[JsonValue, ...] | JsonObject | None"

PlainValue: TypeAlias = "bool | str | int | float | list[PlainValue] | dict[str, PlainValue] | None"
"""A value as returned by `json.loads`."""


def looks_like_json(text: str) -> bool:
    """Return whether kube-scheduler reads `text` as JSON: its first non-space character is `{`."""
    return text.lstrip().startswith("{")


def parse_json(text: str) -> JsonValue:
    try:
        parsed = json.loads(
            text, object_pairs_hook=_object, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
        )
    except ValueError as error:
        raise MalformedError(f"json: {error}") from None
    return _frozen(parsed)


def plain(value: JsonValue) -> PlainValue:
    """Return the tree as ordinary Python values; the last value of a repeated key counts."""
    if isinstance(value, JsonObject):
        return {key: plain(item) for key, item in value.pairs}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.plain() if isinstance(value, Number) else value


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    return JsonObject(tuple((key, _frozen(value)) for key, value in pairs))


def _frozen(value: Any) -> JsonValue:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"invalid value {name}")


# -- YAML --------------------------------------------------------------------------------------------------------------

_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE_KEY: Final = "<<"
_WANT_MAP: Final = "yaml: map merge requires map or sequence of maps as the value"

_FREE_DECODES: Final = 1_000
_FREE_ALIASED: Final = 100
_MAX_ALIASED_SHARE: Final = 0.99
"""Maximum share of values from expanded aliases in a document that exceeds the free counts."""
_FIRST_WITH_EXPONENT: Final = 1e21


class UnsupportedValueError(ValueError):
    """A value that YAML has and JSON does not: not-a-number and the infinities."""


class YamlDocument(msgspec.Struct, frozen=True):
    tree: JsonValue
    duplicates: str
    """The error message about all keys that occur twice in their mapping, or ""."""


def parse_yaml(text: str) -> YamlDocument:
    try:
        root = _first_document(text)
        expansion = _Expansion()
        value = expansion.value(root) if root is not None else None
    except yaml.MarkedYAMLError as error:
        raise MalformedError(_located(error)) from None
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise MalformedError(f"yaml: {' '.join(str(error).split())}") from None
    except ScalarError as error:
        raise MalformedError(f"yaml: {error}") from None
    duplicates = "\n  ".join(["yaml: unmarshal errors:", *expansion.duplicates]) if expansion.duplicates else ""
    return YamlDocument(_json(value), duplicates)


def _located(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}: " if mark else ""
    return f"yaml: {where}{error.problem or error.context}"


class _ScalarNode(msgspec.Struct):
    line: int
    tag: str | None
    implicit: bool
    text: str

    @property
    def is_merge_key(self) -> bool:
        return self.text == _MERGE_KEY and (self.implicit or self.tag == MERGE)


class _SequenceNode(msgspec.Struct):
    line: int
    items: list[_Node] = []


class _MappingNode(msgspec.Struct):
    line: int
    pairs: list[tuple[_Node, _Node]] = []


class _AliasNode(msgspec.Struct):
    line: int
    anchor: str
    target: _Node


_Node: TypeAlias = "_ScalarNode | _SequenceNode | _MappingNode | _AliasNode"


def _first_document(text: str) -> _Node | None:
    events = yaml.parse(text, Loader=_Loader)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            return _Composer(events).document()
    return None


def _line(event: yaml.Event) -> int:
    """Return the line of the event, counted from 0."""
    assert event.start_mark is not None, "the parser marks every event"
    return event.start_mark.line


class _Composer:
    """Builds nodes from events. An alias refers to the latest previous definition of its anchor."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._anchors: dict[str, _Node] = {}

    def document(self) -> _Node:
        root = self._node(next(self._events))
        next(self._events)
        return root

    def _node(self, event: yaml.Event) -> _Node:
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._anchored(event.anchor, _ScalarNode(line, event.tag, bool(event.implicit[0]), event.value))
        if isinstance(event, yaml.SequenceStartEvent):
            sequence = _SequenceNode(line)
            self._anchored(event.anchor, sequence)
            sequence.items.extend(self._until(yaml.SequenceEndEvent))
            return sequence
        assert isinstance(event, yaml.MappingStartEvent), "a node starts with one of the four events"
        mapping = _MappingNode(line)
        self._anchored(event.anchor, mapping)
        children = list(self._until(yaml.MappingEndEvent))
        mapping.pairs.extend(zip(children[::2], children[1::2], strict=True))
        return mapping

    def _until(self, end: type[yaml.Event]) -> Iterator[_Node]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield self._node(event)

    def _anchored(self, anchor: str | None, node: _Node) -> _Node:
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent) -> _Node:
        if event.anchor not in self._anchors:
            raise MalformedError(f"yaml: unknown anchor '{event.anchor}' referenced")
        return _AliasNode(_line(event), event.anchor, self._anchors[event.anchor])


_Value: TypeAlias = "Scalar | list[_Value] | dict[Hashable, tuple[Scalar, _Value]]"
"""Mappings have keys (type, key): `1` and `true` differ in YAML and are equal in Python."""


class _Expansion:
    """Converts nodes to values; aliases are expanded in place."""

    def __init__(self) -> None:
        #: An error message for every repeated key of a mapping.
        self.duplicates: list[str] = []
        self._open_aliases: set[int] = set()
        self._decoded = 0
        self._aliased = 0

    def value(self, node: _Node) -> _Value:
        self._count()
        if isinstance(node, _AliasNode):
            with self._inside(node):
                return self.value(node.target)
        if isinstance(node, _ScalarNode):
            return resolve(node.tag, node.implicit, node.text)
        if isinstance(node, _SequenceNode):
            return [self.value(item) for item in node.items]
        into: dict[Hashable, tuple[Scalar, _Value]] = {}
        self._fill(node, into)
        return into

    def _fill(self, node: _MappingNode, into: dict[Hashable, tuple[Scalar, _Value]]) -> None:
        for key_node, value_node in node.pairs:
            if isinstance(key_node, _ScalarNode) and key_node.is_merge_key:
                self._merge(value_node, into)
                continue
            key = self.value(key_node)
            if isinstance(key, list | dict):
                raise MalformedError("yaml: invalid map key: a mapping or sequence")
            self._set(into, key, self.value(value_node), value_node.line)

    def _set(self, into: dict[Hashable, tuple[Scalar, _Value]], key: Scalar, value: _Value, line: int) -> None:
        identity = (type(key), key)
        if identity in into:
            self.duplicates.append(f"line {line + 1}: key {_shown_key(key)} already set in map")
        into[identity] = (key, value)

    def _merge(self, node: _Node, into: dict[Hashable, tuple[Scalar, _Value]]) -> None:
        if isinstance(node, _SequenceNode):
            for item in reversed(node.items):
                self._merge_one(item, into)
        else:
            self._merge_one(node, into)

    def _merge_one(self, node: _Node, into: dict[Hashable, tuple[Scalar, _Value]]) -> None:
        target = node.target if isinstance(node, _AliasNode) else node
        if not isinstance(target, _MappingNode):
            raise MalformedError(_WANT_MAP)
        self._count()
        with self._inside(node) if isinstance(node, _AliasNode) else nullcontext():
            self._fill(target, into)

    @contextmanager
    def _inside(self, alias: _AliasNode) -> Iterator[None]:
        if id(alias) in self._open_aliases:
            raise MalformedError(f"yaml: anchor '{alias.anchor}' value contains itself")
        self._open_aliases.add(id(alias))
        yield
        self._open_aliases.discard(id(alias))

    def _count(self) -> None:
        self._decoded += 1
        self._aliased += bool(self._open_aliases)
        beyond_free = self._aliased > _FREE_ALIASED and self._decoded > _FREE_DECODES
        if beyond_free and self._aliased / self._decoded > _MAX_ALIASED_SHARE:
            raise MalformedError("yaml: document contains excessive aliasing")


def _shown_key(key: Scalar) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "<nil>"
    return quote(key) if isinstance(key, str) else str(key)


def _json(value: _Value) -> JsonValue:
    if isinstance(value, dict):
        pairs = {_json_key(key): _json(item) for key, item in value.values()}
        return JsonObject(tuple(sorted(pairs.items(), key=lambda pair: pair[0])))
    if isinstance(value, list):
        return tuple(_json(item) for item in value)
    if isinstance(value, float):
        return Number(_json_number(value))
    return Number(str(value)) if isinstance(value, int) and not isinstance(value, bool) else value


def _json_number(value: float) -> str:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise UnsupportedValueError(f"json: unsupported value: {name}")
    return _json_float(value)


def _json_float(value: float) -> str:
    """Return the JSON literal of a float64. As in Go, integers below 1e21 have no exponent.

    Their shortest identifying digits are zero-padded: 2^64 is 18446744073709552000.
    """
    shortest = repr(value)
    if value.is_integer() and abs(value) < _FIRST_WITH_EXPONENT:
        return str(int(Decimal(shortest)))
    return shortest


def _json_key(key: Scalar) -> str:
    if key is None:
        raise MalformedError("unsupported map key: null")
    if isinstance(key, str):
        return key
    return ("true" if key else "false") if isinstance(key, bool) else str(key)
