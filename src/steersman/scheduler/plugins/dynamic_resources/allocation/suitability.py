# SPDX-License-Identifier: Apache-2.0
"""Whether a device suits a request: the CEL expressions of class and request, taints, and capacity.

A device caches the results of expressions, because they depend on the device and the expression
only. An evaluation that exceeds its time limit has no result and is not cached.

The request policy of a shared device rounds requests up to valid amounts. The rules of capacity
also apply to devices that are not shared: a request may require a minimum capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from steersman.api import (
    MAX_INT64,
    MILLI,
    Amount,
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
    DeviceTaint,
    DeviceToleration,
    Format,
    Quantity,
    canonical,
    parse,
    value_of,
)
from steersman.api.cel import CelError, EvaluationTimeout, compile_device_selector
from steersman.scheduler.plugins.dynamic_resources.allocation.limits import AllocationFault
from steersman.scheduler.plugins.dynamic_resources.allocation.requests import DeviceRequirement
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import PublishedDevice, nanos


class Selectors:
    """Evaluates expressions. `list_attributes` allows attributes with several values. `clock`
    returns the seconds that limit an evaluation; None means no limit."""

    __slots__ = ("_clock", "_list_attributes", "evaluations")

    def __init__(self, list_attributes: bool, clock: Callable[[], float] | None = None) -> None:
        self._list_attributes = list_attributes
        self._clock = clock
        #: Number of results that were not cached.
        self.evaluations = 0

    def select(self, device: PublishedDevice, request: DeviceRequirement) -> bool:
        """Return whether the device matches the request. Raise `AllocationFault` on errors."""
        answers = device.traits.answers
        for expression in (*request.class_expressions, *request.expressions):
            answer = answers.get(expression)
            if answer is None:
                answer = self._evaluated_for(device, expression, request)
            if answer is not True:
                return _refused(request, expression, answer)
        return True

    def match(self, device: PublishedDevice, expressions: Iterable[str]) -> bool:
        """Return whether the device matches the expressions. Raise `AllocationFault` on errors."""
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
            raise AllocationFault(
                f"{_expression_owner(request, expression)}: {fault} (request {request.full_name})"
            ) from None

    def _evaluated(self, device: PublishedDevice, expression: str) -> bool | str:
        """Evaluate an expression and cache the result for the device; a string is an error."""
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
    raise AllocationFault(f"{_expression_owner(request, expression)}: {answer}")


def _expression_owner(request: DeviceRequirement, expression: str) -> str:
    if expression in request.class_expressions:
        whose, index = f"class {request.device_class.metadata.name}", request.class_expressions.index(expression)
    else:
        whose, index = f"claim {request.claim}", request.expressions.index(expression)
    return f"{whose}: selector #{index}"


# -- taints ------------------------------------------------------------------------------------------------------------


def are_tolerated(taints: Iterable[DeviceTaint], tolerations: Iterable[DeviceToleration]) -> bool:
    return all(any(tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether the toleration matches the taint. An empty effect or key matches all."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


# -- capacity ----------------------------------------------------------------------------------------------------------

#: A thousandth in billionths.
_MILLI = 10**6
ERR_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"

#: Amounts in billionths by the name of the capacity.
Amounts = Mapping[str, int]


def consumed_capacity(
    device: Device, wanted: CapacityRequirements | None, fractional: bool = False
) -> dict[str, Quantity]:
    """Return the consumed amount of each capacity. If `fractional`, steps may be fractions."""
    requested = wanted.requests if wanted is not None else {}
    return {name: _consumption(requested.get(name), capacity, fractional) for name, capacity in device.capacity.items()}


def has_capacity(
    device: Device,
    wanted: CapacityRequirements | None,
    allocated: Amounts,
    allocating: Amounts,
    fractional: bool = False,
) -> bool:
    """Return whether the free capacity suffices for the request."""
    if wanted is not None and any(name not in device.capacity for name in wanted.requests):
        return False
    requested = wanted.requests if wanted is not None else {}
    for name, capacity in device.capacity.items():
        taken = _consumption(requested.get(name), capacity, fractional)
        if _violates(taken, capacity.request_policy, fractional):
            return False
        if nanos(taken) + allocated.get(name, 0) + allocating.get(name, 0) > nanos(capacity.value):
            return False
    return True


def _consumption(requested: Quantity | None, capacity: DeviceCapacity, fractional: bool) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _raised_into_range(requested, policy.valid_range, fractional)
    return next((valid for valid in policy.valid_values if nanos(requested) <= nanos(valid)), requested)


def _raised_into_range(requested: Quantity, valid: CapacityRequestPolicyRange, fractional: bool) -> Quantity:
    assert valid.min is not None
    if nanos(requested) < nanos(valid.min):
        return valid.min
    if valid.step is None:
        return requested
    if fractional and _are_milli_values(valid):
        return _raised_by_milli_steps(requested, nanos(valid.min) // _MILLI, valid.step)
    least, step = value_of(valid.min), value_of(valid.step)
    steps = -(-(value_of(requested) - least) // step)
    return canonical(Amount(least + step * steps, 0, Format.BINARY_SI, is_int64=True))


def _raised_by_milli_steps(requested: Quantity, least: int, step: Quantity) -> Quantity:
    wanted, rest = divmod(nanos(requested), _MILLI)
    if rest:
        raise AllocationFault(f"{ERR_NOT_REPRESENTABLE}: request {requested} is not a representable milli value")
    milli_step = nanos(step) // _MILLI
    raised = least - (least - wanted) // milli_step * milli_step
    if raised > MAX_INT64:
        reason = f"rounding request {requested} up to the next step passes the milli-value range"
        raise AllocationFault(f"{ERR_NOT_REPRESENTABLE}: {reason}")
    whole, rest = divmod(raised, 1000)
    unscaled, scale = (raised, MILLI) if rest else (whole, 0)
    return canonical(Amount(unscaled, scale, parse(step).format, is_int64=True))


def _are_milli_values(valid: CapacityRequestPolicyRange) -> bool:
    """Return whether the bounds and the step of a range are whole thousandths that fit an int64."""
    for bound in (valid.min, valid.max, valid.step):
        if bound is not None and (nanos(bound) % _MILLI or abs(nanos(bound)) // _MILLI > MAX_INT64):
            return False
    return valid.step is None or nanos(valid.step) >= _MILLI


def _violates(taken: Quantity, policy: CapacityRequestPolicy | None, fractional: bool) -> bool:
    if policy is None or (policy.default is not None and nanos(taken) == nanos(policy.default)):
        return False
    if policy.valid_range is not None:
        return _is_outside(taken, policy.valid_range, fractional)
    return bool(policy.valid_values) and all(nanos(taken) != nanos(valid) for valid in policy.valid_values)


def _is_outside(taken: Quantity, valid: CapacityRequestPolicyRange, fractional: bool) -> bool:
    if valid.max is not None and nanos(taken) > nanos(valid.max):
        return True
    if valid.step is None or valid.min is None:
        return False
    if fractional and _are_milli_values(valid):
        return bool(nanos(taken) % _MILLI) or (nanos(taken) - nanos(valid.min)) % nanos(valid.step) != 0
    return (value_of(taken) - value_of(valid.min)) % value_of(valid.step) != 0
