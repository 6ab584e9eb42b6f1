# SPDX-License-Identifier: Apache-2.0
"""State of an evaluation: device, local variables and cost.

A compiled expression is a tree of closures that take the frame and return a value or raise
`CelError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from steersman.api.cel.cost import LIMIT
from steersman.api.cel.errors import CelError, CostExceeded
from steersman.api.cel.meter import Meter
from steersman.api.cel.values import Value

_COST_BETWEEN_PAUSES: Final = 1_000


class EvaluationFrame:
    """State shared by the closures of an evaluation."""

    __slots__ = ("_meter", "cost", "device", "limit", "variables")

    def __init__(self, device: Value, variables: int, meter: Meter | None = None) -> None:
        #: Value of `device`, or all variables by name for other expressions.
        self.device = device
        #: Local variables by slot.
        self.variables: list[Value] = [None] * variables
        self.cost = 0
        #: Cost above which `pause` is called; at most the evaluation limit.
        self.limit = LIMIT if meter is None else _COST_BETWEEN_PAUSES
        self._meter = meter

    def pause(self) -> None:
        """Raise if the cost exceeds the limit, else check the time and set the next pause."""
        if self.cost > LIMIT or self._meter is None:
            raise CostExceeded
        self._meter.check_time()
        self.limit = min(LIMIT, self.cost + _COST_BETWEEN_PAUSES)


Evaluator: TypeAlias = Callable[[EvaluationFrame], Value]


class DeferredError(NamedTuple):
    """Error in an accumulator: raised when read, and possibly absorbed by a later iteration."""

    error: CelError


class _Unset:
    """Marker of an accumulator that has not been read."""


UNSET: Final = _Unset()


class PlanError(Exception):
    """The expression is well-typed but cannot be planned; the message is upstream's."""


class EvaluationPlan(NamedTuple):
    """Compiled node."""

    evaluate: Evaluator
    #: Like `evaluate`, but without the lookup cost of attributes that are part of others.
    resolve: Evaluator
    is_constant: bool = False
    is_attribute: bool = False


def charge(frame: EvaluationFrame, cost: int) -> None:
    """Add to the cost. Raises above the limit."""
    frame.cost += cost
    if frame.cost > frame.limit:
        frame.pause()


def constant(value: Value) -> EvaluationPlan:
    """Return a plan for a constant."""

    def evaluate(frame: EvaluationFrame) -> Value:
        return value

    return EvaluationPlan(evaluate, evaluate, is_constant=True)


def computed(evaluate: Evaluator) -> EvaluationPlan:
    """Return a plan for a computed value, which is neither a variable nor a field."""
    return EvaluationPlan(evaluate, evaluate)


def constant_value(plan: EvaluationPlan) -> Value:
    """Return the value of a constant plan."""
    assert plan.is_constant
    return plan.evaluate(_EMPTY)


_EMPTY: Final = EvaluationFrame(None, 0)
