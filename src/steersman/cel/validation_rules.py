# SPDX-License-Identifier: Apache-2.0
"""Validation rules of CustomResourceDefinitions (`x-kubernetes-validations`): expressions about `self` and `oldSelf`.

Values are those of JSON, and types are only looked at when an expression is evaluated: the fields of `self` have no declared
types here, other than in a kube-apiserver, which refuses more rules when a definition is created.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from steersman.cel import types
from steersman.cel.checker import check
from steersman.cel.environment import TYPES, Environment
from steersman.cel.errors import CelError, render
from steersman.cel.frame import EvaluationFrame, PlanError
from steersman.cel.meter import Meter, metered
from steersman.cel.nodes import ExpressionTooLarge
from steersman.cel.parser import TOO_DEEP, parse
from steersman.cel.planner import CelProgram, plan
from steersman.cel.validators import validate

SELF, OLD_SELF = "self", "oldSelf"
_KEPT_RULES: Final = 512

_ENVIRONMENT: Final = Environment(
    {**{name: types.type_of(type_) for name, type_ in TYPES.items()}, SELF: types.DYN, OLD_SELF: types.DYN},
    {},
    accepts_dyn=True,
)


def is_transition_rule(expression: str) -> bool:
    """Whether the expression compares with the object as it was before, and is evaluated for updates only."""
    return OLD_SELF in expression


def evaluate_rule(expression: str, value: Any, old_value: Any = None) -> Any:
    """The value of the expression. Raises `CelError` for one that does not compile, or that fails for these values."""
    program = _compiled(expression)
    frame = EvaluationFrame({SELF: value, OLD_SELF: old_value}, program.variables, Meter(None))
    try:
        with metered(Meter(None)):
            return program.evaluate(frame)
    except RecursionError:
        raise CelError(TOO_DEEP) from None


def problem_of_rule(expression: str) -> str | None:
    """Why the expression cannot be a rule; None if it can."""
    try:
        _compiled(expression)
    except CelError as error:
        return str(error)
    return None


@lru_cache(maxsize=_KEPT_RULES)
def _compiled(expression: str) -> CelProgram:
    try:
        root, issues = parse(expression)
        if root is None:
            raise CelError(f"compilation failed: {render(issues, expression)}")
        checked = check(root, _ENVIRONMENT)
        issues = checked.issues or validate(checked)
        if issues:
            raise CelError(f"compilation failed: {render(issues, expression)}")
        return plan(checked)
    except (PlanError, RecursionError, ExpressionTooLarge) as error:
        raise CelError(f"compilation failed: {error}") from None
