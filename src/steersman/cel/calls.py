# SPDX-License-Identifier: Apache-2.0
"""Closures for operators and functions.

Where the checker settled on one overload it is called directly, with a look at its arguments only if their types are not
certain; otherwise the overload is chosen at run time by the types of the arguments. Both charge what the call costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from steersman.cel import cost
from steersman.cel.comparison import equal_or_false, equals, require_hashable
from steersman.cel.cost import CallCost
from steersman.cel.declarations import Function, Implementation, Overload
from steersman.cel.errors import Aborted, CelError, no_such_overload
from steersman.cel.frame import EvaluationFrame, EvaluationPlan, Evaluator, charge, computed
from steersman.cel.library.optionals import value_of
from steersman.cel.types import Type, TypeKind
from steersman.cel.values import Optional, Value, type_name

Check = Callable[[Value], bool]

_FORMAT: Final = "format"
_UNCERTAIN: Final = frozenset({TypeKind.DYN, TypeKind.ANY, TypeKind.TYPE_PARAM})


def logical_or(terms: Sequence[EvaluationPlan]) -> EvaluationPlan:
    """`||`: true if one term is, whatever errors the others raise."""
    return _logic(terms, deciding=True)


def logical_and(terms: Sequence[EvaluationPlan]) -> EvaluationPlan:
    """`&&`: false if one term is, whatever errors the others raise."""
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
    """`condition ? chosen : other`; counts as a variable where something is selected from it."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = condition.evaluate(frame)
        if value is True:
            return chosen.resolve(frame)
        if value is False:
            return other.resolve(frame)
        raise no_such_overload()

    return EvaluationPlan(evaluate, evaluate, is_attribute=True)


def not_strictly_false(operand: EvaluationPlan) -> EvaluationPlan:
    """Whether a comprehension goes on: unless its accumulator is false."""

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
    """`==`."""
    return computed(_binary(equals, left.evaluate, right.evaluate, cost.equality))


def inequality(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """`!=`; what cannot be compared is not equal."""

    def unequal(one: Value, other: Value) -> bool:
        return not equal_or_false(one, other)

    return computed(_binary(unequal, left.evaluate, right.evaluate, cost.inequality))


def membership(sought: EvaluationPlan, members: frozenset[Value]) -> EvaluationPlan:
    """`in` for a list of constants."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = sought.evaluate(frame)
        if isinstance(value, list | dict):
            return False
        require_hashable(value)
        return (type(value) is bool, value) in members

    return computed(evaluate)


def optional_or(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """`optional.or(other)`."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = left.evaluate(frame)
        if not isinstance(value, Optional) or value.has_value:
            return value
        return right.evaluate(frame)

    return computed(evaluate)


def optional_or_value(left: EvaluationPlan, right: EvaluationPlan) -> EvaluationPlan:
    """`optional.orValue(other)`."""

    def evaluate(frame: EvaluationFrame) -> Value:
        value = left.evaluate(frame)
        if not isinstance(value, Optional):
            return value
        return value_of(value) if value.has_value else right.evaluate(frame)

    return computed(evaluate)


def call(
    function: Function, overload_ids: Sequence[str], args: Sequence[EvaluationPlan], arg_types: Sequence[Type]
) -> EvaluationPlan:
    """A function with its arguments, the target among them."""
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
    """A function of a regular expression that is known beforehand; it looks at the types of its arguments itself."""
    price = cost.of_call(name, overload_ids[0] if len(overload_ids) == 1 else "")
    return computed(_any_arity(implementation, tuple(arg.evaluate for arg in args), price))


def _takes_two(function: Function, overload_id: str) -> bool:
    """Whether upstream calls it as a function of exactly two arguments, not of any number."""
    if function.name == _FORMAT:
        return False
    return function.singleton is not None or bool(overload_id)


def _binary(implementation: Implementation, left: Evaluator, right: Evaluator, price: CallCost | None) -> Evaluator:
    """Two operands, of which the second is evaluated, and everything charged, even if the first fails."""

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
    """The value, or the error that stands in its place."""
    try:
        return operand(frame)
    except Aborted:
        raise
    except CelError as error:
        return error


def _price(price: CallCost | None, *args: Value) -> int:
    return 1 if price is None else price(*args)


def _any_arity(implementation: Implementation, operands: tuple[Evaluator, ...], price: CallCost | None) -> Evaluator:
    """The first operand that fails is the last one evaluated; only if all were evaluated is the call charged."""
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
    """One overload, with a look at the arguments whose types the checker could not be certain of."""
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
    """Any overload, by the types of the arguments."""
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
    """Whether a value is of a type; of lists and maps only the first element is looked at."""
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
