# SPDX-License-Identifier: Apache-2.0
"""Macros, expanded by the parser: `has`, `all`, `exists`, `map`, `filter`, `cel.bind`, `optMap`,
`sortBy` and others.

A macro takes the builder, the offset of the call, its target and arguments. It returns the
expansion, or None if the call is not a macro, and raises `MacroError` for invalid arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.api.cel.ast import (
    ACCUMULATOR,
    ADD,
    AND,
    CONDITIONAL,
    EQUALS,
    NOT,
    NOT_STRICTLY_FALSE,
    OR,
    AstNode,
    Comprehension,
    FunctionCall,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Select,
    StructNode,
)
from steersman.api.cel.nodes import AstBuilder

MAP_INSERT: Final = "cel.@mapInsert"
SORT_BY_KEYS: Final = "@sortByAssociatedKeys"

_OLD_ACCUMULATOR: Final = "__result__"
_UNUSED: Final = "#unused"
_SORT_INPUT: Final = "@__sortBy_input__"
_SIMPLE_NAME: Final = "argument must be a simple name"
_IDENTIFIER: Final = "argument is not an identifier"
_OVERWRITES: Final = "iteration variable overwrites accumulator variable"

Variables = tuple[str, str | None]
Macro = Callable[[AstBuilder, int, AstNode | None, tuple[AstNode, ...]], AstNode | None]


class MacroError(Exception):
    """The arguments of a macro are invalid."""

    def __init__(self, node: AstNode, message: str) -> None:
        super().__init__(message)
        self.offset = node.offset
        self.message = message


def expand(
    make: AstBuilder, at: int, function: str, target: AstNode | None, args: tuple[AstNode, ...]
) -> AstNode | None:
    """Return the expansion of a macro call; None for an ordinary call."""
    macro = _MACROS.get((function, len(args), target is not None))
    return None if macro is None else macro(make, at, target, args)


def _has(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    tested = args[0]
    if not isinstance(tested, Select) or tested.test_only:
        raise MacroError(tested, "invalid argument to has() macro")
    return make.select(at, tested.operand, tested.field, test_only=True)


def _all(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    return make.fold(
        at,
        _present(target),
        _variables(args[:-1], _SIMPLE_NAME),
        initial=make.literal(at, True),
        condition=make.call(at, NOT_STRICTLY_FALSE, make.accumulator(at)),
        step=make.call(at, AND, make.accumulator(at), args[-1]),
        result=make.accumulator(at),
    )


def _exists(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    return make.fold(
        at,
        _present(target),
        _variables(args[:-1], _SIMPLE_NAME),
        initial=make.literal(at, False),
        condition=make.call(at, NOT_STRICTLY_FALSE, make.call(at, NOT, make.accumulator(at))),
        step=make.call(at, OR, make.accumulator(at), args[-1]),
        result=make.accumulator(at),
    )


def _exists_one(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    counted = make.call(at, ADD, make.accumulator(at), make.literal(at, 1))
    return make.fold(
        at,
        _present(target),
        _variables(args[:-1], _SIMPLE_NAME),
        initial=make.literal(at, 0),
        condition=make.literal(at, True),
        step=make.call(at, CONDITIONAL, args[-1], counted, make.accumulator(at)),
        result=make.call(at, EQUALS, make.accumulator(at), make.literal(at, 1)),
    )


def _map(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    variables = _variables(args[:1], _IDENTIFIER)
    return _collected(make, at, _present(target), variables, args[1:-1], make.list(at, args[-1]))


def _filter(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    variables = _variables(args[:1], _IDENTIFIER)
    return _collected(make, at, _present(target), variables, args[1:], make.list(at, args[0]))


def _transform_list(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    variables = _variables(args[:2], _SIMPLE_NAME)
    return _collected(make, at, _present(target), variables, args[2:-1], make.list(at, args[-1]))


def _transform_map(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    variables = _variables(args[:2], _SIMPLE_NAME)
    step = make.call(at, MAP_INSERT, make.accumulator(at), make.ident(at, variables[0]), args[-1])
    return _inserted(make, at, _present(target), variables, args[2:-1], step)


def _transform_map_entry(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    variables = _variables(args[:2], _SIMPLE_NAME)
    step = make.call(at, MAP_INSERT, make.accumulator(at), args[-1])
    return _inserted(make, at, _present(target), variables, args[2:-1], step)


def _bind(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name, value, result = args
    if not isinstance(name, Ident):
        raise MacroError(name, "cel.bind() variable names must be simple identifiers")
    return _bound(make, at, name.name, value, result)


def _optional_map(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    some = make.call(at, "optional.of", _with_value(make, at, "optMap", _present(target), args))
    return _if_present(make, at, _present(target), some)


def _optional_flat_map(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    some = _with_value(make, at, "optFlatMap", _present(target), args)
    return _if_present(make, at, _present(target), some)


def _sort_by(make: AstBuilder, at: int, target: AstNode | None, args: tuple[AstNode, ...]) -> AstNode:
    target = _present(target)
    if isinstance(target, Literal | MapNode | StructNode):
        raise MacroError(
            target, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    assert isinstance(target, ListNode | Select | Ident | Comprehension | FunctionCall)
    keys = _map(make, at, make.ident(at, _SORT_INPUT), args)
    ordered = make.member_call(at, SORT_BY_KEYS, make.ident(at, _SORT_INPUT), keys)
    return _bound(make, at, _SORT_INPUT, target, ordered)


def _collected(
    make: AstBuilder, at: int, over: AstNode, variables: Variables, filters: tuple[AstNode, ...], addition: ListNode
) -> AstNode:
    step = make.call(at, ADD, make.accumulator(at), addition)
    return _filtered(make, at, over, variables, filters, make.list(at), step)


def _inserted(
    make: AstBuilder, at: int, over: AstNode, variables: Variables, filters: tuple[AstNode, ...], step: AstNode
) -> AstNode:
    return _filtered(make, at, over, variables, filters, make.map(at), step)


def _filtered(
    make: AstBuilder,
    at: int,
    over: AstNode,
    variables: Variables,
    filters: tuple[AstNode, ...],
    initial: AstNode,
    step: AstNode,
) -> AstNode:
    """Return a fold that takes the step if the filter, if any, is true."""
    for condition in filters:
        step = make.call(at, CONDITIONAL, condition, step, make.accumulator(at))
    return make.fold(
        at,
        over,
        variables,
        initial=initial,
        condition=make.literal(at, True),
        step=step,
        result=make.accumulator(at),
    )


def _bound(make: AstBuilder, at: int, name: str, value: AstNode, result: AstNode) -> AstNode:
    """Return a local variable: a fold over an empty list whose accumulator is the variable."""
    return make.fold(
        at,
        make.list(at),
        (_UNUSED, None),
        initial=value,
        condition=make.literal(at, False),
        step=make.ident(at, name),
        result=result,
        accumulator=name,
    )


def _with_value(make: AstBuilder, at: int, macro: str, target: AstNode, args: tuple[AstNode, ...]) -> AstNode:
    name, result = args
    if not isinstance(name, Ident):
        raise MacroError(name, f"{macro}() variable name must be a simple identifier")
    return _bound(make, at, name.name, make.member_call(at, "value", make.copy(target)), result)


def _if_present(make: AstBuilder, at: int, target: AstNode, some: AstNode) -> AstNode:
    none = make.call(at, "optional.none")
    return make.call(at, CONDITIONAL, make.member_call(at, "hasValue", target), some, none)


def _variables(names: tuple[AstNode, ...], complaint: str) -> Variables:
    """Return the iteration variables named by a macro's first arguments."""
    first = _name(names[0], complaint)
    if len(names) == 1:
        _reject_accumulator(first, names[0])
        return first, None
    second = _name(names[1], complaint)
    if first == second:
        raise MacroError(names[1], f"duplicate variable name: {first}")
    _reject_accumulator(first, names[0])
    _reject_accumulator(second, names[1])
    return first, second


def _name(node: AstNode, complaint: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node, complaint)
    return node.name


def _reject_accumulator(name: str, node: AstNode) -> None:
    if name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(node, _OVERWRITES)


def _present(target: AstNode | None) -> AstNode:
    assert target is not None  # such macros are looked up only with a target
    return target


_MACROS: Final[dict[tuple[str, int, bool], Macro]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all,
    ("all", 3, True): _all,
    ("exists", 2, True): _exists,
    ("exists", 3, True): _exists,
    ("exists_one", 2, True): _exists_one,
    ("exists_one", 3, True): _exists_one,
    ("existsOne", 3, True): _exists_one,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _optional_map,
    ("optFlatMap", 2, True): _optional_flat_map,
    ("sortBy", 2, True): _sort_by,
}
"""Macros by name, number of arguments, and whether they have a target."""
