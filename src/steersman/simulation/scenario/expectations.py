# SPDX-License-Identifier: Apache-2.0
"""Expectations of a scenario's numbers: `pending: 0`, `waitP99: "<= 30s"`, `nodes: "3..10"`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from steersman.api import similar
from steersman.base import InputError
from steersman.cluster.kubelets import parse_duration
from steersman.simulation.scenario.measurements import MEASURES

OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
HINT: Final = 'write a number, a comparison such as "<= 30s", or a range such as "3..10"'
_COMPARISON: Final = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*")
_RANGE: Final = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*")


class Expectation(msgspec.Struct, frozen=True):
    """A measure, and the comparisons that its value must satisfy."""

    measure: str
    comparisons: tuple[tuple[str, float], ...]
    #: Text written by the user.
    text: str

    def is_met(self, value: float) -> bool:
        return all(OPERATORS[sign](value, bound) for sign, bound in self.comparisons)


class CheckedExpectation(msgspec.Struct, frozen=True, rename="camel"):
    """An expectation and its outcome."""

    measure: str
    expected: str
    value: float
    is_met: bool


def parse_expectations(said: Mapping[str, int | float | str]) -> list[Expectation]:
    """Parse expectations. Raises `InputError` for unknown measures and invalid comparisons."""
    return [_parsed(name, value) for name, value in said.items()]


def checks(expectations: list[Expectation], numbers: Mapping[str, float]) -> list[CheckedExpectation]:
    return [
        CheckedExpectation(each.measure, each.text, numbers[each.measure], each.is_met(numbers[each.measure]))
        for each in expectations
    ]


def check_measure(name: str, path: str) -> None:
    """Raise `InputError` for a name that is not in `MEASURES`."""
    if name not in MEASURES:
        raise InputError("is not measured", field=path, value=name, hint=similar(name, list(MEASURES)))


def _parsed(name: str, value: int | float | str) -> Expectation:
    path = f"expect.{name}"
    check_measure(name, path)
    if not isinstance(value, str):
        return Expectation(name, (("==", float(value)),), f"{value:g}")
    comparison, span = _COMPARISON.fullmatch(value), _RANGE.fullmatch(value)
    if comparison is not None:
        bounds: tuple[tuple[str, float], ...] = ((comparison[1], _number(comparison[2], value, path)),)
    elif span is not None:
        bounds = ((">=", _number(span[1], value, path)), ("<=", _number(span[2], value, path)))
    else:
        bounds = (("==", _number(value, value, path)),)
    return Expectation(name, bounds, value)


def _number(text: str, whole: str, path: str) -> float:
    """Parse a number, or a duration as seconds."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        duration = parse_duration(text)
    except InputError:
        duration = None
    if duration is None or not duration.is_fixed:
        raise InputError("is no expectation", field=path, value=whole, hint=HINT)
    return duration.parameters[0]
