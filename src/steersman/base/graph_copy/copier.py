# SPDX-License-Identifier: Apache-2.0
"""The copying algorithm: `GraphCopy` visits the objects, with a copier for each class (`_plan`).

Copiers register a copy before they copy its references, so that cycles end; containers are filled
later.
"""

from __future__ import annotations

import copy
import functools
import gc
import itertools
import operator
import random
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
import numpy as np

from steersman.base.graph_copy.declarations import (
    Attribute,
    Copier,
    Finisher,
    NotCopyable,
    declared_attributes,
    declared_copier,
    declared_finisher,
    is_plain,
    is_shared,
    slots_of,
)

T = TypeVar("T")

_Filling: TypeAlias = "tuple[Callable[[Any, Any], None], Any, Any]"

_RUNNING: Final = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType, types.FrameType)
_SMALL: Final = 8
"""Up to this number of items, copying each is faster than comparing their classes first."""
_VIEWS: Final[dict[type, str]] = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}


class GraphCopy:
    """A single copy operation: `GraphCopy().copied(root)`."""

    def __init__(self) -> None:
        #: Copies by the id of the original.
        self.memo: dict[int, Any] = {}
        #: Copies whose attributes or items are not copied yet, with their originals, in order of
        #: creation: owners are filled before objects that reference their attributes.
        self._unfilled: deque[_Filling] = deque()
        #: Copies filled after all others, and copies filled last.
        self._late: deque[_Filling] = deque()
        self._weak: deque[_Filling] = deque()
        self._copied: list[_Filling] = []
        self._copier_of: dict[type, Copier | None] = {}

    def copied(self, root: T) -> T:
        """Return the copy of the object and everything reachable from it. Raises `NotCopyable`."""
        new = self.copy_of(root)
        self._fill_all()
        for finish, original, made in self._copied:
            finish(original, made)
        return new

    def copy_of(self, value: T) -> T:
        """Return the copy of a value; its attributes may not have been filled yet."""
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
        """Register `made` as the copy; `fill` is called with both later."""
        self.memo[id(original)] = made
        if fill is not None:
            self._unfilled.append((fill, original, made))
        return made

    def note_keyed(self, original: T, made: T, fill: Callable[[Any, Any], None]) -> T:
        """Like `note`, for a copy with keys that must be filled before they can be hashed."""
        self.memo[id(original)] = made
        self._late.append((fill, original, made))
        return made

    def note_weak(self, original: T, made: T, fill: Callable[[Any, Any], None]) -> T:
        """Like `note`, for a copy that is filled when all targets of weak references are known."""
        self.memo[id(original)] = made
        self._weak.append((fill, original, made))
        return made

    def at_end(self, finish: Callable[[Any, Any], None], original: object, made: object) -> None:
        """Call `finish` with both when everything is copied."""
        self._copied.append((finish, original, made))

    def are_shared(self, values: Iterable[object]) -> bool:
        """Return whether none of the values has to be copied."""
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

    # -- containers -------------------------------------------------------------------------------

    def copy_dict(self, original: dict[Any, Any]) -> dict[Any, Any]:
        plain = self.are_shared(original)
        if plain and self.are_shared(original.values()):
            return self.note(original, original.copy())
        cls = type(original)
        new = cast("defaultdict[Any, Any]", original).__copy__() if issubclass(cls, defaultdict) else cls()
        new.clear()
        if isinstance(new, defaultdict):
            new.default_factory = self.copy_of(new.default_factory)
        if any(isinstance(value, weakref.ref) for value in original.values()):
            return self.note_weak(original, new, self._fill_dict)
        if plain:
            return self.note(original, new, self._fill_dict)
        return self.note_keyed(original, new, self._copy_keys_first)

    def _fill_dict(self, original: dict[Any, Any], new: dict[Any, Any]) -> None:
        copy_of = self.copy_of
        for key, value in original.items():
            new[copy_of(key)] = copy_of(value)

    def _copy_keys_first(self, original: dict[Any, Any], new: dict[Any, Any]) -> None:
        """Copy the keys first, because they must be filled before they can be hashed."""
        pairs = [(self.copy_of(key), self.copy_of(value)) for key, value in original.items()]
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
        new.extend(map(self.copy_of, original))

    def copy_deque(self, original: deque[Any]) -> deque[Any]:
        if self.are_shared(original):
            return self.note(original, original.copy())
        return self.note(original, deque(maxlen=original.maxlen), self._fill_deque)

    def _fill_deque(self, original: deque[Any], new: deque[Any]) -> None:
        new.extend(map(self.copy_of, original))

    def copy_set(self, original: set[Any]) -> set[Any]:
        if self.are_shared(original):
            return self.note(original, original.copy())
        return self.note_keyed(original, type(original)(), self._copy_items_first)

    def _copy_items_first(self, original: set[Any], new: set[Any]) -> None:
        items = [self.copy_of(item) for item in original]
        self._late.append((lambda items, new: new.update(items), items, new))

    def copy_tuple(self, original: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a copy of the tuple, or the tuple itself if no item had to be copied."""
        if len(original) > _SMALL and self.are_shared(original):
            return original
        items = [self.copy_of(item) for item in original]
        if all(map(operator.is_, items, original)):
            return original
        known = self.memo.get(id(original))
        return known if known is not None else self.note(original, tuple.__new__(type(original), items))

    def copy_frozenset(self, original: frozenset[Any]) -> frozenset[Any]:
        return original if self.are_shared(original) else self.note(original, frozenset(map(self.copy_of, original)))

    def copy_proxy(self, original: types.MappingProxyType[Any, Any]) -> types.MappingProxyType[Any, Any]:
        return self.note(original, types.MappingProxyType(self.copy_of(gc.get_referents(original)[0])))

    def copy_view(self, original: object) -> object:
        """Return the keys, values or items view of the copied dict."""
        made = self.copy_of(gc.get_referents(original)[0])
        return self.note(original, getattr(made, _VIEWS[type(original)])())

    # -- callables --------------------------------------------------------------------------------

    def copy_method(self, original: types.MethodType) -> types.MethodType:
        owner = self.copy_of(original.__self__)
        return original if owner is original.__self__ else types.MethodType(self.copy_of(original.__func__), owner)

    def copy_builtin(self, original: types.BuiltinMethodType) -> object:
        """Copy a bound method of a C class, such as `dict.get` or `list.append`."""
        owner = original.__self__
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return original
        made = self.copy_of(owner)
        return original if made is owner else getattr(made, original.__name__)

    def copy_partial(self, original: functools.partial[Any]) -> functools.partial[Any]:
        function, arguments = self.copy_of(original.func), self.copy_of(original.args)
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
            tuple(self.copy_of(cell) for cell in cells),
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
        except ValueError:  # empty: its variable is not bound yet
            return
        new.cell_contents = self.copy_of(content)

    # -- weak references --------------------------------------------------------------------------

    def copy_reference(self, original: weakref.ref[Any]) -> weakref.ref[Any]:
        """Return a reference to the copy of the target, if that was copied because of another
        reference."""
        target = original()
        made = target if target is None or _plan(type(target)).copier is None else self.memo.get(id(target))
        return original if target is None else weakref.ref(_DeadTarget() if made is None else made)

    def copy_weak_method(self, original: weakref.WeakMethod[Any]) -> weakref.ref[Any]:
        method = original()
        owner = None if method is None else self.memo.get(id(method.__self__))
        if method is None or owner is None:
            return weakref.ref(_DeadTarget())
        return weakref.WeakMethod(types.MethodType(method.__func__, owner))

    # -- values of libraries ----------------------------------------------------------------------

    def copy_array(self, original: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if original.dtype.hasobject:
            made = original.copy()
            made[...] = np.array([self.copy_of(item) for item in original.flat], object).reshape(original.shape)
            return self.note(original, made)
        return self.note(original, original.copy())

    def copy_memoryview(self, original: memoryview) -> memoryview:
        """Copy the view of a whole array, the only kind that columns have."""
        array = original.obj
        if not isinstance(array, np.ndarray) or array.nbytes != original.nbytes:
            raise NotCopyable(f"a view of a part of {type(array).__name__}")
        return self.note(original, self.copy_of(array).data)

    def copy_count(self, original: itertools.count[int]) -> itertools.count[int]:
        return self.note(original, itertools.count(int(repr(original)[len("count(") : -1])))

    def copy_random(self, original: random.Random) -> random.Random:
        made = random.Random()
        made.setstate(original.getstate())
        return self.note(original, made)

    def copy_foreign(self, original: object) -> object:
        """Copy an object of an unknown C class."""
        try:
            return self.note(original, copy.deepcopy(original, self.memo))
        except Exception as error:
            cls = type(original)
            raise NotCopyable(f"a {cls.__module__}.{cls.__qualname__}: {error}") from error

    # -- objects ----------------------------------------------------------------------------------

    def copy_struct(self, original: msgspec.Struct) -> msgspec.Struct:
        """Copy a frozen struct; return the same one if no field had to be copied."""
        values = [getattr(original, name) for name in original.__struct_fields__]
        made = [self.copy_of(value) for value in values]
        if all(map(operator.is_, made, values)):
            return original
        known = self.memo.get(id(original))
        return known if known is not None else self.note(original, _struct(original, made))

    def copy_object(self, original: object) -> object:
        made = copy.copy(original) if isinstance(original, msgspec.Struct) else object.__new__(type(original))
        return self.note(original, made, self.fill_object)

    def fill_object(self, original: Any, made: Any) -> None:
        """Copy all attributes as declared by the class."""
        plan = _plan(type(original))
        declared = plan.declared
        set_attribute = setattr if isinstance(original, msgspec.Struct) else object.__setattr__
        for name in plan.slots:
            try:
                value = getattr(original, name)
            except AttributeError:
                continue
            how = declared.get(name)
            set_attribute(made, name, self.copy_of(value) if how is None else self._declared(how, value))
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
        copy_of = self.copy_of
        if not declared:
            return {name: copy_of(value) for name, value in values.items()}
        return {
            name: copy_of(value) if name not in declared else self._declared(declared[name], value)
            for name, value in values.items()
        }


class _DeadTarget:
    """Target of dead weak references."""


def _struct(original: msgspec.Struct, values: list[Any]) -> msgspec.Struct:
    return type(original)(**dict(zip(original.__struct_fields__, values, strict=True)))


# -- plans of classes -----------------------------------------------------------------------------

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
    """How objects of one class are copied; computed once."""

    #: None if objects of the class are shared.
    copier: Copier | None
    slots: tuple[str, ...]
    declared: dict[str, Attribute]
    finisher: Finisher | None


_MAX_PLANS: Final = 4096
_plans: dict[type, _ClassPlan] = {}


def _plan(cls: type) -> _ClassPlan:
    known = _plans.get(cls)
    if known is None:
        if len(_plans) >= _MAX_PLANS:  # plugins may define classes repeatedly
            _plans.clear()
        known = _plans[cls] = _ClassPlan(_copier(cls), slots_of(cls), declared_attributes(cls), declared_finisher(cls))
    return known


def _copier(cls: type) -> Copier | None:
    if is_shared(cls):
        return None
    declared = declared_copier(cls)
    if declared is not None:
        return declared
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
    return GraphCopy.copy_object if is_plain(cls) else GraphCopy.copy_foreign


def _refused(_: GraphCopy, original: object) -> object:
    raise NotCopyable(f"something that is running: {original!r}")
