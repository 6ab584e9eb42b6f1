# SPDX-License-Identifier: Apache-2.0
"""The syntax tree: built by the parser with macros expanded, annotated by the checker, compiled by
the planner.

Every node has an `id`, the key of the checker's type and reference tables, and the `offset` of the
character that messages point to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from steersman.api.cel.values import Value

AND: Final = "_&&_"
OR: Final = "_||_"
CONDITIONAL: Final = "_?_:_"
EQUALS: Final = "_==_"
NOT_EQUALS: Final = "_!=_"
ADD: Final = "_+_"
SUBTRACT: Final = "_-_"
MULTIPLY: Final = "_*_"
DIVIDE: Final = "_/_"
MODULO: Final = "_%_"
LESS: Final = "_<_"
LESS_EQUALS: Final = "_<=_"
GREATER: Final = "_>_"
GREATER_EQUALS: Final = "_>=_"
IN: Final = "@in"
NOT: Final = "!_"
NEGATE: Final = "-_"
INDEX: Final = "_[_]"
OPTIONAL_INDEX: Final = "_[?_]"
OPTIONAL_SELECT: Final = "_?._"
NOT_STRICTLY_FALSE: Final = "@not_strictly_false"

ACCUMULATOR: Final = "@result"
"""Accumulator variable of macros; not a valid name in an expression."""


@dataclass(slots=True, eq=False)
class AstNode:
    """Node of the syntax tree: id and position."""

    id: int
    offset: int


@dataclass(slots=True, eq=False)
class Literal(AstNode):
    """A constant such as `1`, `"a"`, `true` or `null`."""

    value: Value


@dataclass(slots=True, eq=False)
class Ident(AstNode):
    """An identifier such as `device`; a leading dot is part of the name."""

    name: str


@dataclass(slots=True, eq=False)
class Select(AstNode):
    """`operand.field`, or with `test_only` the presence test of `has()`."""

    operand: AstNode
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class FunctionCall(AstNode):
    """`target.function(args)`, `function(args)`, or an operator."""

    function: str
    target: AstNode | None
    args: tuple[AstNode, ...]


@dataclass(slots=True, eq=False)
class ListNode(AstNode):
    """A list literal such as `[a, ?b]`."""

    elements: tuple[AstNode, ...]
    #: Positions of elements that are omitted if they are empty optionals.
    optionals: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapEntry(AstNode):
    """`key: value` of a map; an optional entry is omitted if its value is an empty optional."""

    key: AstNode
    value: AstNode
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapNode(AstNode):
    """A map literal such as `{key: value}`."""

    entries: tuple[MapEntry, ...]


@dataclass(slots=True, eq=False)
class StructNode(AstNode):
    """`Name{field: value}`, which the checker rejects, as no such types are declared."""

    name: str
    values: tuple[AstNode, ...]


@dataclass(slots=True, eq=False)
class Comprehension(AstNode):
    """A fold over a list or map keys; with `second_variable` over (index, element) or (key, value).

    All loops are comprehensions, and so are local variables (`cel.bind`), with an empty range.
    """

    range: AstNode
    variable: str
    second_variable: str | None
    accumulator: str
    initial: AstNode
    condition: AstNode
    step: AstNode
    result: AstNode


def children(node: AstNode) -> tuple[AstNode, ...]:
    """Return the child nodes."""
    match node:
        case Select():
            return (node.operand,)
        case FunctionCall():
            return (*(() if node.target is None else (node.target,)), *node.args)
        case ListNode():
            return node.elements
        case MapNode():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case StructNode():
            return node.values
        case Comprehension():
            return (node.range, node.initial, node.condition, node.step, node.result)
    return ()


def descendants(root: AstNode) -> Iterator[AstNode]:
    """Yield the node and its descendants."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def qualified_name(node: AstNode) -> str | None:
    """Return `a.b.c` if the node consists only of identifiers and dots, else None."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test_only:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None
