# SPDX-License-Identifier: Apache-2.0
"""Builder of nodes with fresh ids, for the parser and macros; macro nodes point to the call."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

from steersman.api.cel.ast import (
    ACCUMULATOR,
    AstNode,
    Comprehension,
    FunctionCall,
    Ident,
    ListNode,
    Literal,
    MapEntry,
    MapNode,
    Select,
    StructNode,
)
from steersman.api.cel.values import Value

MAX_NODES: Final = 30_000
"""Maximum number of nodes: 3 per character of the longest valid expression, twice the need."""


class ExpressionTooLarge(Exception):
    """The expression has too many nodes after macro expansion."""


class AstBuilder:
    """Builder of nodes; `at` is their offset."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def next_id(self) -> int:
        """Return a fresh id. Raises `ExpressionTooLarge`: macros duplicate their targets, and
        nested macros do so exponentially."""
        id_ = next(self._ids)
        if id_ > MAX_NODES:
            raise ExpressionTooLarge
        return id_

    def literal(self, at: int, value: Value) -> Literal:
        """Build a constant."""
        return Literal(self.next_id(), at, value)

    def ident(self, at: int, name: str) -> Ident:
        """Build an identifier."""
        return Ident(self.next_id(), at, name)

    def select(self, at: int, operand: AstNode, field: str, *, test_only: bool = False) -> Select:
        """Build a field selection or presence test."""
        return Select(self.next_id(), at, operand, field, test_only)

    def call(self, at: int, function: str, *args: AstNode) -> FunctionCall:
        """Build a call of a global function or operator."""
        return FunctionCall(self.next_id(), at, function, None, args)

    def member_call(self, at: int, function: str, target: AstNode, *args: AstNode) -> FunctionCall:
        """Build a call of a member function."""
        return FunctionCall(self.next_id(), at, function, target, args)

    def list(self, at: int, *elements: AstNode, optionals: Iterable[int] = ()) -> ListNode:
        """Build a list."""
        return ListNode(self.next_id(), at, elements, frozenset(optionals))

    def map(self, at: int, *entries: MapEntry) -> MapNode:
        """Build a map."""
        return MapNode(self.next_id(), at, entries)

    def entry(self, at: int, key: AstNode, value: AstNode, *, optional: bool) -> MapEntry:
        """Build a map entry."""
        return MapEntry(self.next_id(), at, key, value, optional)

    def struct(self, at: int, name: str, *values: AstNode) -> StructNode:
        """Build a message."""
        return StructNode(self.next_id(), at, name, values)

    def accumulator(self, at: int) -> Ident:
        """Build a reference to the accumulator."""
        return self.ident(at, ACCUMULATOR)

    def fold(
        self,
        at: int,
        over: AstNode,
        variables: tuple[str, str | None],
        *,
        initial: AstNode,
        condition: AstNode,
        step: AstNode,
        result: AstNode,
        accumulator: str = ACCUMULATOR,
    ) -> Comprehension:
        """Build a comprehension."""
        first, second = variables
        return Comprehension(self.next_id(), at, over, first, second, accumulator, initial, condition, step, result)

    def copy(self, node: AstNode) -> AstNode:
        """Copy the tree with fresh ids."""
        match node:
            case Literal():
                return self.literal(node.offset, node.value)
            case Ident():
                return self.ident(node.offset, node.name)
            case Select():
                return self.select(node.offset, self.copy(node.operand), node.field, test_only=node.test_only)
            case FunctionCall():
                target = None if node.target is None else self.copy(node.target)
                return FunctionCall(self.next_id(), node.offset, node.function, target, self._copies(node.args))
            case ListNode():
                return self.list(node.offset, *self._copies(node.elements), optionals=node.optionals)
            case MapNode():
                return self.map(node.offset, *(self._copy_entry(entry) for entry in node.entries))
            case StructNode():
                return self.struct(node.offset, node.name, *self._copies(node.values))
            case Comprehension():
                return self._copy_fold(node)
        raise AssertionError(f"no such node: {node}")

    def _copies(self, nodes: tuple[AstNode, ...]) -> tuple[AstNode, ...]:
        return tuple(self.copy(node) for node in nodes)

    def _copy_entry(self, entry: MapEntry) -> MapEntry:
        return self.entry(entry.offset, self.copy(entry.key), self.copy(entry.value), optional=entry.optional)

    def _copy_fold(self, node: Comprehension) -> Comprehension:
        return self.fold(
            node.offset,
            self.copy(node.range),
            (node.variable, node.second_variable),
            initial=self.copy(node.initial),
            condition=self.copy(node.condition),
            step=self.copy(node.step),
            result=self.copy(node.result),
            accumulator=node.accumulator,
        )
