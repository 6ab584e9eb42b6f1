# SPDX-License-Identifier: Apache-2.0
"""Unification: assignability of types and bindings of type variables, without state.

A `Substitution` maps names of type variables to types. It is extended if types unify, and otherwise
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.api.cel.types import DYN, Type, TypeKind, is_dyn, is_dyn_or_error

Substitution = dict[str, Type]

_NULLABLE: Final = frozenset({TypeKind.OPAQUE, TypeKind.STRUCT, TypeKind.ANY, TypeKind.DURATION, TypeKind.TIMESTAMP})
_PARAMETRIC: Final = frozenset({TypeKind.OPAQUE, TypeKind.LIST, TypeKind.MAP})
_CONTAINING: Final = _PARAMETRIC | {TypeKind.TYPE}


def assignable(known: Substitution, left: Sequence[Type], right: Sequence[Type]) -> bool:
    """Return whether each type on the left is assignable to the right; if so, extend `known`."""
    trial = _TentativeSubstitution(known)
    if not _all_fit(trial, left, right):
        return False
    known.update(trial.found)
    return True


def is_ground(type_: Type) -> bool:
    """Return whether the type has no type variables."""
    return type_.kind is not TypeKind.TYPE_PARAM and all(map(is_ground, type_.params))


class _TentativeSubstitution:
    """Substitution with tentative additions."""

    __slots__ = ("_known", "found")

    def __init__(self, known: Substitution) -> None:
        self._known = known
        self.found: Substitution = {}

    def get(self, name: str) -> Type | None:
        return self.found.get(name) or self._known.get(name)

    def set(self, name: str, type_: Type) -> None:
        self.found[name] = type_


def most_general(left: Type, right: Type) -> Type:
    """Return the more general of two unified types."""
    return left if _is_as_general(left, right) else right


def substitute(known: Substitution, type_: Type, *, free_to_dyn: bool) -> Type:
    """Replace type variables; unbound ones by `dyn` if `free_to_dyn`."""
    if type_.kind is TypeKind.TYPE_PARAM:
        if type_.name in known:
            return substitute(known, known[type_.name], free_to_dyn=free_to_dyn)
        return DYN if free_to_dyn else type_
    if not type_.params or type_.kind not in _CONTAINING:
        return type_
    params = tuple(substitute(known, param, free_to_dyn=free_to_dyn) for param in type_.params)
    return Type(type_.kind, type_.name, params)


def _all_fit(known: _TentativeSubstitution, left: Sequence[Type], right: Sequence[Type]) -> bool:
    return len(left) == len(right) and all(_fits(known, one, other) for one, other in zip(left, right, strict=True))


def _fits(known: _TentativeSubstitution, left: Type, right: Type) -> bool:
    if right.kind is TypeKind.TYPE_PARAM:
        valid, bound = _bind(known, left, right)
        if valid or bound:
            return valid
    if left.kind is TypeKind.TYPE_PARAM:
        return _bind(known, right, left)[0]
    if is_dyn_or_error(left) or is_dyn_or_error(right):
        return True
    if left.kind is TypeKind.NULL or right.kind is TypeKind.NULL:
        other = right if left.kind is TypeKind.NULL else left
        return other.kind in _NULLABLE or other.kind is TypeKind.NULL
    if left.kind in _PARAMETRIC:
        return left.kind is right.kind and left.name == right.name and _all_fit(known, left.params, right.params)
    if left.kind is TypeKind.TYPE:
        return right.kind is TypeKind.TYPE
    return left == right


def _bind(known: _TentativeSubstitution, type_: Type, variable: Type) -> tuple[bool, bool]:
    """Return whether the variable can be bound to the type, and whether it was already bound."""
    if type_ == variable:
        return True, True
    bound = known.get(variable.name)
    if bound is None:
        free = _does_not_occur(known, variable, type_)
        if free:
            known.set(variable.name, type_)
        return free, False
    if type_ == bound:
        return True, True
    if not _fits(known, type_, bound):
        return False, True
    wider = most_general(type_, bound)
    if _does_not_occur(known, variable, wider):
        known.set(variable.name, wider)
    return True, True


def _is_as_general(left: Type, right: Type) -> bool:
    if is_dyn(left) or left.kind is TypeKind.TYPE_PARAM:
        return True
    if is_dyn(right) or right.kind is TypeKind.TYPE_PARAM or left.kind is not right.kind:
        return False
    if left.kind in _PARAMETRIC:
        if left.name != right.name or len(left.params) != len(right.params):
            return False
        return all(_is_as_general(one, other) for one, other in zip(left.params, right.params, strict=True))
    return left.kind is TypeKind.TYPE or left == right


def _does_not_occur(known: _TentativeSubstitution, variable: Type, within: Type) -> bool:
    if variable == within:
        return False
    if within.kind is TypeKind.TYPE_PARAM:
        bound = known.get(within.name)
        return bound is None or _does_not_occur(known, variable, bound)
    if within.kind in _CONTAINING:
        return all(_does_not_occur(known, variable, param) for param in within.params)
    return True
