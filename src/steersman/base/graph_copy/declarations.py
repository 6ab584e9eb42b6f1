# SPDX-License-Identifier: Apache-2.0
"""Declarations of how objects of a class are copied, and properties derived from the class itself.

Modules throughout the project declare here; `copier` reads the declarations at the first object of
a class.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import functools
import operator
import re
import types
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np

if TYPE_CHECKING:
    from steersman.base.graph_copy.copier import GraphCopy

ClassT = TypeVar("ClassT", bound=type[Any])

Copier: TypeAlias = "Callable[[GraphCopy, Any], Any]"
"""Copies an object, and registers the copy in `GraphCopy.memo` before copying its references."""
Attribute: TypeAlias = Copier
"""Copies one attribute, given its value."""
Finisher: TypeAlias = Callable[[Any, Any], None]
"""Called with an original and its copy when everything is copied."""

_IMMUTABLE: Final[frozenset[type]] = frozenset(
    {
        bool,
        bytes,
        complex,
        datetime.date,
        datetime.datetime,
        datetime.timedelta,
        datetime.timezone,
        decimal.Decimal,
        float,
        int,
        object,
        property,
        range,
        re.Pattern,
        slice,
        str,
        type(None),
        type(Ellipsis),
        type(NotImplemented),
        types.CodeType,
        types.GenericAlias,
        types.ModuleType,
        types.WrapperDescriptorType,
        types.MethodDescriptorType,
        functools._lru_cache_wrapper,
        np.dtype,
        operator.attrgetter,
        operator.itemgetter,
        operator.methodcaller,
    }
)
_IMMUTABLE_BASES: Final = (type, enum.Enum, BaseException, PurePath, np.generic)
_FROZEN_PACKAGES: Final = ("steersman.api.", "steersman.config.", "steersman.api.cel.")
"""Frozen structs of these packages are immutable, although some contain dicts."""
_shared: set[type] = set()
_attributes: dict[type, dict[str, Attribute]] = {}
_copiers: dict[type, Copier] = {}
_finishers: dict[type, Finisher] = {}


class NotCopyable(Exception):
    """An object in the graph cannot be copied; the message names it."""


# -- declarations ---------------------------------------------------------------------------------


def shared_by_copies(cls: ClassT) -> ClassT:
    """Declare that original and copies share the objects of the class, because shared objects are
    never modified."""
    _shared.add(cls)
    return cls


def copied_attributes(**attributes: Attribute) -> Callable[[ClassT], ClassT]:
    """Declare how the named attributes of a class are copied, by `shallow` or another function
    below."""

    def declare(cls: ClassT) -> ClassT:
        _attributes[cls] = attributes
        return cls

    return declare


def copied_by(copier: Copier) -> Callable[[ClassT], ClassT]:
    """Declare the function that copies objects of a class."""

    def declare(cls: ClassT) -> ClassT:
        _copiers[cls] = copier
        return cls

    return declare


def finished_by(finisher: Finisher) -> Callable[[ClassT], ClassT]:
    """Declare a function to call with an object of the class and its copy when everything is
    copied."""

    def declare(cls: ClassT) -> ClassT:
        _finishers[cls] = finisher
        return cls

    return declare


def shallow(copies: GraphCopy, value: Any) -> Any:
    """Copy the container, and share its items."""
    return copies.note(value, copy.copy(value))


def two_levels(copies: GraphCopy, value: Any) -> Any:
    """Copy a list or dict of containers with these, and share their items."""
    memo = copies.memo
    items = value.values() if isinstance(value, dict) else value
    inner = [memo[id(item)] if id(item) in memo else item.copy() for item in items]
    memo.update(zip(map(id, items), inner, strict=True))
    return copies.note(value, dict(zip(value, inner, strict=True)) if isinstance(value, dict) else inner)


def by_reference(copies: GraphCopy, value: Any) -> Any:
    """Share the value, although its class is not shared, because it is never modified."""
    return value


def emptied(copies: GraphCopy, value: Any) -> Any:
    """Start with an empty container in the copy."""
    return copies.note(value, type(value)())


def no_value(copies: GraphCopy, value: object) -> None:
    """Start without a value of the attribute in the copy."""


def fresh_token(copies: GraphCopy, value: object) -> object:
    """Return a new identity token for the copy."""
    return object()


# -- properties of classes ------------------------------------------------------------------------


def declared_copier(cls: type) -> Copier | None:
    """Return the function declared with `copied_by` by the class or its nearest base."""
    return next((_copiers[base] for base in cls.__mro__ if base in _copiers), None)


def declared_finisher(cls: type) -> Finisher | None:
    """Return the function declared with `finished_by` by the class or its nearest base."""
    return next((_finishers[base] for base in cls.__mro__ if base in _finishers), None)


def declared_attributes(cls: type) -> dict[str, Attribute]:
    """Return the declared attributes of the class and its bases."""
    declared: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__):
        declared.update(_attributes.get(base, {}))
    return declared


def is_shared(cls: type) -> bool:
    """Return whether originals and copies share the objects of the class."""
    if cls in _IMMUTABLE or issubclass(cls, _IMMUTABLE_BASES) or not _shared.isdisjoint(cls.__mro__):
        return True
    if not issubclass(cls, msgspec.Struct) or not cls.__struct_config__.frozen:
        return False
    return cls.__module__.startswith(_FROZEN_PACKAGES)


def is_plain(cls: type) -> bool:
    """Return whether objects of the class only have attributes set by Python code."""
    try:
        object.__new__(cls)
    except TypeError:  # a class that is written in C, or derived from one
        return False
    return not any(base.__module__ in ("_thread", "threading") for base in cls.__mro__)


def slots_of(cls: type) -> tuple[str, ...]:
    """Return the attributes of the class's objects that are not in their `__dict__`."""
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                names.append(_mangled(base, name))
    return tuple(names)


def _mangled(cls: type, name: str) -> str:
    return f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
