# SPDX-License-Identifier: Apache-2.0
"""One evaluation: the device, local variables, and what it has cost so far.

A planned expression is a tree of closures that take the frame and give a value, or raise `CelError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from steersman.cel.cost import LIMIT
from steersman.cel.errors import CelError, CostExceeded
from steersman.cel.meter import Meter
from steersman.cel.values import Value

_COST_BETWEEN_PAUSES: Final = 1_000


class EvaluationFrame:
    """The state that the closures of one evaluation share."""

    __slots__ = ("_meter", "cost", "device", "limit", "variables")

    def __init__(self, device: Value, variables: int, meter: Meter | None = None) -> None:
        #: The value of the variable `device`; of expressions with other variables, all of them by name.
        self.device = device
        #: Local variables, by the slots that the planner gave them.
        self.variables: list[Value] = [None] * variables
        self.cost = 0
        #: At more than this cost `pause` is called; never above the limit of all evaluations.
        self.limit = LIMIT if meter is None else _COST_BETWEEN_PAUSES
        self._meter = meter

    def pause(self) -> None:
        """The cost is above the limit: the end, or only the time to look at the clock."""
        if self.cost > LIMIT or self._meter is None:
            raise CostExceeded
        self._meter.check_time()
        self.limit = min(LIMIT, self.cost + _COST_BETWEEN_PAUSES)


Evaluator: TypeAlias = Callable[[EvaluationFrame], Value]


class HeldError(NamedTuple):
    """An error that an accumulator holds: whoever reads it fails with it, and a later iteration may absorb it."""

    error: CelError


class _Unset:
    """An accumulator that nobody has read yet."""


UNSET: Final = _Unset()


class PlanError(Exception):
    """An expression that is in order by its types cannot be planned; the message is upstream's."""


class EvaluationPlan(NamedTuple):
    """How to evaluate a node."""

    evaluate: Evaluator
    #: The same for variables, fields and conditionals inside others, where looking them up costs nothing more.
    resolve: Evaluator
    is_constant: bool = False
    is_attribute: bool = False


def charge(frame: EvaluationFrame, cost: int) -> None:
    """Add to the cost; raises when it exceeds the limit."""
    frame.cost += cost
    if frame.cost > frame.limit:
        frame.pause()


def constant(value: Value) -> EvaluationPlan:
    """A value known beforehand."""

    def evaluate(frame: EvaluationFrame) -> Value:
        return value

    return EvaluationPlan(evaluate, evaluate, is_constant=True)


def computed(evaluate: Evaluator) -> EvaluationPlan:
    """A value that has to be computed, and is no variable or field."""
    return EvaluationPlan(evaluate, evaluate)


def constant_value(plan: EvaluationPlan) -> Value:
    """The value of a constant, which needs nothing of the frame."""
    assert plan.is_constant
    return plan.evaluate(_EMPTY)


_EMPTY: Final = EvaluationFrame(None, 0)
