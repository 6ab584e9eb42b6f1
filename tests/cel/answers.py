# SPDX-License-Identifier: Apache-2.0
"""What an expression gives: shared by the tests of the package."""

from __future__ import annotations

from steersman.api.cel import AttributeValue, CelError, DeviceInput, Version, compile_device_selector

DRIVER = "gpu.example.com"
ATTRIBUTES: dict[str, AttributeValue] = {
    "model": "a100",
    "index": 3,
    "ecc": True,
    "driverVersion": Version("1.7.2-rc.1"),
    "other.example.com/name": "xyz",
}
DEVICE = DeviceInput(DRIVER, ATTRIBUTES, {"memory": "40Gi", "other.example.com/bandwidth": "1500m"})
GPU = f'device.attributes["{DRIVER}"]'


def holds(expression: str, device: DeviceInput = DEVICE) -> bool:
    """Whether the expression selects the device."""
    selector = compile_device_selector(expression)
    assert selector.error is None, selector.error
    return selector.matches(device)


def failure(expression: str, device: DeviceInput = DEVICE) -> str:
    """Why the expression cannot be evaluated for the device."""
    try:
        outcome = holds(expression, device)
    except CelError as error:
        return str(error)
    raise AssertionError(f"{expression} is {outcome}")


def rejection(expression: str) -> str:
    """Why the expression cannot be compiled, without the place that the message points to."""
    error = compile_device_selector(expression).error
    assert error is not None
    return error.removeprefix("compilation failed: ").split("\n")[0]
