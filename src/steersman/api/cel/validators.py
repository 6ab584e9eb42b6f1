# SPDX-License-Identifier: Apache-2.0
"""Upstream's validators of trees that are syntactically correct and well-typed.

Constant arguments of `duration`, `timestamp` and `matches` must be valid, list elements and map
entries of one type, and clauses of a constant template must match its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.api.cel.ast import AstNode, FunctionCall, ListNode, Literal, MapNode, children, descendants
from steersman.api.cel.checker import CheckedAst
from steersman.api.cel.conversions import to_duration, to_timestamp
from steersman.api.cel.errors import CelError, Issue
from steersman.api.cel.library.templates import Clause, clauses
from steersman.api.cel.regex import compile_pattern
from steersman.api.cel.types import DYN, Type, shown

_FORMAT: Final = "format"


def validate(checked: CheckedAst) -> list[Issue]:
    """Return the issues of a tree that passed the checker."""
    return [
        *_invalid_literals(checked),
        *_mixed_literals(checked, checked.root),
        *_wrong_templates(checked),
    ]


def _invalid_literals(checked: CheckedAst) -> Iterator[Issue]:
    for node in descendants(checked.root):
        if (
            not isinstance(node, FunctionCall)
            or node.function not in ("duration", "timestamp", "matches")
            or not node.args
        ):
            continue
        argument = node.args[0]
        if isinstance(argument, Literal) and not _is_valid(node.function, argument):
            yield Issue(argument.offset, f"invalid {node.function} argument")


def _is_valid(function: str, argument: Literal) -> bool:
    try:
        if function == "duration":
            to_duration(argument.value)
        elif function == "timestamp":
            to_timestamp(argument.value)
        elif isinstance(argument.value, str):
            compile_pattern(argument.value)
    except CelError:
        return False
    return True


def _mixed_literals(checked: CheckedAst, node: AstNode) -> Iterator[Issue]:
    """Yield elements whose type differs from the first; template arguments may be mixed."""
    if isinstance(node, FunctionCall) and node.function == _FORMAT:
        return
    if isinstance(node, ListNode):
        elements = [
            (element, _element_type(checked, element, optional=position in node.optionals))
            for position, element in enumerate(node.elements)
        ]
        yield from _mismatches(elements, first_only=True)
    elif isinstance(node, MapNode):
        yield from _mismatches([(entry.key, checked.types[entry.key.id]) for entry in node.entries])
        yield from _mismatches(
            [(entry.value, _element_type(checked, entry.value, optional=entry.optional)) for entry in node.entries]
        )
    for child in children(node):
        yield from _mixed_literals(checked, child)


def _element_type(checked: CheckedAst, node: AstNode, *, optional: bool) -> Type:
    type_ = checked.types[node.id]
    return type_.params[0] if optional and type_.params else type_


def _mismatches(elements: list[tuple[AstNode, Type]], *, first_only: bool = False) -> Iterator[Issue]:
    for node, type_ in elements[1:]:
        if type_ != elements[0][1]:
            yield Issue(node.offset, f"expected type '{shown(elements[0][1])}' but found '{shown(type_)}'")
            if first_only:
                return


def _wrong_templates(checked: CheckedAst) -> Iterator[Issue]:
    for node in descendants(checked.root):
        if not isinstance(node, FunctionCall) or node.function != _FORMAT or not isinstance(node.target, Literal):
            continue
        arguments = node.args[0] if len(node.args) == 1 else None
        if isinstance(node.target.value, str) and isinstance(arguments, ListNode):
            yield from _template_issues(checked, node, node.target.value, arguments.elements)


def _template_issues(
    checked: CheckedAst, node: FunctionCall, template: str, args: tuple[AstNode, ...]
) -> Iterator[Issue]:
    used = 0
    try:
        for piece in clauses(template, len(args)):
            if not isinstance(piece, Clause):
                continue
            wrong = _unsuitable(checked, piece, args[used])
            if wrong is not None:
                name = checked.types[wrong.id].name
                yield Issue(wrong.offset, f"error during formatting: {piece.rule.format(name)}")
                return
            used += 1
    except CelError as error:
        yield Issue(node.offset, str(error))
        return
    if len(args) > used:
        message = f"too many arguments supplied to string.format (expected {used}, got {len(args)})"
        yield Issue(node.offset, message)


def _unsuitable(checked: CheckedAst, clause: Clause, arg: AstNode) -> AstNode | None:
    """Return the argument, or the nested element, that the clause does not accept."""
    type_ = checked.types[arg.id]
    if type_ != DYN and type_.kind not in clause.kinds:
        return arg
    if clause.verb == "s" and isinstance(arg, ListNode | MapNode):
        return next((wrong for child in children(arg) if (wrong := _unsuitable(checked, clause, child))), None)
    return None
