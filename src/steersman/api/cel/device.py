# SPDX-License-Identifier: Apache-2.0
"""Devices as expression inputs, and the entry point for compiling selectors (`selector`).

Imports neither grammar nor functions: most clusters have no expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from steersman.api.cel.values import Value
from steersman.api.meta import Quantity

if TYPE_CHECKING:
    from steersman.api.cel.selector import CompiledDeviceSelector


class Version(str):
    """Device attribute of type version; a plain `str` is an attribute of type string."""

    __slots__ = ()


AttributeValue: TypeAlias = (
    bool | int | str | Version | tuple[bool, ...] | tuple[int, ...] | tuple[str, ...] | tuple[Version, ...] | None
)
"""Value of a device attribute, a tuple for list types; None for an unknown type."""

EvaluationClock: TypeAlias = Callable[[], float]
"""Returns seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceInput:
    """Device as input of expressions. Its mappings must not change: conversions are cached."""

    #: Default domain of attribute and capacity names.
    driver: str
    #: Values by name, with or without domain: `model`, `gpu.example.com/model`.
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, Quantity]
    allow_multiple_allocations: bool | None = None
    #: Cached values of the variable `device`, without and with list attributes; None if unused.
    activations: list[Value] = field(default_factory=lambda: [None, None], init=False, repr=False)


def compile_device_selector(expression: str, *, list_type_attributes: bool = False) -> CompiledDeviceSelector:
    """Compile an expression. Never raises; the selector has the error.

    `list_type_attributes` is the feature gate DRAListTypeAttributes.
    """
    # Lazy import: a scheduler without expressions starts 50 ms faster.
    from steersman.api.cel.selector import compiled_selector

    return compiled_selector(expression, list_type_attributes)
