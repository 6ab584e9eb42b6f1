# SPDX-License-Identifier: Apache-2.0
"""How objects of a class are copied: what the class declares, and what can be told by looking at it.

Modules all over the project declare here; `copier` asks when it meets the first object of a class.
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
    from steersman.graph_copy.copier import GraphCopy

ClassT = TypeVar("ClassT", bound=type[Any])

Copier: TypeAlias = "Callable[[GraphCopy, Any], Any]"
"""Makes the copy of an object, and notes it in `GraphCopy.memo` before it asks for the copies of what that refers to."""
Attribute: TypeAlias = Copier
"""Makes the copy of one attribute from its value."""
Finisher: TypeAlias = Callable[[Any, Any], None]
"""Is called with an original and its copy when everything is copied."""

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
_FROZEN_PACKAGES: Final = ("steersman.api.", "steersman.config.", "steersman.cel.")
"""Frozen structs of these packages hold nothing that changes, though some have dicts in them."""
_shared: set[type] = set()
_attributes: dict[type, dict[str, Attribute]] = {}
_copiers: dict[type, Copier] = {}
_finishers: dict[type, Finisher] = {}


class NotCopyable(Exception):
    """Something that the graph refers to cannot be copied; the message names it."""


# -- what classes declare ----------------------------------------------------------------------------------------------


def shared_by_copies(cls: ClassT) -> ClassT:
    """Declares that original and copies have the same objects of the class: nobody changes one while another has it."""
    _shared.add(cls)
    return cls


def copied_attributes(**attributes: Attribute) -> Callable[[ClassT], ClassT]:
    """Declares how the named attributes of a class are copied; `shallow` and the others below are there for that."""

    def declare(cls: ClassT) -> ClassT:
        _attributes[cls] = attributes
        return cls

    return declare


def copied_by(copier: Copier) -> Callable[[ClassT], ClassT]:
    """Declares the function that copies objects of a class."""

    def declare(cls: ClassT) -> ClassT:
        _copiers[cls] = copier
        return cls

    return declare


def finished_by(finisher: Finisher) -> Callable[[ClassT], ClassT]:
    """Declares a function that is called with original and copy of a class's object when everything is copied."""

    def declare(cls: ClassT) -> ClassT:
        _finishers[cls] = finisher
        return cls

    return declare


def shallow(copies: GraphCopy, value: Any) -> Any:
    """The container is copied, and its items are shared."""
    return copies.note(value, copy.copy(value))


def two_levels(copies: GraphCopy, value: Any) -> Any:
    """A list or dict of containers is copied with these; what is in them is shared."""
    memo = copies.memo
    items = value.values() if isinstance(value, dict) else value
    inner = [memo[id(item)] if id(item) in memo else item.copy() for item in items]
    memo.update(zip(map(id, items), inner, strict=True))
    return copies.note(value, dict(zip(value, inner, strict=True)) if isinstance(value, dict) else inner)


def by_reference(copies: GraphCopy, value: Any) -> Any:
    """The value is shared, though its class is not: nobody changes it."""
    return value


def emptied(copies: GraphCopy, value: Any) -> Any:
    """The container begins empty in the copy."""
    return copies.note(value, type(value)())


def no_value(copies: GraphCopy, value: object) -> None:
    """The copy begins without the attribute's value."""


def fresh_token(copies: GraphCopy, value: object) -> object:
    """An object that stands for the copy as another one stands for the original."""
    return object()


# -- what is known of classes ------------------------------------------------------------------------------------------


def declared_copier(cls: type) -> Copier | None:
    """The function that the class, or the nearest that it derives from, has declared with `copied_by`."""
    return next((_copiers[base] for base in cls.__mro__ if base in _copiers), None)


def declared_finisher(cls: type) -> Finisher | None:
    """The function that the class, or the nearest that it derives from, has declared with `finished_by`."""
    return next((_finishers[base] for base in cls.__mro__ if base in _finishers), None)


def declared_attributes(cls: type) -> dict[str, Attribute]:
    """How the class, and those that it derives from, want attributes to be copied."""
    declared: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__):
        declared.update(_attributes.get(base, {}))
    return declared


def is_shared(cls: type) -> bool:
    """Whether originals and copies have the same objects of the class."""
    if cls in _IMMUTABLE or issubclass(cls, _IMMUTABLE_BASES) or not _shared.isdisjoint(cls.__mro__):
        return True
    if not issubclass(cls, msgspec.Struct) or not cls.__struct_config__.frozen:
        return False
    return cls.__module__.startswith(_FROZEN_PACKAGES)


def is_plain(cls: type) -> bool:
    """Whether all that objects of the class have are attributes, set by Python code."""
    try:
        object.__new__(cls)
    except TypeError:  # a class that is written in C, or is made of one
        return False
    return not any(base.__module__ in ("_thread", "threading") for base in cls.__mro__)


def slots_of(cls: type) -> tuple[str, ...]:
    """The attributes of the class's objects that are not in their `__dict__`."""
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
