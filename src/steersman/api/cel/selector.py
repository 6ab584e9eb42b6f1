# SPDX-License-Identifier: Apache-2.0
"""Device selectors: evaluate an expression for a device.

`compiled_selector` parses, checks and plans an expression once; the allocator evaluates it for many
devices.
"""

from __future__ import annotations

from typing import Final

from steersman.api.cel import types
from steersman.api.cel.checker import check
from steersman.api.cel.device import AttributeValue, DeviceInput, EvaluationClock, Version
from steersman.api.cel.environment import Environment, device_environment
from steersman.api.cel.errors import CelError, Issue, render
from steersman.api.cel.expression_cache import ExpressionCache
from steersman.api.cel.frame import EvaluationFrame, PlanError
from steersman.api.cel.library import quantities, semver
from steersman.api.cel.meter import Meter, metered
from steersman.api.cel.nodes import MAX_NODES, ExpressionTooLarge
from steersman.api.cel.parser import TOO_DEEP, parse
from steersman.api.cel.planner import CelProgram, plan
from steersman.api.cel.validators import validate
from steersman.api.cel.values import DefaultMap, TextMap, Value, go_name, type_name

TOO_LARGE: Final = f"the expression has more than {MAX_NODES} nodes once its macros are expanded"
_CACHED_CHARACTERS: Final = 250_000
"""Maximum total length of cached expressions: < 100 MB at up to 400 bytes per character."""
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
    """Compiled expression. If it is invalid, `error` is set and `matches` must not be called."""

    __slots__ = ("_list_attributes", "_program", "error", "expression")

    def __init__(
        self, expression: str, program: CelProgram | None, error: str | None, *, list_attributes: bool
    ) -> None:
        self.expression = expression
        #: Compilation error with upstream's message, or None.
        self.error = error
        self._program = program
        self._list_attributes = list_attributes

    def matches(self, device: DeviceInput, clock: EvaluationClock | None = None) -> bool:
        """Return whether the device is selected. Raises `CelError` if the evaluation fails,
        `EvaluationTimeout` if it takes too long."""
        return self.evaluate(device, clock)[0]

    def evaluate(self, device: DeviceInput, clock: EvaluationClock | None = None) -> tuple[bool, int]:
        """Return whether the device is selected, and the cost."""
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
    """Return the selector of an expression, cached; see `compile_device_selector`."""
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
    """Return the value of the variable `device`. Raises `CelError` for an invalid attribute."""
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
