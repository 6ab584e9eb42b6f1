# SPDX-License-Identifier: Apache-2.0
"""Selectors of devices: what comes in is an expression and a device, what goes out is whether the device is selected.

`compiled_selector` parses, checks and plans an expression once; the allocator evaluates it for many devices.
"""

from __future__ import annotations

from typing import Final

from steersman.cel import types
from steersman.cel.checker import check
from steersman.cel.device import AttributeValue, DeviceInput, EvaluationClock, Version
from steersman.cel.environment import Environment, device_environment
from steersman.cel.errors import CelError, Issue, render
from steersman.cel.expression_cache import ExpressionCache
from steersman.cel.frame import EvaluationFrame, PlanError
from steersman.cel.library import quantities, semver
from steersman.cel.meter import Meter, metered
from steersman.cel.nodes import MOST_NODES, ExpressionTooLarge
from steersman.cel.parser import TOO_DEEP, parse
from steersman.cel.planner import CelProgram, plan
from steersman.cel.validators import validate
from steersman.cel.values import DefaultMap, TextMap, Value, go_name, type_name

TOO_LARGE: Final = f"the expression has more than {MOST_NODES} nodes once its macros are expanded"
_CACHED_CHARACTERS: Final = 250_000
"""Of all expressions that are kept, which take up to 400 bytes per character: less than 100 MB."""
_ENVIRONMENTS: Final = {lists: device_environment(list_attributes=lists) for lists in (False, True)}
_NATIVE_CONVERSIONS: Final = {
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "double": "type conversion error from Double to 'bool'",
    "string": "unsupported native conversion from string to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "null_type": "type conversion error from 'null_type' to 'bool'",
}


class CompiledDeviceSelector:
    """A compiled expression. `error` says why it is none; it must be looked at before `matches` is called."""

    __slots__ = ("_list_attributes", "_program", "error", "expression")

    def __init__(
        self, expression: str, program: CelProgram | None, error: str | None, *, list_attributes: bool
    ) -> None:
        self.expression = expression
        #: Why the expression cannot be used, in upstream's words; None if it can.
        self.error = error
        self._program = program
        self._list_attributes = list_attributes

    def matches(self, device: DeviceInput, clock: EvaluationClock | None = None) -> bool:
        """Whether the device is selected; raises `CelError` if the expression cannot be evaluated for it, and
        `EvaluationTimeout` if that takes too long by the clock."""
        return self.evaluate(device, clock)[0]

    def evaluate(self, device: DeviceInput, clock: EvaluationClock | None = None) -> tuple[bool, int]:
        """Whether the device is selected, and what finding out has cost."""
        if self._program is None:
            raise CelError(self.error or "")
        meter = Meter(clock)
        frame = EvaluationFrame(
            activation(device, list_attributes=self._list_attributes), self._program.variables, meter
        )
        try:
            with metered(meter):
                result = self._program.evaluate(frame)
        except RecursionError:
            raise CelError(TOO_DEEP) from None
        if type(result) is bool:
            return result, frame.cost
        raise CelError(f"CEL result of type {type_name(result)} could not be converted to bool: {_no_bool(result)}")


_known: Final[ExpressionCache[CompiledDeviceSelector]] = ExpressionCache(_CACHED_CHARACTERS)


def compiled_selector(expression: str, list_type_attributes: bool) -> CompiledDeviceSelector:
    """The selector of an expression, from the cache if it is there; see `compile_device_selector`."""
    selector = _known.get(expression, list_type_attributes)
    if selector is None:
        selector = _selector(expression, list_type_attributes)
        _known.put(expression, list_type_attributes, selector)
    return selector


def _selector(expression: str, list_type_attributes: bool) -> CompiledDeviceSelector:
    program: CelProgram | None = None
    error: str | None = None
    try:
        program = _compiled(expression, _ENVIRONMENTS[list_type_attributes])
    except PlanError as failure:
        error = str(failure)
    except RecursionError:
        error = f"compilation failed: {render([Issue(-1, TOO_DEEP)], expression)}"
    except ExpressionTooLarge:
        error = f"compilation failed: {render([Issue(-1, TOO_LARGE)], expression)}"
    return CompiledDeviceSelector(expression, program, error, list_attributes=list_type_attributes)


def _compiled(expression: str, environment: Environment) -> CelProgram:
    root, issues = parse(expression)
    if root is None:
        raise _rejected(issues, expression)
    checked = check(root, environment)
    issues = checked.issues or validate(checked)
    if issues:
        raise _rejected(issues, expression)
    if checked.type not in (types.BOOL, types.ANY) and not (environment.accepts_dyn and checked.type == types.DYN):
        raise PlanError(f"must evaluate to bool or the unknown type, not {checked.type}")
    try:
        return plan(checked)
    except PlanError as error:
        raise PlanError(f"program instantiation failed: {error}") from None


def _rejected(issues: list[Issue], expression: str) -> PlanError:
    return PlanError(f"compilation failed: {render(issues, expression)}")


def activation(device: DeviceInput, *, list_attributes: bool) -> Value:
    """The value of the variable `device`; raises `CelError` for an attribute that cannot be used."""
    found = device.activations[list_attributes]
    if found is None:
        found = device.activations[list_attributes] = _activated(device, list_attributes=list_attributes)
    return found


def _activated(device: DeviceInput, *, list_attributes: bool) -> Value:
    attributes, capacity = DefaultMap(), DefaultMap()
    for name, attribute in device.attributes.items():
        _put(attributes, name, device.driver, _attribute(name, attribute, list_attributes=list_attributes))
    for name, quantity in device.capacity.items():
        _put(capacity, name, device.driver, quantities.parse(quantity))
    return {
        "driver": device.driver,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
        "attributes": attributes,
        "capacity": capacity,
    }


def _put(domains: DefaultMap, name: str, driver: str, value: Value) -> None:
    domain, slash, id_ = name.partition("/")
    if not slash:
        domain, id_ = driver, name
    if domain not in domains:
        domains[domain] = TextMap()
    entries = domains[domain]
    assert isinstance(entries, TextMap)
    entries[id_] = value


def _attribute(name: str, attribute: AttributeValue, *, list_attributes: bool) -> Value:
    try:
        if isinstance(attribute, tuple) and list_attributes:
            return [_scalar(element) for element in attribute]
        return _scalar(attribute)
    except CelError as error:
        raise CelError(f"attribute {name}: {error}") from None


def _scalar(attribute: AttributeValue) -> Value:
    if isinstance(attribute, Version):
        try:
            return semver.parse(str(attribute))
        except CelError as error:
            raise CelError(f"parse semantic version: {error}") from None
    if isinstance(attribute, bool | int | str):
        return attribute
    raise CelError("unsupported attribute value")


def _no_bool(result: Value) -> str:
    known = _NATIVE_CONVERSIONS.get(type_name(result))
    return known or f"type conversion error from '{go_name(result).rpartition('.')[2]}' to 'bool'"
