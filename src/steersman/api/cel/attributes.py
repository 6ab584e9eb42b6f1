# SPDX-License-Identifier: Apache-2.0
"""Closures for variables and selections: `a.b`, `a["b"]`, `a.?b`, `a[?0]`, `has(a.b)`.

A chain of selections is one closure that walks its qualifiers from a base. Each qualifier costs 1,
and the chain costs 1 more unless it is part of another one. After an optional qualifier or base, a
missing field ends the walk with an empty optional instead of an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from steersman.api.cel.arithmetic import MAX_INT, MIN_INT
from steersman.api.cel.comparison import find
from steersman.api.cel.cost import LOOKUP
from steersman.api.cel.errors import CelError
from steersman.api.cel.frame import EvaluationFrame, EvaluationPlan, Evaluator, constant, constant_value
from steersman.api.cel.value_text import shown
from steersman.api.cel.values import NONE, DefaultMap, Optional, Uint, Value, go_name, to_key, type_name

_KEYS: Final = frozenset({bool, int, Uint, float, str})
"""Classes of valid keys and indices."""


class Qualifier(NamedTuple):
    """A step of a chain."""

    key: EvaluationPlan
    optional: bool = False


def chain(base: EvaluationPlan, qualifiers: Sequence[Qualifier]) -> EvaluationPlan:
    """Return a plan for a chain of selections from a base."""
    resolve = _resolver(base.resolve if base.is_attribute else base.evaluate, qualifiers)
    return EvaluationPlan(_looked_up(resolve), resolve, is_attribute=True)


def conditional_chain(base: EvaluationPlan, qualifiers: Sequence[Qualifier]) -> EvaluationPlan:
    """Return a plan for a chain from a conditional, which itself costs nothing."""
    resolve = _resolver(base.resolve, qualifiers)
    return EvaluationPlan(resolve, resolve, is_attribute=True)


def presence(
    base: EvaluationPlan, qualifiers: Sequence[Qualifier], field: str, *, cost: int = LOOKUP
) -> EvaluationPlan:
    """Return a plan for `has(chain.field)`."""
    resolve = _resolver(base.resolve if base.is_attribute else base.evaluate, qualifiers)

    def evaluate(frame: EvaluationFrame) -> Value:
        value = resolve(frame)
        frame.cost += cost
        if isinstance(value, Optional):
            return value.has_value and qualify_if_present(value.value, field)[1]
        return qualify_if_present(value, field)[1]

    return EvaluationPlan(evaluate, evaluate, is_attribute=True)


def variable(slot: int) -> EvaluationPlan:
    """Return a plan for a local variable."""

    def resolve(frame: EvaluationFrame) -> Value:
        return frame.variables[slot]

    return EvaluationPlan(_looked_up(resolve), resolve, is_attribute=True)


def device_variable() -> EvaluationPlan:
    """Return a plan for the variable `device`."""

    def resolve(frame: EvaluationFrame) -> Value:
        return frame.device

    return EvaluationPlan(_looked_up(resolve), resolve, is_attribute=True)


def named_variable(name: str) -> EvaluationPlan:
    """Return a plan for a variable by name, for expressions about other things than devices."""

    def resolve(frame: EvaluationFrame) -> Value:
        assert isinstance(frame.device, dict)
        return frame.device[name]

    return EvaluationPlan(_looked_up(resolve), resolve, is_attribute=True)


def _looked_up(resolve: Evaluator) -> Evaluator:
    def evaluate(frame: EvaluationFrame) -> Value:
        frame.cost += LOOKUP
        if frame.cost > frame.limit:
            frame.pause()
        return resolve(frame)

    return evaluate


def _resolver(base: Evaluator, qualifiers: Sequence[Qualifier]) -> Evaluator:
    if not qualifiers:
        return base
    keys = [constant_value(qualifier.key) for qualifier in qualifiers if qualifier.key.is_constant]
    names = tuple(key for key in keys if isinstance(key, str))
    if len(names) == len(qualifiers) and not any(qualifier.optional for qualifier in qualifiers):
        return _by_names(base, names)
    return _by_qualifiers(base, tuple(qualifiers))


def _by_names(base: Evaluator, names: tuple[str, ...]) -> Evaluator:
    """Return the fast path for names only, which are looked up without type checks."""
    cost = len(names)
    walk_with_care = _walk(tuple(Qualifier(constant(name)) for name in names))

    def resolve(frame: EvaluationFrame) -> Value:
        start = value = base(frame)
        if isinstance(value, Optional):
            return walk_with_care(frame, value)
        try:
            for name in names:
                value = value[name]  # type: ignore[index]
        except (KeyError, TypeError):
            return walk_with_care(frame, start)
        frame.cost += cost
        return value

    return resolve


def _by_qualifiers(base: Evaluator, qualifiers: tuple[Qualifier, ...]) -> Evaluator:
    walk = _walk(qualifiers)

    def resolve(frame: EvaluationFrame) -> Value:
        return walk(frame, base(frame))

    return resolve


def _walk(qualifiers: tuple[Qualifier, ...]) -> Callable[[EvaluationFrame, Value], Value]:
    def walk(frame: EvaluationFrame, value: Value) -> Value:
        optional = False
        if isinstance(value, Optional):
            if not value.has_value:
                return value
            optional, value = True, value.value
        for qualifier in qualifiers:
            optional = optional or qualifier.optional
            key = checked_key(qualifier.key.resolve(frame))
            if not optional:
                frame.cost += LOOKUP
                value = qualify(value, key)
                continue
            value, present = qualify_if_present(value, key)
            if not present:
                return NONE
            frame.cost += LOOKUP
        return Optional(value) if optional else value

    return walk


def checked_key(key: Value) -> Value:
    """Return the key if its type is valid for lookups, else raise."""
    if type(key) in _KEYS:
        return key
    raise CelError(f"invalid qualifier type: {go_name(key)}")


def qualify(value: Value, key: Value) -> Value:
    """Return a field or element. Raises if it is missing."""
    found, present = qualify_if_present(value, key)
    if present:
        return found
    if isinstance(value, list):
        raise CelError(f"index out of bounds: {shown(key)}")
    raise CelError(f"no such key: {shown(key)}")


def qualify_if_present(value: Value, key: Value) -> tuple[Value, bool]:
    """Return a field or element, and whether it exists."""
    if isinstance(value, DefaultMap):
        return value[to_key(key)], True
    if isinstance(value, dict):
        return find(value, to_key(key))
    if isinstance(value, list):
        index = _index(key)
        return (value[index], True) if 0 <= index < len(value) else (None, False)
    return None, False


def _index(key: Value) -> int:
    if type(key) is int:
        return key
    if isinstance(key, Uint | float):
        if key == key and MIN_INT < key <= MAX_INT and int(key) == key:
            return int(key)
        raise CelError(f"unsupported index value {shown(key)} in list")
    raise CelError(f"unsupported index type '{type_name(key)}' in list")
