# SPDX-License-Identifier: Apache-2.0
"""JSON text as a tree that keeps what a strict decoder must see: order, repeated keys, the literal of every number.

First station of decoding for documents that begin with `{`; `yaml_tree` builds the same tree from YAML, and `field_kinds`
reads it. Python's own `json` does the scanning; the hooks keep what it would throw away.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn, TypeAlias

import msgspec

_LONGEST_INTEGER: Final = 400
"""In characters: Python does not read integers of thousands of digits."""


class MalformedError(ValueError):
    """The text is neither JSON nor YAML."""


class Number(msgspec.Struct, frozen=True):
    """A number as it stands in the text: `3`, `3.0` and `3e0` are different to a Go decoder."""

    literal: str

    def plain(self) -> int | float:
        """MalformedError for a number that no float holds."""
        if len(self.literal) <= _LONGEST_INTEGER:
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
"""A value as `json.loads` would give it."""


def looks_like_json(text: str) -> bool:
    """Whether kube-scheduler reads `text` as JSON rather than YAML: the first character that is no space is `{`."""
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
    """The tree as ordinary Python values; of a repeated key the last value counts."""
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
