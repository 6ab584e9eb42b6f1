# SPDX-License-Identifier: Apache-2.0
"""Closures for comprehensions: the expansions of `all`, `map`, `cel.bind` and other macros.

An error in a step does not end the loop: the accumulator holds it as a `DeferredError`, which later
steps may absorb. So `[0, 1].exists(x, 1 / x == 1)` is true.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import NamedTuple

from steersman.api.cel.comparison import keys_of
from steersman.api.cel.cost import LOOKUP
from steersman.api.cel.errors import Aborted, CelError
from steersman.api.cel.frame import UNSET, DeferredError, EvaluationFrame, EvaluationPlan, Evaluator, charge, computed
from steersman.api.cel.meter import paced
from steersman.api.cel.values import GrowingList, GrowingMap, Value, from_key, go_name


class Slots(NamedTuple):
    """Slots of a comprehension's variables in the frame."""

    variable: int
    second_variable: int | None
    accumulator: int


class Parts(NamedTuple):
    """Plans of the parts of a comprehension."""

    over: EvaluationPlan
    condition: EvaluationPlan
    step: EvaluationPlan
    result: EvaluationPlan


def accumulator(slot: int, initial: EvaluationPlan) -> EvaluationPlan:
    """Return a plan for the accumulator, which is initialised at its first read."""
    initialise = initial.evaluate

    def resolve(frame: EvaluationFrame) -> Value:
        value = frame.variables[slot]
        if value is UNSET:
            value = frame.variables[slot] = _initialised(initialise, frame)
        if type(value) is DeferredError:
            raise value.error
        return value

    def evaluate(frame: EvaluationFrame) -> Value:
        charge(frame, LOOKUP)
        return resolve(frame)

    return EvaluationPlan(evaluate, resolve, is_attribute=True)


def fold(parts: Parts, slots: Slots) -> EvaluationPlan:
    """Return a plan for a comprehension."""
    over, condition, step, result = (part.evaluate for part in parts)

    def evaluate(frame: EvaluationFrame) -> Value:
        variables = frame.variables
        items = _items(over(frame), pairs=slots.second_variable is not None)
        variables[slots.accumulator] = UNSET
        for first, second in paced(items):
            variables[slots.variable] = first
            if slots.second_variable is not None:
                variables[slots.second_variable] = second
            if not _continues(condition, frame):
                break
            variables[slots.accumulator] = _stepped(step, frame)
        return _finished(result(frame))

    return computed(evaluate)


def _initialised(initialise: Evaluator, frame: EvaluationFrame) -> Value:
    try:
        value = initialise(frame)
    except Aborted:
        raise
    except CelError as error:
        return DeferredError(error)
    if isinstance(value, list) and not value:
        return GrowingList()
    if isinstance(value, dict) and not value:
        return GrowingMap()
    return value


def _items(over: Value, *, pairs: bool) -> Iterable[tuple[Value, Value]]:
    """Return the values of both iteration variables."""
    if isinstance(over, list):
        elements = list(over) if isinstance(over, GrowingList) else over
        return enumerate(elements) if pairs else zip(elements, repeat(None))
    if isinstance(over, dict):
        if pairs:
            return [(from_key(key), value) for key, value in over.items()]
        return [(key, None) for key in keys_of(over)]
    if pairs:
        raise CelError(f"unsupported comprehension range type: {go_name(over)}")
    raise CelError(f"got '{go_name(over)}', expected iterable type")


def _continues(condition: Evaluator, frame: EvaluationFrame) -> bool:
    try:
        return condition(frame) is not False
    except Aborted:
        raise
    except CelError:
        return True


def _stepped(step: Evaluator, frame: EvaluationFrame) -> Value:
    try:
        return step(frame)
    except Aborted:
        raise
    except CelError as error:
        return DeferredError(error)


def _finished(result: Value) -> Value:
    """Return the finished result, which is no longer extended in place."""
    if type(result) is GrowingList:
        return list(result)
    if type(result) is GrowingMap:
        return dict(result)
    return result
