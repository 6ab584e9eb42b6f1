# SPDX-License-Identifier: Apache-2.0
"""Declarations of functions: name, overloads with signatures, implementation.

A signature is written as `string.(int) -> string` for a member function and `(string) -> Quantity`
for a global one; single capital letters are type variables. `library/functions.json` is the table
of declarations; the checker reads types, the planner implementations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec

from steersman.api.cel import types
from steersman.api.cel.types import Type, TypeKind
from steersman.api.cel.values import Value

Implementation = Callable[..., Value]
TABLE: Final = Path(__file__).parent / "library" / "functions.json"

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
    return Overload(id_, *_parsed(signature), implementation)


@cache
def _parsed(signature: str) -> tuple[bool, tuple[Type, ...], Type, frozenset[str]]:
    is_member, args, result = _Signature(signature).parse()
    return is_member, args, result, frozenset(name for type_ in (*args, result) for name in _params(type_))


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """Function in `functions.json`: overloads as `signature = implementation`, in resolution
    order."""

    overloads: dict[str, str]
    singleton: str = ""
    guarded: bool = True


def declared_functions() -> dict[str, Function]:
    """Return the functions of `library/functions.json` by name, merging overloads from several
    libraries."""
    functions: dict[str, Function] = {}
    for library, rows in msgspec.json.decode(TABLE.read_bytes(), type=dict[str, dict[str, _Row]]).items():
        for name, row in rows.items():
            overloads = tuple(_overload(id_, text, library) for id_, text in row.overloads.items())
            if name in functions:
                known = functions[name]
                functions[name] = Function(name, known.overloads + overloads, known.singleton, known.guarded)
            else:
                functions[name] = Function(name, overloads, _implementation(row.singleton, library), row.guarded)
    return functions


def _overload(id_: str, declaration: str, library: str) -> Overload:
    signature, _, implementation = declaration.partition(" = ")
    return overload(id_, signature, _implementation(implementation, library))


def _implementation(name: str, library: str) -> Implementation | None:
    """Return the function with this name in the module of a library, or with the name of its module
    below `cel`."""
    module, _, function = (name if "." in name else f"library.{library}.{name}").rpartition(".")
    return getattr(import_module(f"steersman.api.cel.{module}"), function) if name else None


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
