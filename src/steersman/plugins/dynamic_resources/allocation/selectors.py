# SPDX-License-Identifier: Apache-2.0
"""Whether a device is of the kind that a request wants: the CEL expressions of class and request.

A device remembers its answers, which depend on nothing but itself and the expression. That an evaluation took too long on
this machine is no answer, and is not remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steersman.cel import CelError, EvaluationTimeout, compile_device_selector
from steersman.plugins.dynamic_resources.allocation.devices import PublishedDevice
from steersman.plugins.dynamic_resources.allocation.faults import AllocationFault
from steersman.plugins.dynamic_resources.allocation.requests import Request


class Selectors:
    """Evaluates expressions. `list_attributes`: there may be attributes with several values. `clock`: gives the seconds that
    limit an evaluation; None: none may take too long."""

    __slots__ = ("_clock", "_list_attributes", "evaluations")

    def __init__(self, list_attributes: bool, clock: Callable[[], float] | None = None) -> None:
        self._list_attributes = list_attributes
        self._clock = clock
        #: How many answers were not remembered.
        self.evaluations = 0

    def select(self, device: PublishedDevice, request: Request) -> bool:
        """AllocationFault when an expression cannot be evaluated for the device."""
        answers = device.answers
        for expression in (*request.class_expressions, *request.expressions):
            answer = answers.get(expression)
            if answer is None:
                answer = self._evaluated_for(device, expression, request)
            if answer is not True:
                return _refused(request, expression, answer)
        return True

    def match(self, device: PublishedDevice, expressions: Iterable[str]) -> bool:
        """The same for expressions that are nobody's in particular."""
        for expression in expressions:
            answer = device.answers.get(expression)
            if answer is None:
                answer = self._evaluated(device, expression)
            if isinstance(answer, str):
                raise AllocationFault(answer)
            if not answer:
                return False
        return True

    def _evaluated_for(self, device: PublishedDevice, expression: str, request: Request) -> bool | str:
        try:
            return self._evaluated(device, expression)
        except AllocationFault as fault:
            raise AllocationFault(f"{_whose(request, expression)}: {fault} (request {request.full_name})") from None

    def _evaluated(self, device: PublishedDevice, expression: str) -> bool | str:
        """A text says what is wrong. The device remembers it."""
        self.evaluations += 1
        answer: bool | str
        selector = compile_device_selector(expression, list_type_attributes=self._list_attributes)
        try:
            answer = (
                f"CEL compile error: {selector.error}"
                if selector.error is not None
                else selector.matches(device.input, self._clock)
            )
        except EvaluationTimeout as problem:
            raise AllocationFault(f"CEL runtime error: device {device.text}: {problem}") from None
        except CelError as problem:
            answer = f"CEL runtime error: {problem}"
        device.remember(expression, answer)
        return answer


def _refused(request: Request, expression: str, answer: bool | str) -> bool:
    if isinstance(answer, bool):
        return answer
    raise AllocationFault(f"{_whose(request, expression)}: {answer}")


def _whose(request: Request, expression: str) -> str:
    if expression in request.class_expressions:
        whose, index = f"class {request.device_class.metadata.name}", request.class_expressions.index(expression)
    else:
        whose, index = f"claim {request.claim}", request.expressions.index(expression)
    return f"{whose}: selector #{index}"
