# SPDX-License-Identifier: Apache-2.0
"""Closures for operators and functions.

A single overload chosen by the checker is called directly, with checks only of arguments of
uncertain types; otherwise the overload is chosen at run time by the arguments' types. Both charge
the cost of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from steersman.api.cel import cost
from steersman.api.cel.comparison import equal_or_false, equals, require_hashable
from steersman.api.cel.cost import CallCost
from steersman.api.cel.declarations import Function, Implementation, Overload
from steersman.api.cel.errors import Aborted, CelError, no_such_overload
from steersman.api.cel.frame import EvaluationFrame, EvaluationPlan, Evaluator, charge, computed
from steersman.api.cel.library.optionals import value_of
from steersman.api.cel.types import Type, TypeKind
from steersman.api.cel.values import Optional, Value, type_name

Check = Callable[[Value], bool]

_FORMAT: Final = "format"
_UNCERTAIN: Final = frozenset({TypeKind.DYN, TypeKind.ANY, TypeKind.TYPE_PARAM})


def logical_or(terms: Sequence[EvaluationPlan]) -> EvaluationPlan:
    """Return a plan for `||`: true if a term is true, even if other terms raise errors."""
    return _logic(terms, deciding=True)


def logical_and(terms: Sequence[EvaluationPlan]) -> EvaluationPlan:
    """Return a plan for `&&`: false if a term is false, even if other terms raise errors."""
    return _logic(terms, deciding=False)


def _logic(terms: Sequence[EvaluationPlan], *, deciding: bool) -> EvaluationPlan:
    evaluators = tuple(term.evaluate for term in terms)

    def evaluate(frame: EvaluationFrame) -> Value:
        failure: CelError | None = None
        for evaluator in evaluators:
            try:
                value = evaluator(frame)
            except Aborted:
                raise
            except CelError as error:
                failure = failure or error
                continue
            if value is deciding:
                return deciding
            if type(value) is not bool:
                failure = failure or no_such_overload()
        if failure is not None:
            raise failure
        return not deciding

    return computed(evaluate)


def conditional(condition: EvaluationPlan, chosen: EvaluationPlan, other: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for `condition ? chosen : other`; an attribute if fields are selected."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = condition.evaluate(frame)
        if value is True:
            return chosen.resolve(frame)
        if value is False:
            return other.resolve(frame)
        raise no_such_overload()

    return EvaluationPlan(evaluate, evaluate, is_attribute=True)


def not_strictly_false(operand: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for a comprehension's loop condition: true unless the operand is false."""

    def evaluate(frame: EvaluationFrame) -> Value:
        try:
            value = operand.evaluate(frame)
        except Aborted:
            raise
        except CelError:
            value = True
        charge(frame, 1)
        return value if type(value) is bool else True

    return computed(evaluate)


