# SPDX-License-Identifier: Apache-2.0
"""The syntax tree: what the parser builds (macros already expanded), the checker annotates and the planner compiles.

Every node has an `id`, the key of the checker's type and reference tables, and the `offset` of the character that
messages about it point to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from steersman.cel.values import Value

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
"""The variable that macros accumulate into; not writable in an expression."""


@dataclass(slots=True, eq=False)
class AstNode:
    """A node of the syntax tree: an id, and where it stands in the expression."""

    id: int
    offset: int


@dataclass(slots=True, eq=False)
class Literal(AstNode):
    """`1`, `"a"`, `true`, `null`."""

    value: Value


@dataclass(slots=True, eq=False)
class Ident(AstNode):
    """`device`; a leading dot is part of the name."""

    name: str


@dataclass(slots=True, eq=False)
class Select(AstNode):
    """`operand.field`; with `test_only` the presence test that `has()` expands to."""

    operand: AstNode
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class FunctionCall(AstNode):
    """`target.function(args)`, `function(args)`, and every operator."""

    function: str
    target: AstNode | None
    args: tuple[AstNode, ...]


@dataclass(slots=True, eq=False)
class ListNode(AstNode):
    """`[a, ?b]`."""

    elements: tuple[AstNode, ...]
    #: Positions of the elements that are left out when they are an empty optional.
    optionals: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapEntry(AstNode):
    """`key: value` of a map; an optional one is left out when its value is an empty optional."""

    key: AstNode
    value: AstNode
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapNode(AstNode):
    """`{key: value}`."""

    entries: tuple[MapEntry, ...]


@dataclass(slots=True, eq=False)
class StructNode(AstNode):
    """`Name{field: value}`: no type that can be built this way is declared, so that the checker rejects it."""

    name: str
    values: tuple[AstNode, ...]


@dataclass(slots=True, eq=False)
class Comprehension(AstNode):
    """A fold over a list or the keys of a map; with `second_variable` over indices or keys and their values.

    All loops, and with an empty range all local variables (`cel.bind`), are comprehensions.
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
    """The nodes directly below."""
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
    """The node and everything below it."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def qualified_name(node: AstNode) -> str | None:
    """`a.b.c` if the node is nothing but identifiers and dots."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test_only:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None
