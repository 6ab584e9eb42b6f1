# SPDX-License-Identifier: Apache-2.0
"""Type checker: determines types of nodes and overloads of calls, and reports issues.

The rules are upstream's: operands select overloads, type variables are bound as calls are resolved,
and `dyn` or `any` fits every type, so that its calls are resolved at run time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from steersman.api.cel import ast, types
from steersman.api.cel.ast import (
    AstNode,
    Comprehension,
    FunctionCall,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Select,
    StructNode,
    qualified_name,
)
from steersman.api.cel.declarations import Function, Overload
from steersman.api.cel.environment import FUNCTIONS, Environment
from steersman.api.cel.errors import Issue
from steersman.api.cel.types import Type, TypeKind, is_dyn, is_dyn_or_error, shown, unwrap_optional
from steersman.api.cel.unification import Substitution, assignable, is_ground, most_general, substitute
from steersman.api.cel.values import Uint, Value

_LITERAL_TYPES: Final[dict[type, Type]] = {
    bool: types.BOOL,
    bytes: types.BYTES,
    float: types.DOUBLE,
    int: types.INT,
    str: types.STRING,
    type(None): types.NULL,
    Uint: types.UINT,
}


@dataclass(slots=True)
class CheckedAst:
    """A tree with the types and overloads found by the checker, for the planner."""

    root: AstNode
    #: Node id → type.
    types: dict[int, Type] = field(default_factory=dict)
    #: Id of an identifier or selection → name of the variable or type.
    names: dict[int, str] = field(default_factory=dict)
    #: Id of a call → full function name, and ids of fitting overloads.
    calls: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)

    @property
    def type(self) -> Type:
        """Type of the whole expression."""
        return self.types[self.root.id]


def check(root: AstNode, environment: Environment) -> CheckedAst:
    """Check a tree; the result is usable only without issues."""
    checker = _Checker(root, environment)
    checker.check(root)
    checked = checker.checked
    for id_, type_ in checked.types.items():
        checked.types[id_] = substitute(checker.known, type_, free_to_dyn=True)
    return checked


class _Resolution(NamedTuple):
    """Overloads and result type of a call."""

    overloads: tuple[str, ...]
    result: Type


class _Checker:
    def __init__(self, root: AstNode, environment: Environment) -> None:
        self.checked = CheckedAst(root)
        #: Bindings of type variables.
        self.known: Substitution = {}
        self._environment = environment
        #: Local variables, innermost scope last.
        self._scopes: list[dict[str, Type]] = []
        self._variables = itertools.count()
        #: (function, is_member, argument types without variables) → resolution.
        self._resolved: dict[tuple[str, bool, tuple[Type, ...]], _Resolution] = {}

    def check(self, node: AstNode) -> None:
        match node:
            case Literal():
                self._set(node, _literal_type(node.value))
            case Ident():
                self._check_ident(node)
            case Select():
                self._check_select(node)
            case FunctionCall():
                self._check_call(node)
            case ListNode():
                self._check_list(node)
            case MapNode():
                self._check_map(node)
            case StructNode():
                self._report(node, f"undeclared reference to '{node.name}' (in container '')")
                self._set(node, types.ERROR)
            case Comprehension():
                self._check_comprehension(node)

    def _set(self, node: AstNode, type_: Type) -> None:
        self.checked.types[node.id] = type_

    def _type(self, node: AstNode) -> Type:
        return self.checked.types[node.id]

    def _report(self, node: AstNode, message: str) -> None:
        self.checked.issues.append(Issue(node.offset, message))

    def _lookup(self, name: str) -> tuple[str, Type] | None:
        """Return the full name and type of a name; a leading dot skips local variables."""
        if name.startswith("."):
            found = self._environment.idents.get(name[1:])
            return None if found is None else (name[1:], found)
        for scope in reversed(self._scopes):
            if name in scope:
                return name, scope[name]
        declared = self._environment.idents.get(name)
        return None if declared is None else (name, declared)

    def _fits(self, left: Type, right: Type) -> bool:
        return assignable(self.known, [left], [right])

    def _fresh_variable(self) -> Type:
        return types.type_param(f"_var{next(self._variables)}")

    def _check_ident(self, node: Ident) -> None:
        if self._resolve_name(node, node.name):
            return
        self._set(node, types.ERROR)
        self._report(node, f"undeclared reference to '{node.name}' (in container '')")

    def _resolve_name(self, node: AstNode, name: str) -> bool:
        found = self._lookup(name)
        if found is None:
            return False
        self.checked.names[node.id], type_ = found
        self._set(node, type_)
        return True

    def _check_select(self, node: Select) -> None:
        name = qualified_name(node)
        if name is not None and self._resolve_name(node, name):
            return
        result = self._check_field(node, node.operand, node.field, optional=False)
        result = types.BOOL if node.test_only else result
        self._set(node, substitute(self.known, result, free_to_dyn=False))

    def _check_optional_select(self, node: FunctionCall) -> None:
        operand, name = node.args
        assert isinstance(name, Literal)
        assert isinstance(name.value, str)
        result = self._check_field(node, operand, name.value, optional=True)
        self._set(name, types.STRING)
        self._set(node, substitute(self.known, result, free_to_dyn=False))
        self.checked.calls[node.id] = (ast.OPTIONAL_SELECT, ("select_optional_field",))

    def _check_field(self, node: AstNode, operand: AstNode, name: str, *, optional: bool) -> Type:
        self.check(operand)
        target, was_optional = unwrap_optional(substitute(self.known, self._type(operand), free_to_dyn=False))
        result = self._field_type(node, target, name)
        return types.optional_of(result) if optional or was_optional else result

    def _field_type(self, node: AstNode, target: Type, name: str) -> Type:
        if target.kind is TypeKind.MAP:
            return target.params[1]
        if target.kind is TypeKind.STRUCT:
            return self._struct_field(node, target, name)
        if target.kind is TypeKind.TYPE_PARAM:
            self._fits(types.DYN, target)
        elif not is_dyn_or_error(target):
            self._report(node, f"type '{shown(target)}' does not support field selection")
        return types.DYN

    def _struct_field(self, node: AstNode, target: Type, name: str) -> Type:
        fields = self._environment.fields.get(target.name)
        if fields is None:
            self._report(node, f"unexpected failed resolution of '{target.name}'")
            return types.ERROR
        if name not in fields:
            self._report(node, f"undefined field '{name}'")
            return types.ERROR
        return fields[name]

    def _check_call(self, node: FunctionCall) -> None:
        if node.function == ast.OPTIONAL_SELECT:
            self._check_optional_select(node)
            return
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            self._resolve(node, FUNCTIONS.get(node.function.removeprefix(".")), node.function, None)
            return
        namespace = qualified_name(node.target)
        if namespace is not None:
            function = FUNCTIONS.get(f"{namespace}.{node.function}".removeprefix("."))
            if function is not None:
                self._resolve(node, function, node.function, None)
                return
        self.check(node.target)
        self._resolve(node, FUNCTIONS.get(node.function), node.function, node.target)

    def _resolve(self, node: FunctionCall, function: Function | None, name: str, target: AstNode | None) -> None:
        self._set(node, types.ERROR)
        if function is None:
            self._report(node, f"undeclared reference to '{name}' (in container '')")
            return
        args = node.args if target is None else (target, *node.args)
        if function.name in (ast.AND, ast.OR):
            self._resolve_logic(node, function)
            return
        self._resolve_overloads(node, function, [self._type(arg) for arg in args], is_member=target is not None)

    def _resolve_logic(self, node: FunctionCall, function: Function) -> None:
        """Resolve `&&` and `||`, which have one overload and any number of arguments."""
        fine = True
        for arg in node.args:
            if not self._fits(self._type(arg), types.BOOL):
                self._report(arg, f"expected type 'bool' but found '{shown(self._type(arg))}'")
                fine = False
        if fine:
            self._set(node, types.BOOL)
            self.checked.calls[node.id] = (function.name, (function.overloads[0].id,))

    def _resolve_overloads(self, node: FunctionCall, function: Function, args: list[Type], *, is_member: bool) -> None:
        key = function.name, is_member, tuple(args)
        found = self._resolved.get(key)
        if found is None:
            found = self._fitting(function, args, is_member=is_member)
            if found is not None and is_ground(found.result) and all(map(is_ground, args)):
                self._resolved[key] = found
        if found is None:
            self._report_no_overload(node, function, args, is_member=is_member)
            return
        self._set(node, found.result)
        self.checked.calls[node.id] = (function.name, found.overloads)

    def _fitting(self, function: Function, args: list[Type], *, is_member: bool) -> _Resolution | None:
        """Return the fitting overloads, or None."""
        result: Type | None = None
        fitting: list[str] = []
        for overload in function.overloads:
            if overload.is_member != is_member:
                continue
            params, returned = self._instantiated(overload)
            if not assignable(self.known, args, params):
                continue
            fitting.append(overload.id)
            returned = substitute(self.known, returned, free_to_dyn=False)
            if result is None:
                result = returned
            elif not is_dyn(result) and returned != result:
                result = types.DYN
        return None if result is None else _Resolution(tuple(fitting), result)

    def _instantiated(self, overload: Overload) -> tuple[list[Type], Type]:
        """Return the types of an overload with fresh type variables."""
        if not overload.type_params:
            return list(overload.args), overload.result
        fresh = {name: self._fresh_variable() for name in sorted(overload.type_params)}
        return (
            [substitute(fresh, arg, free_to_dyn=False) for arg in overload.args],
            substitute(fresh, overload.result, free_to_dyn=False),
        )

    def _report_no_overload(self, node: FunctionCall, function: Function, args: list[Type], *, is_member: bool) -> None:
        texts = [shown(substitute(self.known, arg, free_to_dyn=True)) for arg in args]
        target = f"{texts.pop(0)}." if is_member else ""
        signature = f"{target}({', '.join(texts)})"
        self._report(node, f"found no matching overload for '{function.name}' applied to '{signature}'")

    def _check_list(self, node: ListNode) -> None:
        joined: Type | None = None
        for position, element in enumerate(node.elements):
            self.check(element)
            type_ = self._type(element)
            if position in node.optionals:
                type_ = self._unwrapped(element, type_)
            joined = self._join(joined, type_)
        self._set(node, types.list_of(joined or self._fresh_variable()))

    def _check_map(self, node: MapNode) -> None:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in node.entries:
            self.check(entry.key)
            key_type = self._join(key_type, self._type(entry.key))
            self.check(entry.value)
            type_ = self._type(entry.value)
            if entry.optional:
                type_ = self._unwrapped(entry.value, type_)
            value_type = self._join(value_type, type_)
        self._set(node, types.map_of(key_type or self._fresh_variable(), value_type or self._fresh_variable()))

    def _unwrapped(self, node: AstNode, type_: Type) -> Type:
        """Return the value type of an optional element; report elements that are not optional."""
        inner, was_optional = unwrap_optional(type_)
        if not was_optional and not is_dyn(inner):
            self._report(node, f"expected type '{shown(types.optional_of(inner))}' but found '{shown(inner)}'")
        return inner

    def _join(self, previous: Type | None, current: Type) -> Type:
        """Return the joint type of elements; a validator reports literals of mixed types."""
        if previous is None:
            return current
        return most_general(previous, current) if self._fits(previous, current) else types.DYN

    def _check_comprehension(self, node: Comprehension) -> None:
        self.check(node.range)
        self.check(node.initial)
        over = substitute(self.known, self._type(node.range), free_to_dyn=False)
        accumulated = self._type(node.initial)
        self._scopes.append({node.accumulator: accumulated})
        self._scopes.append(self._iteration_variables(node, over))
        self.check(node.condition)
        self._require(node.condition, types.BOOL)
        self.check(node.step)
        self._require(node.step, accumulated)
        self._scopes.pop()
        self.check(node.result)
        self._scopes.pop()
        self._set(node, substitute(self.known, self._type(node.result), free_to_dyn=False))

    def _iteration_variables(self, node: Comprehension, over: Type) -> dict[str, Type]:
        first, second = self._iterated(node, over)
        return {node.variable: first, **({node.second_variable: second} if node.second_variable else {})}

    def _iterated(self, node: Comprehension, over: Type) -> tuple[Type, Type]:
        """Return the types of the two iteration variables."""
        if over.kind is TypeKind.LIST:
            return (types.INT if node.second_variable else over.params[0]), over.params[0]
        if over.kind is TypeKind.MAP:
            return over.params[0], over.params[1]
        if over.kind in (TypeKind.DYN, TypeKind.ERROR, TypeKind.TYPE_PARAM):
            self._fits(types.DYN, over)
            return types.DYN, types.DYN
        complaint = (
            f"expression of type '{shown(over)}' cannot be range of a comprehension (must be list, map, or dynamic)"
        )
        self._report(node.range, complaint)
        return types.ERROR, types.ERROR

    def _require(self, node: AstNode, type_: Type) -> None:
        if not self._fits(type_, self._type(node)):
            self._report(node, f"expected type '{shown(type_)}' but found '{shown(self._type(node))}'")


def _literal_type(value: Value) -> Type:
    return _LITERAL_TYPES[type(value)]
