# SPDX-License-Identifier: Apache-2.0
"""Validation rules of CustomResourceDefinitions (`x-kubernetes-validations`): expressions with
`self` and `oldSelf`.

Rules are type-checked against their schema when a definition is created (`problem_of_rule`), and
evaluated on JSON values with dynamic types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

from steersman.api.cel import types
from steersman.api.cel.checker import CheckedAst, check
from steersman.api.cel.environment import TYPES, Environment
from steersman.api.cel.errors import CelError, render
from steersman.api.cel.frame import EvaluationFrame, PlanError
from steersman.api.cel.meter import Meter, metered
from steersman.api.cel.nodes import ExpressionTooLarge
from steersman.api.cel.parser import TOO_DEEP, parse
from steersman.api.cel.planner import CelProgram, plan
from steersman.api.cel.types import Type
from steersman.api.cel.validators import validate

SELF, OLD_SELF = "self", "oldSelf"
NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural "
    "schema to CEL declarations"
)
_MAX_CACHED_RULES: Final = 512
_PLAIN_TYPES: Final = {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}
_TEXT_TYPES: Final = {
    "byte": types.BYTES, "duration": types.DURATION, "date": types.TIMESTAMP, "date-time": types.TIMESTAMP
}  # fmt: skip
_OBJECT_FIELDS: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}},
}
"""Fields of every object that rules can access."""
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_KEYWORDS: Final = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
    "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip

_RULE_VARIABLES: Final = frozenset((SELF, OLD_SELF))


@cache
def _environment(variables: frozenset[str]) -> Environment:
    named_types = {name: types.type_of(type_) for name, type_ in TYPES.items()}
    return Environment({**named_types, **dict.fromkeys(variables, types.DYN)}, {}, accepts_dyn=True)


def is_transition_rule(expression: str) -> bool:
    """Return whether the expression uses `oldSelf`, so that it is evaluated only for updates."""
    return OLD_SELF in expression


def evaluate_rule(expression: str, value: Any, old_value: Any = None) -> Any:
    """Evaluate a rule. Raises `CelError` if it does not compile or fails."""
    return evaluate_expression(expression, {SELF: value, OLD_SELF: old_value})


def evaluate_expression(expression: str, variables: Mapping[str, Any]) -> Any:
    """Evaluate an expression with variables of any type. Raises `CelError`."""
    program = _compiled(expression, frozenset(variables))
    frame = EvaluationFrame(variables, program.variables, Meter(None))
    try:
        with metered(Meter(None)):
            return program.evaluate(frame)
    except RecursionError:
        raise CelError(TOO_DEEP) from None


def problem_of_rule(expression: str, schema: Mapping[str, Any], *, is_root: bool) -> str | None:
    """Return why the expression is not a valid rule for the schema, or None."""
    return _problem(expression, schema, is_root, types.BOOL, "cel expression must evaluate to a bool")


def problem_of_message(expression: str, schema: Mapping[str, Any], *, is_root: bool) -> str | None:
    """Return why the expression is not a valid messageExpression, or None."""
    problem = _problem(expression, schema, is_root, types.STRING, "messageExpression must evaluate to a string")
    return f"messageExpression {problem}" if problem and problem.startswith("compilation") else problem


def _problem(expression: str, schema: Mapping[str, Any], is_root: bool, wanted: Type, detail: str) -> str | None:
    fields: dict[str, dict[str, Type]] = {}
    declared = _declared(schema, "selfType", fields, is_root=is_root)
    if declared is None:
        return NO_TYPE
    idents = {**_environment(_RULE_VARIABLES).idents, SELF: declared, OLD_SELF: declared}
    try:
        found = _checked(expression, Environment(idents, fields, accepts_dyn=True)).type
    except (CelError, PlanError, RecursionError, ExpressionTooLarge) as error:
        return str(error) if isinstance(error, CelError) else f"compilation failed: {error}"
    return None if found == wanted or types.is_dyn(found) else detail


def _declared(
    schema: Mapping[str, Any], name: str, fields: dict[str, dict[str, Type]], *, is_root: bool = False
) -> Type | None:
    """Return the type of a schema, None if it has none, and register fields of objects."""
    kind, items, values = schema.get("type"), schema.get("items"), schema.get("additionalProperties")
    if schema.get("x-kubernetes-int-or-string"):
        return types.DYN
    if kind == "array":
        element = _declared(items, f"{name}.@idx", fields) if isinstance(items, Mapping) else None
        return None if element is None else types.list_of(element)
    if kind == "string":
        return _TEXT_TYPES.get(str(schema.get("format")), types.STRING)
    if kind != "object":
        return _PLAIN_TYPES.get(str(kind))
    if isinstance(values, Mapping):
        value = _declared(values, f"{name}.@elem", fields)
        return None if value is None else types.map_of(types.STRING, value)
    properties = {**(schema.get("properties") or {})}
    if is_root or schema.get("x-kubernetes-embedded-resource"):
        properties |= _OBJECT_FIELDS
    members = {field: _declared(child, f"{name}.{field}", fields) for field, child in properties.items()}
    fields[name] = {_escaped(field): type_ for field, type_ in members.items() if type_ is not None}
    return Type(types.TypeKind.STRUCT, name)


def _escaped(field: str) -> str:
    """Return the escaped name of a field in expressions (`apiservercel.Escape`)."""
    if field in _KEYWORDS:
        return f"__{field}__"
    return re.sub("__|[-./]", lambda found: _ESCAPES[found[0]], field)


def _checked(expression: str, environment: Environment) -> CheckedAst:
    root, issues = parse(expression)
    if root is None:
        raise CelError(f"compilation failed: {render(issues, expression)}")
    checked = check(root, environment)
    issues = checked.issues or validate(checked)
    if issues:
        raise CelError(f"compilation failed: {render(issues, expression)}")
    return checked


@lru_cache(maxsize=_MAX_CACHED_RULES)
def _compiled(expression: str, variables: frozenset[str]) -> CelProgram:
    try:
        return plan(_checked(expression, _environment(variables)))
    except (PlanError, RecursionError, ExpressionTooLarge) as error:
        raise CelError(f"compilation failed: {error}") from None
