# SPDX-License-Identifier: Apache-2.0
"""Copies everything that an object reaches, as `copy.deepcopy` does, but in milliseconds: how a simulation is forked.

What never changes once it is made is not copied but shared: objects of the API, configurations, parsed pods. Classes say so
with `@shared_by_copies`. Everything else is copied, object by object, and two references to one object lead to one copy. Where
the copying of an attribute would be slow or pointless, `@copied_attributes` says how it is done instead; most often the copy
begins with an empty table, because what was in it can be found again.

Callbacks are copied too: bound methods, partial functions and closures are made again over the copies of what they refer to.
Weak references lead to the copy of their target if something else of the graph refers to it, and are dead otherwise.

What runs (coroutines, threads) and what belongs to the process (locks, files) cannot be copied: `NotCopyable`.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import functools
import gc
import itertools
import operator
import random
import re
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
import numpy as np

T = TypeVar("T")
ClassT = TypeVar("ClassT", bound=type[Any])

Copier: TypeAlias = "Callable[[GraphCopy, Any], Any]"
"""Makes the copy of an object, and notes it in `GraphCopy.memo` before it asks for the copies of what that refers to."""
Attribute: TypeAlias = Copier
"""Makes the copy of one attribute from its value."""

_Filling: TypeAlias = "tuple[Callable[[Any, Any], None], Any, Any]"

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
_RUNNING: Final = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType, types.FrameType)

_SMALL: Final = 8
"""Of so few items it is faster to copy each than to look at their classes first."""
_VIEWS: Final[dict[type, str]] = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}

_shared: set[type] = set()
_attributes: dict[type, dict[str, Attribute]] = {}
_copiers: dict[type, Copier] = {}
_finishers: dict[type, Callable[[Any, Any], None]] = {}


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


def finished_by(finisher: Callable[[Any, Any], None]) -> Callable[[ClassT], ClassT]:
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


# -- copying -----------------------------------------------------------------------------------------------------------


class GraphCopy:
    """One act of copying: `GraphCopy().copied(root)`."""

    def __init__(self) -> None:
        #: Copies by the id of the original.
        self.memo: dict[int, Any] = {}
        #: Copies whose attributes or items are still to be copied, each after its original. In the order in which they were
        #: made: owners come before those who look at what they own, and have declared how it is copied.
        self._unfilled: deque[_Filling] = deque()
        #: Those that are filled when all others are, and those that are filled last.
        self._late: deque[_Filling] = deque()
        self._weak: deque[_Filling] = deque()
        self._copied: list[_Filling] = []
        self._copier_of: dict[type, Copier | None] = {}

    def copied(self, root: T) -> T:
        """The copy of the object and of everything that it reaches. Raises `NotCopyable`."""
        new = self.of(root)
        self._fill_all()
        for finish, original, made in self._copied:
            finish(original, made)
        return new

    def of(self, value: T) -> T:
        """The copy of a value; its own attributes may not have been filled yet."""
        cls = type(value)
        try:
            copier = self._copier_of[cls]
        except KeyError:
            copier = self._copier_of[cls] = _plan(cls).copier
        if copier is None:
            return value
        known: T | None = self.memo.get(id(value))
        if known is not None:
            return known
        made: T = copier(self, value)
        return made

    def note(self, original: T, made: T, fill: Callable[[Any, Any], None] | None = None) -> T:
        """`made` is the copy; `fill` is called with both later on."""
        self.memo[id(original)] = made
        if fill is not None:
            self._unfilled.append((fill, original, made))
        return made

    def note_keyed(self, original: T, made: T, fill: Callable[[Any, Any], None]) -> T:
        """`note` of a copy that is filled with keys which have to be hashed, and are therefore filled before."""
        self.memo[id(original)] = made
        self._late.append((fill, original, made))
        return made

    def note_weak(self, original: T, made: T, fill: Callable[[Any, Any], None]) -> T:
        """`note` of a copy that is filled when it is known which targets of weak references were copied."""
        self.memo[id(original)] = made
        self._weak.append((fill, original, made))
        return made

    def at_end(self, finish: Callable[[Any, Any], None], original: object, made: object) -> None:
        """Calls `finish` with both when everything is copied."""
        self._copied.append((finish, original, made))

    def are_shared(self, values: Iterable[object]) -> bool:
        """Whether none of the values has to be copied."""
        known = self._copier_of
        for cls in set(map(type, values)):
            if cls not in known:
                known[cls] = _plan(cls).copier
            if known[cls] is not None:
                return False
        return True

    def _fill_all(self) -> None:
        unfilled, late, weak = self._unfilled, self._late, self._weak
        while unfilled or late or weak:
            fill, original, made = (unfilled or late or weak).popleft()
            fill(original, made)

    # -- containers ----------------------------------------------------------------------------------------------------

    def copy_dict(self, original: dict[Any, Any]) -> dict[Any, Any]:
        plain = self.are_shared(original)
        if plain and self.are_shared(original.values()):
            return self.note(original, original.copy())
        cls = type(original)
        new = cast("defaultdict[Any, Any]", original).__copy__() if issubclass(cls, defaultdict) else cls()
        new.clear()
        if isinstance(new, defaultdict):
            new.default_factory = self.of(new.default_factory)
        if any(isinstance(value, weakref.ref) for value in original.values()):
            return self.note_weak(original, new, self._fill_dict)
        if plain:
            return self.note(original, new, self._fill_dict)
        return self.note_keyed(original, new, self._reach_dict)

    def _fill_dict(self, original: dict[Any, Any], new: dict[Any, Any]) -> None:
        of = self.of
        for key, value in original.items():
            new[of(key)] = of(value)

    def _reach_dict(self, original: dict[Any, Any], new: dict[Any, Any]) -> None:
        """Asks for the copies of keys, which have to be filled before they can be hashed."""
        pairs = [(self.of(key), self.of(value)) for key, value in original.items()]
        self._late.append((self._insert, pairs, new))

    @staticmethod
    def _insert(pairs: list[tuple[Any, Any]], new: dict[Any, Any]) -> None:
        for key, value in pairs:  # not `update`, with which a Counter counts
            new[key] = value

    def copy_list(self, original: list[Any]) -> list[Any]:
        if self.are_shared(original):
            return self.note(original, original.copy())
        is_weak = any(isinstance(item, weakref.ref) for item in original)
        return (self.note_weak if is_weak else self.note)(original, type(original)(), self._fill_list)

    def _fill_list(self, original: list[Any], new: list[Any]) -> None:
        new.extend(map(self.of, original))

    def copy_deque(self, original: deque[Any]) -> deque[Any]:
        if self.are_shared(original):
            return self.note(original, original.copy())
        return self.note(original, deque(maxlen=original.maxlen), self._fill_deque)

    def _fill_deque(self, original: deque[Any], new: deque[Any]) -> None:
        new.extend(map(self.of, original))

    def copy_set(self, original: set[Any]) -> set[Any]:
        if self.are_shared(original):
            return self.note(original, original.copy())
        return self.note_keyed(original, type(original)(), self._reach_set)

    def _reach_set(self, original: set[Any], new: set[Any]) -> None:
        items = [self.of(item) for item in original]
        self._late.append((lambda items, new: new.update(items), items, new))

    def copy_tuple(self, original: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same tuple if nothing in it had to be copied."""
        if len(original) > _SMALL and self.are_shared(original):
            return original
        items = [self.of(item) for item in original]
        if all(map(operator.is_, items, original)):
            return original
        known = self.memo.get(id(original))
        return known if known is not None else self.note(original, tuple.__new__(type(original), items))

    def copy_frozenset(self, original: frozenset[Any]) -> frozenset[Any]:
        return original if self.are_shared(original) else self.note(original, frozenset(map(self.of, original)))

    def copy_proxy(self, original: types.MappingProxyType[Any, Any]) -> types.MappingProxyType[Any, Any]:
        return self.note(original, types.MappingProxyType(self.of(gc.get_referents(original)[0])))

    def copy_view(self, original: object) -> object:
        """The keys, values or items of some dict, which change with it."""
        made = self.of(gc.get_referents(original)[0])
        return self.note(original, getattr(made, _VIEWS[type(original)])())

    # -- callables -----------------------------------------------------------------------------------------------------

    def copy_method(self, original: types.MethodType) -> types.MethodType:
        owner = self.of(original.__self__)
        return original if owner is original.__self__ else types.MethodType(self.of(original.__func__), owner)

    def copy_builtin(self, original: types.BuiltinMethodType) -> object:
        """A method of a C class: `dict.get` of some dict, `list.append` of some list."""
        owner = original.__self__
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return original
        made = self.of(owner)
        return original if made is owner else getattr(made, original.__name__)

    def copy_partial(self, original: functools.partial[Any]) -> functools.partial[Any]:
        function, arguments = self.of(original.func), self.of(original.args)
        return self.note(original, functools.partial(function, *arguments, **self._values(original.keywords)))

    def copy_function(self, original: types.FunctionType) -> types.FunctionType:
        cells = original.__closure__
        if cells is None:
            return original
        made = types.FunctionType(
            original.__code__,
            original.__globals__,
            original.__name__,
            original.__defaults__,
            tuple(self.of(cell) for cell in cells),
        )
        made.__kwdefaults__ = original.__kwdefaults__
        made.__qualname__ = original.__qualname__
        made.__dict__.update(original.__dict__)
        return self.note(original, made)

    def copy_cell(self, original: types.CellType) -> types.CellType:
        return self.note(original, types.CellType(), self._fill_cell)

    def _fill_cell(self, original: types.CellType, new: types.CellType) -> None:
        try:
            content = original.cell_contents
        except ValueError:  # empty: of a name that is not bound yet
            return
        new.cell_contents = self.of(content)

    # -- weak references -----------------------------------------------------------------------------------------------

    def copy_reference(self, original: weakref.ref[Any]) -> weakref.ref[Any]:
        """Leads to the copy, if the target was copied because somebody else refers to it."""
        target = original()
        made = target if target is None or _plan(type(target)).copier is None else self.memo.get(id(target))
        return original if target is None else weakref.ref(_Gone() if made is None else made)

    def copy_weak_method(self, original: weakref.WeakMethod[Any]) -> weakref.ref[Any]:
        method = original()
        owner = None if method is None else self.memo.get(id(method.__self__))
        if method is None or owner is None:
            return weakref.ref(_Gone())
        return weakref.WeakMethod(types.MethodType(method.__func__, owner))

    # -- values of libraries -------------------------------------------------------------------------------------------

    def copy_array(self, original: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if original.dtype.hasobject:
            made = original.copy()
            made[...] = np.array([self.of(item) for item in original.flat], object).reshape(original.shape)
            return self.note(original, made)
        return self.note(original, original.copy())

    def copy_memoryview(self, original: memoryview) -> memoryview:
        """The view of a whole array, which is all that columns have."""
        array = original.obj
        if not isinstance(array, np.ndarray) or array.nbytes != original.nbytes:
            raise NotCopyable(f"a view of a part of {type(array).__name__}")
        return self.note(original, self.of(array).data)

    def copy_count(self, original: itertools.count[int]) -> itertools.count[int]:
        return self.note(original, itertools.count(int(repr(original)[len("count(") : -1])))

    def copy_random(self, original: random.Random) -> random.Random:
        made = random.Random()
        made.setstate(original.getstate())
        return self.note(original, made)

    def copy_foreign(self, original: object) -> object:
        """An object of a C class that we do not know."""
        try:
            return self.note(original, copy.deepcopy(original, self.memo))
        except Exception as error:
            cls = type(original)
            raise NotCopyable(f"a {cls.__module__}.{cls.__qualname__}: {error}") from error

    # -- objects -------------------------------------------------------------------------------------------------------

    def copy_struct(self, original: msgspec.Struct) -> msgspec.Struct:
        """A frozen struct: the same one if nothing in it had to be copied."""
        values = [getattr(original, name) for name in original.__struct_fields__]
        made = [self.of(value) for value in values]
        if all(map(operator.is_, made, values)):
            return original
        known = self.memo.get(id(original))
        return known if known is not None else self.note(original, _struct(original, made))

    def copy_object(self, original: object) -> object:
        made = copy.copy(original) if isinstance(original, msgspec.Struct) else object.__new__(type(original))
        return self.note(original, made, self.fill_object)

    def fill_object(self, original: Any, made: Any) -> None:
        """Copies all attributes, as the class has declared it."""
        plan = _plan(type(original))
        declared = plan.declared
        set_attribute = setattr if isinstance(original, msgspec.Struct) else object.__setattr__
        for name in plan.slots:
            try:
                value = getattr(original, name)
            except AttributeError:
                continue
            how = declared.get(name)
            set_attribute(made, name, self.of(value) if how is None else self._declared(how, value))
        own = getattr(original, "__dict__", None)
        if own:
            made.__dict__.update(self._values(own, declared))
        if plan.finisher is not None:
            self.at_end(plan.finisher, original, made)

    def _declared(self, how: Attribute, value: object) -> object:
        known = self.memo.get(id(value))
        if known is not None:
            return known
        return how(self, value)

    def _values(self, values: Mapping[str, Any], declared: Mapping[str, Attribute] | None = None) -> dict[str, Any]:
        of = self.of
        if not declared:
            return {name: of(value) for name, value in values.items()}
        return {
            name: of(value) if name not in declared else self._declared(declared[name], value)
            for name, value in values.items()
        }


class _Gone:
    """The target of weak references that are dead from the beginning."""


def _struct(original: msgspec.Struct, values: list[Any]) -> msgspec.Struct:
    return type(original)(**dict(zip(original.__struct_fields__, values, strict=True)))


# -- what is known of classes ------------------------------------------------------------------------------------------

_BUILT_IN: Final[dict[type, Copier]] = {
    Counter: GraphCopy.copy_dict,
    OrderedDict: GraphCopy.copy_dict,
    defaultdict: GraphCopy.copy_dict,
    deque: GraphCopy.copy_deque,
    dict: GraphCopy.copy_dict,
    frozenset: GraphCopy.copy_frozenset,
    functools.partial: GraphCopy.copy_partial,
    itertools.count: GraphCopy.copy_count,
    list: GraphCopy.copy_list,
    memoryview: GraphCopy.copy_memoryview,
    np.ndarray: GraphCopy.copy_array,
    random.Random: GraphCopy.copy_random,
    set: GraphCopy.copy_set,
    tuple: GraphCopy.copy_tuple,
    types.BuiltinMethodType: GraphCopy.copy_builtin,
    types.CellType: GraphCopy.copy_cell,
    types.FunctionType: GraphCopy.copy_function,
    types.MappingProxyType: GraphCopy.copy_proxy,
    types.MethodType: GraphCopy.copy_method,
    types.MethodWrapperType: GraphCopy.copy_builtin,
    weakref.WeakMethod: GraphCopy.copy_weak_method,
    weakref.ref: GraphCopy.copy_reference,
    **dict.fromkeys(_VIEWS, GraphCopy.copy_view),
}


class _ClassPlan(NamedTuple):
    """What is known of a class: found out once."""

    #: None: its objects are shared.
    copier: Copier | None
    slots: tuple[str, ...]
    declared: dict[str, Attribute]
    finisher: Callable[[Any, Any], None] | None


_MOST_PLANS: Final = 4096
_plans: dict[type, _ClassPlan] = {}


def _plan(cls: type) -> _ClassPlan:
    known = _plans.get(cls)
    if known is None:
        if len(_plans) >= _MOST_PLANS:  # of classes that come with plugins, again and again
            _plans.clear()
        finisher = next((_finishers[base] for base in cls.__mro__ if base in _finishers), None)
        known = _plans[cls] = _ClassPlan(_copier(cls), _slots(cls), declared_attributes(cls), finisher)
    return known


def _copier(cls: type) -> Copier | None:
    if is_shared(cls):
        return None
    for base in cls.__mro__:
        if base in _copiers:
            return _copiers[base]
    if cls in _BUILT_IN:
        return _BUILT_IN[cls]
    if issubclass(cls, _RUNNING):
        return _refused
    if issubclass(cls, msgspec.Struct):
        return GraphCopy.copy_struct if cls.__struct_config__.frozen else GraphCopy.copy_object
    if issubclass(cls, tuple):
        return GraphCopy.copy_tuple
    if issubclass(cls, weakref.ref):
        return GraphCopy.copy_reference
    return GraphCopy.copy_object if _is_plain(cls) else GraphCopy.copy_foreign


def is_shared(cls: type) -> bool:
    """Whether originals and copies have the same objects of the class."""
    if cls in _IMMUTABLE or issubclass(cls, _IMMUTABLE_BASES) or not _shared.isdisjoint(cls.__mro__):
        return True
    if not issubclass(cls, msgspec.Struct) or not cls.__struct_config__.frozen:
        return False
    return cls.__module__.startswith(_FROZEN_PACKAGES)


def _refused(_: GraphCopy, original: object) -> object:
    raise NotCopyable(f"something that is running: {original!r}")


def _is_plain(cls: type) -> bool:
    """Whether all that objects of the class have are attributes, set by Python code."""
    try:
        object.__new__(cls)
    except TypeError:  # a class that is written in C, or is made of one
        return False
    return not any(base.__module__ in ("_thread", "threading") for base in cls.__mro__)


def _slots(cls: type) -> tuple[str, ...]:
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


def declared_attributes(cls: type) -> dict[str, Attribute]:
    """How the class, and those that it derives from, want attributes to be copied."""
    declared: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__):
        declared.update(_attributes.get(base, {}))
    return declared
