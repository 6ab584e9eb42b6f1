# SPDX-License-Identifier: Apache-2.0
"""Devices as expressions see them, and the way to an expression that selects some (`selector`).

Nothing here needs the grammar or the functions of the language: most clusters have no expression at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from steersman.api.meta import Quantity
from steersman.cel.values import Value

if TYPE_CHECKING:
    from steersman.cel.selector import CompiledDeviceSelector


class Version(str):
    """A device attribute of type version, as written; a plain `str` is an attribute of type string."""

    __slots__ = ()


AttributeValue: TypeAlias = (
    bool | int | str | Version | tuple[bool, ...] | tuple[int, ...] | tuple[str, ...] | tuple[Version, ...] | None
)
"""The value of a device attribute, a tuple for one of the list types; None is a value of a type unknown here."""

EvaluationClock: TypeAlias = Callable[[], float]
"""Seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceInput:
    """A device as expressions see it; what its maps hold must not change, because what it was turned into is kept."""

    #: The domain of attributes and capacities whose names have none.
    driver: str
    #: By name, with or without domain: `model`, `gpu.example.com/model`.
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, Quantity]
    allow_multiple_allocations: bool | None = None
    #: The value of the variable `device`, without and with attributes of list types; None until somebody asks.
    activations: list[Value] = field(default_factory=lambda: [None, None], init=False, repr=False)


def compile_device_selector(expression: str, *, list_type_attributes: bool = False) -> CompiledDeviceSelector:
    """Compile an expression; never raises, an error is kept in the selector.

    `list_type_attributes` is the feature gate DRAListTypeAttributes.
    """
    # Imported with the first expression: a scheduler that never sees one starts 50 ms sooner.
    from steersman.cel.selector import compiled_selector

    return compiled_selector(expression, list_type_attributes)