def equality(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for `==`."""
    return computed(_binary(equals, left.evaluate, right.evaluate, cost.equality))


def inequality(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for `!=`; values that cannot be compared are not equal."""

    def unequal(one: Value, other: Value) -> bool:
        return not equal_or_false(one, other)

    return computed(_binary(unequal, left.evaluate, right.evaluate, cost.inequality))


def membership(sought: EvaluationPlan, members: frozenset[Value]) -> EvaluationPlan:
    """Return a plan for `in` with a list of constants."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = sought.evaluate(frame)
        if isinstance(value, list | dict):
            return False
        require_hashable(value)
        return (type(value) is bool, value) in members

    return computed(evaluate)


def optional_or(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for `optional.or(other)`."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = left.evaluate(frame)
        if not isinstance(value, Optional) or value.has_value:
            return value
        return right.evaluate(frame)

    return computed(evaluate)


def optional_or_value(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for `optional.orValue(other)`."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = left.evaluate(frame)
        if not isinstance(value, Optional):
            return value
        return value_of(value) if value.has_value else right.evaluate(frame)

    return computed(evaluate)


def call(
    function: Function, overload_ids: Sequence[str], args: Sequence[EvaluationPlan], arg_types: Sequence[Type]
) -> EvaluationPlan:
    """Return a plan for a function call; `args` includes the target."""
    overload_id = overload_ids[0] if len(overload_ids) == 1 else ""
    implementation = _implementation(function, overload_id, arg_types)
    price = cost.of_call(function.name, overload_id)
    evaluators = tuple(arg.evaluate for arg in args)
    if len(evaluators) == 2 and _takes_two(function, overload_id):
        return computed(_binary(implementation, evaluators[0], evaluators[1], price))
    return computed(_any_arity(implementation, evaluators, price))


def call_with_pattern(
    name: str, overload_ids: Sequence[str], implementation: Implementation, args: Sequence[EvaluationPlan]
) -> EvaluationPlan:
    """Return a plan for a function with a constant regex, which checks argument types itself."""
    price = cost.of_call(name, overload_ids[0] if len(overload_ids) == 1 else "")
    return computed(_any_arity(implementation, tuple(arg.evaluate for arg in args), price))


def _takes_two(function: Function, overload_id: str) -> bool:
    """Return whether upstream calls the function as binary, not as variadic."""
    if function.name == _FORMAT:
        return False
    return function.singleton is not None or bool(overload_id)


def _binary(implementation: Implementation, left: Evaluator, right: Evaluator, price: CallCost | None) -> Evaluator:
    """Return a binary evaluator; if the first operand fails, the second is still charged."""

    def evaluate(frame: EvaluationFrame) -> Value:
        try:
            one = left(frame)
        except Aborted:
            raise
        except CelError as error:
            charge(frame, _price(price, error, _attempted(right, frame)))
            raise
        try:
            other = right(frame)
        except Aborted:
            raise
        except CelError as error:
            charge(frame, _price(price, one, error))
            raise
        frame.cost += 1 if price is None else price(one, other)
        if frame.cost > frame.limit:
            frame.pause()
        return implementation(one, other)

    return evaluate


def _attempted(operand: Evaluator, frame: EvaluationFrame) -> Value:
    """Return the operand's value, or its error."""
    try:
        return operand(frame)
    except Aborted:
        raise
    except CelError as error:
        return error


def _price(price: CallCost | None, *args: Value) -> int:
    return 1 if price is None else price(*args)


def _any_arity(implementation: Implementation, operands: tuple[Evaluator, ...], price: CallCost | None) -> Evaluator:
    """Return a variadic evaluator that stops at the first error and charges if there is none."""
    last = len(operands) - 1

    def evaluate(frame: EvaluationFrame) -> Value:
        args: list[Value] = []
        for position, operand in enumerate(operands):
            try:
                args.append(operand(frame))
            except Aborted:
                raise
            except CelError as error:
                if position == last:
                    charge(frame, _price(price, *args, error))
                raise
        charge(frame, _price(price, *args))
        return implementation(*args)

    return evaluate


def _implementation(function: Function, overload_id: str, arg_types: Sequence[Type]) -> Implementation:
    if function.singleton is not None:
        return function.singleton
    chosen = next((overload for overload in function.overloads if overload.id == overload_id), None)
    if chosen is not None:
        assert chosen.implementation is not None, f"{chosen.id} is the planner's"
        return _guarded(function, chosen, chosen.implementation, arg_types)
    return _dispatched(function, len(arg_types))


def _guarded(
    function: Function, overload: Overload, implementation: Implementation, arg_types: Sequence[Type]
) -> Implementation:
    """Return the overload with checks of arguments whose types are uncertain."""
    checks = [
        (position, _check(declared))
        for position, (declared, actual) in enumerate(zip(overload.args, arg_types, strict=True))
        if function.guarded and declared != actual and declared.kind not in _UNCERTAIN
    ]
    if not checks:
        return implementation

    def guarded(*args: Value) -> Value:
        for position, check in checks:
            if not check(args[position]):
                raise _no_overload(function, args)
        return implementation(*args)

    return guarded


def _dispatched(function: Function, arity: int) -> Implementation:
    """Return a function that dispatches to an overload by argument types."""
    candidates = [
        (tuple(_check(declared) for declared in overload.args), overload.implementation)
        for overload in function.overloads
        if len(overload.args) == arity and overload.implementation is not None
    ]

    def dispatched(*args: Value) -> Value:
        for checks, implementation in candidates:
            if all(check(arg) for check, arg in zip(checks, args, strict=True)):
                return implementation(*args)
        raise _no_overload(function, args)

    return dispatched


def _no_overload(function: Function, args: Sequence[Value]) -> CelError:
    return CelError(f"no such overload: {function.name}({', '.join(map(type_name, args))})")


def _check(declared: Type) -> Check:
    """Return a type check for values; of lists and maps only the first element is checked."""
    if declared.kind in _UNCERTAIN:
        return lambda value: True
    if declared.kind is TypeKind.LIST:
        element = _check(declared.params[0])
        return lambda value: isinstance(value, list) and (not value or element(value[0]))
    if declared.kind is TypeKind.MAP:
        key, entry = _check(declared.params[0]), _check(declared.params[1])
        return lambda value: (
            isinstance(value, dict) and all(key(name) and entry(value[name]) for name in islice(value, 1))
        )
    name = declared.name
    return lambda value: type_name(value) == name
