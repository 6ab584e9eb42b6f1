# SPDX-License-Identifier: Apache-2.0
"""Estimated cost of the CEL rules of a CustomResourceDefinition, from the bounds in its schema.

The estimate never exceeds kube-apiserver's, so every definition accepted there is accepted here:
loops, lookups, calls, equality and regular expressions are counted, other string functions cost 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from steersman.api.cel import OLD_SELF, SELF, ast, parse

RULE_LIMIT: Final = 10_000_000
SCHEMA_LIMIT: Final = 100_000_000
MAX_BYTES: Final = 3 * 1024 * 1024
"""Maximum request size, which bounds lists, maps and strings without a bound of their own."""
_FREE: Final = (ast.AND, ast.OR)
_HINT: Final = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
    "where arrays, maps, and strings are declared"
)
_SIZES: Final = {"boolean": 4, "integer": 1, "number": 1, "string": 2}

Schema: TypeAlias = Mapping[str, Any]


def cost_problems(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and message of each rule over the limit, and of the schema if the total is."""
    total = 0.0
    for where, cost in _costs(schema, path, 1):
        total += cost
        if cost > RULE_LIMIT:
            yield where, _exceeds("estimated rule cost", cost / RULE_LIMIT)
    if total > SCHEMA_LIMIT:
        named = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield path, _exceeds(named, total / SCHEMA_LIMIT)


def _exceeds(what: str, factor: float) -> str:
    times = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {times} ({_HINT})"


def _costs(schema: Schema, path: str, cardinality: int | None) -> Iterator[tuple[str, float]]:
    """Yield the path of each rule and its cost over all values; `cardinality` None: unbounded."""
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        root, _ = parse(str(rule.get("rule", "")))
        if root is not None:
            times = MAX_BYTES // (_least_size(schema) + 1) if cardinality is None else cardinality
            cost = _cost(root, {SELF: schema, OLD_SELF: schema}) * times
            yield f"{path}.x-kubernetes-validations[{index}].rule", cost
    for name, child in (schema.get("properties") or {}).items():
        yield from _costs(child, f"{path}.properties[{name}]", cardinality)
    for name, bound in (("items", "maxItems"), ("additionalProperties", "maxProperties")):
        if isinstance(schema.get(name), Mapping):
            most = schema.get(bound)
            below = None if most is None or cardinality is None else cardinality * max(int(most), 0)
            yield from _costs(schema[name], f"{path}.{name}", below)


def _cost(node: ast.AstNode, known: Mapping[str, Schema | None]) -> float:
    """Return the cost of one evaluation; `known` maps variables to their schemas."""
    match node:
        case ast.Ident():
            return 1
        case ast.Select():
            return (0 if node.test_only else 1) + _cost(node.operand, known)
        case ast.Comprehension():
            below = _below(_schema(node.range, known))
            inner = {**known, node.variable: None if node.second_variable else below}
            inner |= {node.second_variable: below} if node.second_variable else {}
            steps = _most(_schema(node.range, known)) if isinstance(node.range, ast.Ident | ast.Select) else 1
            step = _cost(node.condition, inner) + _cost(node.step, inner)
            return _cost(node.range, known) + steps * step + _cost(node.result, inner)
        case ast.FunctionCall(function=ast.CONDITIONAL):
            condition, *branches = (_cost(part, known) for part in node.args)
            return condition + max(branches)
    own = _call_cost(node, known) if isinstance(node, ast.FunctionCall) else 0
    return own + sum(_cost(part, known) for part in ast.children(node))


def _call_cost(node: ast.FunctionCall, known: Mapping[str, Schema | None]) -> float:
    """Return the cost of a call without the cost of its arguments."""
    sizes = [_size(part, known) for part in ast.children(node)]
    if node.function in (ast.EQUALS, ast.NOT_EQUALS):
        return int(0.1 * min(sizes))
    if node.function == "matches":
        return int(0.1 * sizes[0] * 0.25 * sizes[-1])
    return 0 if node.function in _FREE else 1


def _size(node: ast.AstNode, known: Mapping[str, Schema | None]) -> int:
    if isinstance(node, ast.Literal):
        return len(node.value) if isinstance(node.value, str) else 1
    return _most(_schema(node, known))


def _schema(node: ast.AstNode, known: Mapping[str, Schema | None]) -> Schema | None:
    """Return the schema of an expression such as `self.a.b`; None for other expressions."""
    if isinstance(node, ast.Ident):
        return known.get(node.name)
    if isinstance(node, ast.Select) and not node.test_only:
        above = _schema(node.operand, known) or {}
        return (above.get("properties") or {}).get(node.field) or above.get("additionalProperties")
    return None


def _below(schema: Schema | None) -> Schema | None:
    """Return the schema of the values in a loop over a list; None for the keys of a map."""
    return (schema or {}).get("items")


def _most(schema: Schema | None) -> int:
    """Return the maximum number of elements or bytes; 1 if unknown."""
    if schema is None or schema.get("enum"):
        return 1
    if schema.get("type") == "string":
        return int(schema["maxLength"]) * 4 if "maxLength" in schema else 1 if schema.get("format") else MAX_BYTES - 2
    if schema.get("type") == "array":
        return int(schema.get("maxItems", (MAX_BYTES - 2) // (_least_size(schema.get("items") or {}) + 1)))
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return int(schema.get("maxProperties", (MAX_BYTES - 2) // (_least_size(values) + 6)))
    return 1


def _least_size(schema: Schema) -> int:
    """Return the minimum JSON size of values of a schema."""
    if schema.get("type") in _SIZES:
        return max(_SIZES[schema["type"]], 2 + int(schema.get("minLength", 0)) if schema["type"] == "string" else 0)
    properties = schema.get("properties") or {}
    required = [name for name in schema.get("required") or () if name in properties]
    return 2 + sum(len(name) + 4 + _least_size(properties[name]) for name in required)
