"""Whether a device is of the kind that a request wants: the CEL expressions of class and request.

A device remembers its answers, which depend on nothing but itself and the expression.
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.cel import CelError, compile_device_selector
from steersman.plugins.dynamic_resources.allocation.devices import PublishedDevice
from steersman.plugins.dynamic_resources.allocation.faults import AllocationFault
from steersman.plugins.dynamic_resources.allocation.requests import Request


def is_selected(device: PublishedDevice, request: Request, list_attributes: bool) -> bool:
    """AllocationFault when an expression cannot be evaluated for the device. `list_attributes`: there may be attributes
    with several values."""
    answers = device.answers
    for expression in (*request.class_expressions, *request.expressions):
        answer = answers.get(expression)
        if answer is None:
            answer = _evaluated(device, expression, list_attributes)
        if answer is not True:
            return _refused(request, expression, answer)
    return True


def matches(device: PublishedDevice, expressions: Iterable[str], list_attributes: bool) -> bool:
    """The same for expressions that are nobody's in particular."""
    for expression in expressions:
        answer = device.answers.get(expression)
        if answer is None:
            answer = _evaluated(device, expression, list_attributes)
        if isinstance(answer, str):
            raise AllocationFault(answer)
        if not answer:
            return False
    return True


def _refused(request: Request, expression: str, answer: bool | str) -> bool:
    if isinstance(answer, bool):
        return answer
    if expression in request.class_expressions:
        whose, index = f"class {request.device_class.metadata.name}", request.class_expressions.index(expression)
    else:
        whose, index = f"claim {request.claim}", request.expressions.index(expression)
    raise AllocationFault(f"{whose}: selector #{index}: {answer}")


def _evaluated(device: PublishedDevice, expression: str, list_attributes: bool) -> bool | str:
    """A text says what is wrong. The device remembers it."""
    answer: bool | str
    selector = compile_device_selector(expression, list_type_attributes=list_attributes)
    try:
        answer = (
            f"CEL compile error: {selector.error}" if selector.error is not None else selector.matches(device.input)
        )
    except CelError as problem:
        answer = f"CEL runtime error: {problem}"
    device.remember(expression, answer)
    return answer
