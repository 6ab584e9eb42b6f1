# SPDX-License-Identifier: Apache-2.0
"""Devices that can be shared: how much of a device's capacity a request takes, and whether that much is left.

The device's request policy rounds what is asked for up to what can be had. The rules apply to devices that are not shared
as well: a request may ask for a device that has at least so much of something.
"""

from __future__ import annotations

from collections.abc import Mapping

from steersman.api import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)
from steersman.api.meta import Quantity
from steersman.api.quantity import Amount, Format, canonical, value_of
from steersman.plugins.dynamic_resources.allocation.devices import nanos

#: Amounts in billionths by the name of the capacity.
Amounts = Mapping[str, int]


def consumed(device: Device, wanted: CapacityRequirements | None) -> dict[str, Quantity]:
    """What the request takes of each capacity of the device."""
    asked = wanted.requests if wanted is not None else {}
    return {name: _consumption(asked.get(name), capacity) for name, capacity in device.capacity.items()}


def has_room(device: Device, wanted: CapacityRequirements | None, allocated: Amounts, allocating: Amounts) -> bool:
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
