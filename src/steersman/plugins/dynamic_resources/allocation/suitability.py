# SPDX-License-Identifier: Apache-2.0
"""Whether a device suits a request: the CEL expressions of class and request, taints, and capacity.

A device remembers the answers of expressions, which depend on nothing but itself and the expression. That an evaluation
took too long on this machine is no answer, and is not remembered.

Devices can be shared. The device's request policy rounds what is asked for up to what can be had. The rules of capacity
apply to devices that are not shared as well: a request may ask for a device that has at least so much of something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from steersman.api import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
    DeviceTaint,
    DeviceToleration,
)
from steersman.api.meta import Quantity
from steersman.api.quantity import Amount, Format, canonical, value_of
from steersman.cel import CelError, EvaluationTimeout, compile_device_selector
from steersman.plugins.dynamic_resources.allocation.limits import AllocationFault
from steersman.plugins.dynamic_resources.allocation.requests import DeviceRequirement
from steersman.plugins.dynamic_resources.allocation.resource_slices import PublishedDevice, nanos


class Selectors:
    """Evaluates expressions. `list_attributes`: there may be attributes with several values. `clock`: gives the seconds that
    limit an evaluation; None: none may take too long."""

    __slots__ = ("_clock", "_list_attributes", "evaluations")

    def __init__(self, list_attributes: bool, clock: Callable[[], float] | None = None) -> None:
        self._list_attributes = list_attributes
        self._clock = clock
        #: How many answers were not remembered.
        self.evaluations = 0

    def select(self, device: PublishedDevice, request: DeviceRequirement) -> bool:
        """Whether the device is of the kind that the request wants. AllocationFault when an expression cannot be evaluated."""
        answers = device.traits.answers
        for expression in (*request.class_expressions, *request.expressions):
            answer = answers.get(expression)
            if answer is None:
                answer = self._evaluated_for(device, expression, request)
            if answer is not True:
                return _refused(request, expression, answer)
        return True

    def match(self, device: PublishedDevice, expressions: Iterable[str]) -> bool:
        """Whether the device matches expressions that belong to no request. AllocationFault when one cannot be evaluated."""
        for expression in expressions:
            answer = device.traits.answers.get(expression)
            if answer is None:
                answer = self._evaluated(device, expression)
            if isinstance(answer, str):
                raise AllocationFault(answer)
            if not answer:
                return False
        return True

    def _evaluated_for(self, device: PublishedDevice, expression: str, request: DeviceRequirement) -> bool | str:
        try:
            return self._evaluated(device, expression)
        except AllocationFault as fault:
            raise AllocationFault(f"{_whose(request, expression)}: {fault} (request {request.full_name})") from None

    def _evaluated(self, device: PublishedDevice, expression: str) -> bool | str:
        """The answer of an expression, which the device remembers; a text says what is wrong."""
        self.evaluations += 1
        answer: bool | str
        selector = compile_device_selector(expression, list_type_attributes=self._list_attributes)
        try:
            answer = (
                f"CEL compile error: {selector.error}"
                if selector.error is not None
                else selector.matches(device.traits.input, self._clock)
            )
        except EvaluationTimeout as problem:
            raise AllocationFault(f"CEL runtime error: device {device.text}: {problem}") from None
        except CelError as problem:
            answer = f"CEL runtime error: {problem}"
        device.traits.answers.put(expression, answer)
        return answer


def _refused(request: DeviceRequirement, expression: str, answer: bool | str) -> bool:
    if isinstance(answer, bool):
        return answer
    raise AllocationFault(f"{_whose(request, expression)}: {answer}")


def _whose(request: DeviceRequirement, expression: str) -> str:
    if expression in request.class_expressions:
        whose, index = f"class {request.device_class.metadata.name}", request.class_expressions.index(expression)
    else:
        whose, index = f"claim {request.claim}", request.expressions.index(expression)
    return f"{whose}: selector #{index}"


# -- taints ------------------------------------------------------------------------------------------------------------


def are_tolerated(taints: Iterable[DeviceTaint], tolerations: Iterable[DeviceToleration]) -> bool:
    return all(any(tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Whether the toleration covers the taint. No effect means every effect, no key every key."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


# -- capacity ----------------------------------------------------------------------------------------------------------

#: Amounts in billionths by the name of the capacity.
Amounts = Mapping[str, int]


def consumed_capacity(device: Device, wanted: CapacityRequirements | None) -> dict[str, Quantity]:
    """The amounts that the request takes of each capacity of the device."""
    asked = wanted.requests if wanted is not None else {}
    return {name: _consumption(asked.get(name), capacity) for name, capacity in device.capacity.items()}


def has_capacity(device: Device, wanted: CapacityRequirements | None, allocated: Amounts, allocating: Amounts) -> bool:
    """Whether the request can have what it asks for beside what is taken already."""
    if wanted is not None and any(name not in device.capacity for name in wanted.requests):
        return False
    asked = wanted.requests if wanted is not None else {}
    for name, capacity in device.capacity.items():
        taken = _consumption(asked.get(name), capacity)
        if _violates(taken, capacity.request_policy):
            return False
        if nanos(taken) + allocated.get(name, 0) + allocating.get(name, 0) > nanos(capacity.value):
            return False
    return True


def _consumption(asked: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.request_policy
    if asked is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _raised_into_range(asked, policy.valid_range)
    return next((valid for valid in policy.valid_values if nanos(asked) <= nanos(valid)), asked)


def _raised_into_range(asked: Quantity, valid: CapacityRequestPolicyRange) -> Quantity:
    assert valid.min is not None
    if nanos(asked) < nanos(valid.min):
        return valid.min
    if valid.step is None:
        return asked
    least, step = value_of(valid.min), value_of(valid.step)
    steps = -(-(value_of(asked) - least) // step)
    return canonical(Amount(least + step * steps, 0, Format.BINARY_SI, is_int64=True))


def _violates(taken: Quantity, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and nanos(taken) == nanos(policy.default)):
        return False
    if policy.valid_range is not None:
        return _is_outside(taken, policy.valid_range)
    return bool(policy.valid_values) and all(nanos(taken) != nanos(valid) for valid in policy.valid_values)


def _is_outside(taken: Quantity, valid: CapacityRequestPolicyRange) -> bool:
    if valid.max is not None and nanos(taken) > nanos(valid.max):
        return True
    if valid.step is None or valid.min is None:
        return False
    return (value_of(taken) - value_of(valid.min)) % value_of(valid.step) != 0
