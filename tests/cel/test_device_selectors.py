# SPDX-License-Identifier: Apache-2.0
"""Selectors of devices: what an expression sees of a device, and what it must come to."""

from __future__ import annotations

import pytest
from tests.cel.answers import DEVICE, DRIVER, GPU, failure, holds, rejection

from steersman.api.cel import CelError, DeviceInput, Version, compile_device_selector
from steersman.base.errors import SteersmanError


def test_names_without_domain_belong_to_the_driver() -> None:
    assert holds(f'{GPU}.model == "a100"')
    assert holds('device.attributes["other.example.com"].name == "xyz"')
    assert not holds('"name" in device.attributes["gpu.example.com"]')


def test_an_unknown_domain_is_an_empty_map() -> None:
    assert holds('size(device.attributes["nowhere.example.com"]) == 0')
    assert not holds('"nowhere.example.com" in device.attributes')
    assert failure('device.attributes["nowhere.example.com"].model == "a100"') == "no such key: model"


def test_capacities_are_quantities() -> None:
    assert holds(f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0')
    assert holds('device.capacity["other.example.com"].bandwidth == quantity("1.5")')


def test_versions_are_compared_by_precedence() -> None:
    assert holds(f'{GPU}.driverVersion.isGreaterThan(semver("1.5.0"))')
    assert holds(f'{GPU}.driverVersion.isLessThan(semver("1.7.2"))')


def test_multiple_allocations_are_off_unless_allowed() -> None:
    assert not holds("device.allowMultipleAllocations")
    assert holds("device.allowMultipleAllocations", DeviceInput(DRIVER, {}, {}, True))


def test_a_missing_attribute_is_an_error_unless_requested() -> None:
    assert failure(f'{GPU}.color == "red"') == "no such key: color"
    assert not holds(f'has({GPU}.color) && {GPU}.color == "red"')
    assert holds(f'{GPU}.?color.orValue("red") == "red"')


def test_a_boolean_attribute_is_a_selector() -> None:
    assert holds(f"{GPU}.ecc")
    assert not holds(f"!{GPU}.ecc")


def test_an_attribute_of_another_type_is_none() -> None:
    assert failure(f"{GPU}.index") == (
        "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool"
    )
    assert failure(f"{GPU}.driverVersion") == (
        "CEL result of type kubernetes.Semver could not be converted to bool: type conversion error from 'Semver' to 'bool'"
    )


def test_an_expression_must_be_a_condition() -> None:
    assert rejection("1 + 1") == "must evaluate to bool or the unknown type, not int"
    assert rejection("device.attributes") == (
        "must evaluate to bool or the unknown type, not map(string, map(string, google.protobuf.Any))"
    )


def test_an_attribute_that_is_no_version_fails_every_expression() -> None:
    device = DeviceInput(DRIVER, {"driverVersion": Version("1.5")}, {})
    assert failure("true", device) == (
        "attribute driverVersion: parse semantic version: No Major.Minor.Patch elements found"
    )


def test_an_attribute_of_an_unknown_type_fails_every_expression() -> None:
    assert failure("true", DeviceInput(DRIVER, {"shape": None}, {})) == "attribute shape: unsupported attribute value"


def test_lists_need_the_feature_gate() -> None:
    device = DeviceInput(DRIVER, {"names": ("fish", "bird")}, {})
    expression = f'{GPU}.names.includes("bird")'
    assert failure(expression, device) == "attribute names: unsupported attribute value"
    assert compile_device_selector(expression, list_type_attributes=True).matches(device)


def test_versions_in_lists_are_versions() -> None:
    device = DeviceInput(DRIVER, {"versions": (Version("1.0.0"), Version("2.0.0"))}, {})
    expression = f'{GPU}.versions.exists(version, version.isGreaterThan(semver("1.9.9")))'
    assert compile_device_selector(expression, list_type_attributes=True).matches(device)


def test_an_expression_is_compiled_once() -> None:
    assert compile_device_selector("device.driver == ''") is compile_device_selector("device.driver == ''")


def test_an_expression_that_does_not_compile_cannot_be_asked() -> None:
    selector = compile_device_selector("device.")
    assert selector.error is not None
    with pytest.raises(CelError, match="compilation failed"):
        selector.matches(DEVICE)


def test_errors_can_be_shown_to_users() -> None:
    assert issubclass(CelError, SteersmanError)
