# SPDX-License-Identifier: Apache-2.0
"""Planner: compiles a checked tree to closures once, so that evaluations are only calls.

Lists, maps and conversions of constants are computed here; failed conversions are errors of the
expression.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from steersman.api.cel import ast, attributes, calls, folds
from steersman.api.cel.ast import (
    AstNode,
    Comprehension,
    FunctionCall,
    Ident,
    ListNode,
    Literal,
    MapEntry,
    MapNode,
    Select,
)
from steersman.api.cel.attributes import Qualifier
from steersman.api.cel.checker import CheckedAst
from steersman.api.cel.cost import LIST, LOOKUP, MAP
from steersman.api.cel.environment import DEVICE, FUNCTIONS, TYPES
from steersman.api.cel.errors import Aborted, CelError
from steersman.api.cel.frame import (
    EvaluationFrame,
    EvaluationPlan,
    Evaluator,
    PlanError,
    charge,
    computed,
    constant,
    constant_value,
)
from steersman.api.cel.library import regexes
from steersman.api.cel.library.optionals import OR, OR_VALUE
from steersman.api.cel.regex import compile_pattern
from steersman.api.cel.types import TypeKind
from steersman.api.cel.value_text import shown
from steersman.api.cel.values import Optional, TypeValue, Uint, Value, to_key

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_REGEX_FUNCTIONS: Final = {"matches": regexes.matches, "find": regexes.find, "findAll": regexes.find_all}
_HASHED: Final = frozenset({bool, int, Uint, float, str})
"""Element classes for which constant lists become sets."""


class CelProgram(NamedTuple):
    """Compiled expression."""

    evaluate: Evaluator
    #: Number of local variables in a frame.
    variables: int


def plan(checked: CheckedAst) -> CelProgram:
    """Compile a tree without issues. Raises `PlanError` if a constant cannot be computed."""
    planner = _Planner(checked)
    evaluate = planner.plan(checked.root).evaluate
    return CelProgram(evaluate, planner.variables)


class _Planner:
    def __init__(self, checked: CheckedAst) -> None:
        self._checked = checked
        #: Plans of local variables, innermost scope last.
        self._scopes: list[dict[str, EvaluationPlan]] = []
        self.variables = 0

    def plan(self, node: AstNode) -> EvaluationPlan:
        match node:
            case Literal():
                return constant(node.value)
            case Ident():
                return self._name(node)
            case Select():
                return self._name(node) if node.id in self._checked.names else self._selection(node)
            case FunctionCall():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case Comprehension():
                return self._comprehension(node)
        raise AssertionError(f"the checker rejects {node}")

    def _name(self, node: AstNode) -> EvaluationPlan:
        name = self._checked.names[node.id]
        if self._checked.types[node.id].kind is TypeKind.TYPE:
            if name not in TYPES:
                raise PlanError(f"reference to undefined type: {name}")
            return constant(TypeValue(TYPES[name].name))
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return attributes.device_variable() if name == DEVICE else attributes.named_variable(name)

    def _slot(self) -> int:
        self.variables += 1
        return self.variables - 1

    def _selection(self, node: AstNode) -> EvaluationPlan:
        """Return a plan for a chain of fields and indices."""
        field: str | None = None
        if isinstance(node, Select) and node.test_only:
            field, node = node.field, node.operand
        qualifiers: list[Qualifier] = []
        while (step := self._step(node)) is not None:
            node, qualifier = step
            qualifiers.insert(0, qualifier)
        base = self.plan(node)
        from_conditional = isinstance(node, FunctionCall) and node.function == ast.CONDITIONAL
        if field is not None:
            return attributes.presence(base, qualifiers, field, cost=0 if from_conditional else LOOKUP)
        if from_conditional:
            return attributes.conditional_chain(base, qualifiers)
        return attributes.chain(base, qualifiers)

    def _step(self, node: AstNode) -> tuple[AstNode, Qualifier] | None:
        """Return the operand and qualifier of a selection; None for other nodes."""
        if isinstance(node, Select) and not node.test_only and node.id not in self._checked.names:
            return node.operand, Qualifier(constant(node.field))
        if isinstance(node, FunctionCall) and node.function in (ast.INDEX, ast.OPTIONAL_INDEX, ast.OPTIONAL_SELECT):
            operand, key_node = node.args
            key = self.plan(key_node)
            if key.is_constant:
                _check_key(constant_value(key))
            return operand, Qualifier(key, optional=node.function != ast.INDEX)
        return None

    def _call(self, node: FunctionCall) -> EvaluationPlan:
        if node.function in (ast.INDEX, ast.OPTIONAL_INDEX, ast.OPTIONAL_SELECT):
            return self._selection(node)
        name, overloads = self._checked.calls[node.id]
        # A target that is a namespace of the function is no argument.
        has_target = node.target is not None and node.target.id in self._checked.types
        nodes = (node.target, *node.args) if has_target and node.target is not None else node.args
        args = [self.plan(arg) for arg in nodes]
        special = self._special_call(name, overloads, args)
        if special is not None:
            return special
        function = FUNCTIONS[name]
        if name in _REGEX_FUNCTIONS and _is_constant_pattern(args[1]):
            return calls.call_with_pattern(name, overloads, _REGEX_FUNCTIONS[name], args)
        planned = calls.call(function, overloads, args, [self._checked.types[arg.id] for arg in nodes])
        if name in _CONVERSIONS and len(args) == 1 and args[0].is_constant:
            return _folded(planned)
        return planned

    def _special_call(self, name: str, overloads: tuple[str, ...], args: list[EvaluationPlan]) -> EvaluationPlan | None:
        """Return a plan for an operator with conditional evaluation of operands, else None."""
        match name:
            case ast.AND:
                return calls.logical_and(args)
            case ast.OR:
                return calls.logical_or(args)
            case ast.CONDITIONAL:
                return calls.conditional(*args)
            case ast.NOT_STRICTLY_FALSE:
                return calls.not_strictly_false(args[0])
            case ast.EQUALS:
                return calls.equality(*args)
            case ast.NOT_EQUALS:
                return calls.inequality(*args)
            case ast.IN if overloads == ("in_list",) and args[1].is_constant:
                return _constant_membership(args[0], args[1])
            case _ if name == OR:
                return calls.optional_or(*args)
            case _ if name == OR_VALUE:
                return calls.optional_or_value(*args)
        return None

    def _list(self, node: ListNode) -> EvaluationPlan:
        elements = [self.plan(element) for element in node.elements]
        evaluators = [element.evaluate for element in elements]
        optionals = node.optionals

        def build(frame: EvaluationFrame) -> list[Value]:
            built: list[Value] = []
            for position, evaluate in enumerate(evaluators):
                value = evaluate(frame)
                if position not in optionals:
                    built.append(value)
                elif not isinstance(value, Optional):
                    raise CelError(f"cannot initialize optional list element from non-optional value {shown(value)}")
                elif value.has_value:
                    built.append(value.value)
            return built

        return _built(build, LIST, elements)

    def _map(self, node: MapNode) -> EvaluationPlan:
        parts = [self.plan(part) for entry in node.entries for part in (entry.key, entry.value)]
        entries = [(parts[2 * at].evaluate, parts[2 * at + 1].evaluate, entry) for at, entry in enumerate(node.entries)]

        def build(frame: EvaluationFrame) -> dict[Value, Value]:
            built: dict[Value, Value] = {}
            for key, value, entry in entries:
                _set_entry(built, key(frame), value(frame), entry)
            return built

        return _built(build, MAP, parts)

    def _comprehension(self, node: Comprehension) -> EvaluationPlan:
        initial = self.plan(node.initial)
        over = self.plan(node.range)
        slots = folds.Slots(self._slot(), self._slot() if node.second_variable else None, self._slot())
        self._scopes.append({node.accumulator: folds.accumulator(slots.accumulator, initial)})
        self._scopes.append({node.variable: attributes.variable(slots.variable)})
        if node.second_variable is not None and slots.second_variable is not None:
            self._scopes[-1][node.second_variable] = attributes.variable(slots.second_variable)
        condition, step = self.plan(node.condition), self.plan(node.step)
        self._scopes.pop()
        result = self.plan(node.result)
        self._scopes.pop()
        return folds.fold(folds.Parts(over, condition, step, result), slots)


def _built(build: Evaluator, cost: int, parts: list[EvaluationPlan]) -> EvaluationPlan:
    """Return a plan for a list or map, built once if all parts are constants."""
    if all(part.is_constant for part in parts):
        return _folded(computed(build))

    def evaluate(frame: EvaluationFrame) -> Value:
        try:
            value = build(frame)
        except Aborted:
            raise
        except CelError:
            charge(frame, cost)
            raise
        charge(frame, cost)
        return value

    return computed(evaluate)


def _set_entry(built: dict[Value, Value], key: Value, value: Value, entry: MapEntry) -> None:
    if not entry.optional:
        built[to_key(key)] = value
    elif not isinstance(value, Optional):
        text = f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}"
        raise CelError(text)
    elif value.has_value:
        built[to_key(key)] = value.value
    else:
        built.pop(to_key(key), None)


def _folded(planned: EvaluationPlan) -> EvaluationPlan:
    """Evaluate a plan that depends only on constants."""
    try:
        return constant(planned.evaluate(EvaluationFrame(None, 0)))
    except CelError as error:
        raise PlanError(str(error)) from None


def _check_key(key: Value) -> None:
    try:
        attributes.checked_key(key)
    except CelError as error:
        raise PlanError(str(error)) from None


def _is_constant_pattern(pattern: EvaluationPlan) -> bool:
    """Return whether the pattern is constant. Raises `PlanError` if it is invalid."""
    text = constant_value(pattern) if pattern.is_constant else None
    if not isinstance(text, str):
        return False
    try:
        compile_pattern(text)
    except CelError as error:
        raise PlanError(str(error)) from None
    return True


def _constant_membership(sought: EvaluationPlan, members: EvaluationPlan) -> EvaluationPlan | None:
    """Return a plan for `in` with a list of hashable constants, else None."""
    elements = constant_value(members)
    assert isinstance(elements, list)
    if not elements:
        return constant(False)
    if any(type(element) not in _HASHED for element in elements):
        return None
    return calls.membership(sought, frozenset((type(element) is bool, element) for element in elements))
