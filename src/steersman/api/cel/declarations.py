# SPDX-License-Identifier: Apache-2.0
"""Declarations of functions: name, overloads with signatures, implementation.

A signature is written as `string.(int) -> string` for a member function and `(string) -> Quantity`
for a global one; single capital letters are type variables. The libraries are tables of
declarations; the checker reads types, the planner implementations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from steersman.api.cel import types
from steersman.api.cel.types import Type, TypeKind
from steersman.api.cel.values import Value

Implementation = Callable[..., Value]

_NAMES: Final = {
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "duration": types.DURATION,
    "dyn": types.DYN,
    "int": types.INT,
    "string": types.STRING,
    "timestamp": types.TIMESTAMP,
    "uint": types.UINT,
    "Authorizer": Type(TypeKind.STRUCT, "kubernetes.authorization.Authorizer"),
    "CIDR": types.CIDR,
    "Decision": Type(TypeKind.STRUCT, "kubernetes.authorization.Decision"),
    "Format": types.FORMAT,
    "GroupCheck": Type(TypeKind.STRUCT, "kubernetes.authorization.GroupCheck"),
    "IP": types.IP,
    "PathCheck": Type(TypeKind.STRUCT, "kubernetes.authorization.PathCheck"),
    "Quantity": types.QUANTITY,
    "ResourceCheck": Type(TypeKind.STRUCT, "kubernetes.authorization.ResourceCheck"),
    "Semver": types.SEMVER,
    "URL": types.URL,
}
_TOKEN: Final = re.compile(r"->|[A-Za-z]+|[().,]")


@dataclass(frozen=True, slots=True)
class Overload:
    """Signature of a function."""

    id: str
    #: Whether it is called on a target, whose type is the first of `args`.
    is_member: bool
    args: tuple[Type, ...]
    result: Type
    type_params: frozenset[str]
    #: None if the planner or the function's singleton implements it.
    implementation: Implementation | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """Function with its overloads, in resolution order."""

    name: str
    overloads: tuple[Overload, ...]
    #: Implementation of all overloads, which checks argument types itself.
    singleton: Implementation | None = None
    #: Whether argument types are checked before a call.
    guarded: bool = True


def overload(id_: str, signature: str, implementation: Implementation | None = None) -> Overload:
    """Build an overload from its signature."""
    is_member, args, result = _Signature(signature).parse()
    params = frozenset(name for type_ in (*args, result) for name in _params(type_))
    return Overload(id_, is_member, args, result, params, implementation)


def function(
    name: str, *overloads: Overload, singleton: Implementation | None = None, guarded: bool = True
) -> Function:
    """Build a function from its overloads."""
    return Function(name, overloads, singleton, guarded)


def merged(libraries: tuple[tuple[Function, ...], ...]) -> dict[str, Function]:
    """Return all functions by name, merging overloads from several libraries."""
    functions: dict[str, Function] = {}
    for library in libraries:
        for added in library:
            known = functions.get(added.name)
            if known is not None:
                added = Function(added.name, known.overloads + added.overloads, known.singleton, known.guarded)
            functions[added.name] = added
    return functions


def _params(type_: Type) -> set[str]:
    if type_.kind is TypeKind.TYPE_PARAM:
        return {type_.name}
    return {name for param in type_.params for name in _params(param)}


class _Signature:
    """Parser of signatures such as `list(T).(int) -> list(T)`."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)

    def parse(self) -> tuple[bool, tuple[Type, ...], Type]:
        target: list[Type] = []
        if self._tokens[0] != "(":
            target.append(self._type())
            self._take(".")
        self._take("(")
        args = self._types()
        self._take("->")
        return bool(target), (*target, *args), self._type()

    def _take(self, expected: str) -> None:
        token = self._tokens.pop(0)
        assert token == expected, f"{token} instead of {expected}"

    def _types(self) -> list[Type]:
        """Parse types up to the closing parenthesis."""
        found: list[Type] = []
        while self._tokens[0] != ")":
            found.append(self._type())
            if self._tokens[0] == ",":
                self._tokens.pop(0)
        self._tokens.pop(0)
        return found

    def _type(self) -> Type:
        name = self._tokens.pop(0)
        if self._tokens and self._tokens[0] == "(":
            self._tokens.pop(0)
            params = self._types()
            return _parametric(name, params)
        return _NAMES[name] if name in _NAMES else types.type_param(name)


def _parametric(name: str, params: list[Type]) -> Type:
    match name:
        case "list":
            return types.list_of(params[0])
        case "map":
            return types.map_of(params[0], params[1])
        case "optional":
            return types.optional_of(params[0])
    return types.type_of(params[0])
