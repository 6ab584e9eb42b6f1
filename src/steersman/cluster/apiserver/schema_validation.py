# SPDX-License-Identifier: Apache-2.0
"""Validation of a value against the JSON schema of a CustomResourceDefinition, with
kube-apiserver's messages.

Types, required fields, bounds, patterns, formats, enums, lists of type set and map, logical
combinations, and CEL rules. Patterns are Go's, matched by RE2 in linear time.
"""

from __future__ import annotations

import ipaddress
import math
import re
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import msgspec

from steersman.api import child, is_same, json_type
from steersman.api.cel import CelError, evaluate_rule, is_transition_rule
from steersman.api.validation import FieldError, shown

Schema: TypeAlias = Mapping[str, Any]

NOWHERE: Final = "<nil>"
"""Name of the object itself in messages."""


def problems_of_value(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    """Yield all errors of a value except for those of CEL rules."""
    if value is None and schema.get("nullable"):
        return
    problem = _type_problem(value, schema, path)
    if problem is not None:
        yield problem
        if schema.get("type") == "integer" and isinstance(value, float):
            yield FieldError.invalid(NOWHERE, "", f"Checked value must be of type integer (default format) in {path}")
        yield from _choice_problems(value, schema, path)
        return
    yield from _bound_problems(value, schema, path)
    if isinstance(value, dict):
        yield from _object_problems(value, schema, path)
    elif isinstance(value, list):
        yield from _list_problems(value, schema, path)
    yield from _combination_problems(value, schema, path)


def _type_problem(value: Any, schema: Schema, path: str) -> FieldError | None:
    found = json_type(value)
    if schema.get("x-kubernetes-int-or-string"):
        wanted, is_right = "integer,string", found in ("integer", "string")
    else:
        wanted = str(schema.get("type") or "")
        is_right = not wanted or found == wanted or (wanted == "number" and found == "integer")
    if is_right:
        return None
    detail = f'{_body(path)} must be of type {wanted}: "{found}"'
    return FieldError.wrong_type(path or NOWHERE, found, detail)


def _body(path: str) -> str:
    return f"{path} in body" if path else " in body"


# -- bounds, patterns, formats ---------------------------------------------------------------------


def _bound_problems(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if isinstance(value, str):
        yield from _text_problems(value, schema, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _number_problems(value, schema, path)
    yield from _choice_problems(value, schema, path)


def _choice_problems(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.get("enum") and not _is_choice(value, schema["enum"]):
        yield FieldError.not_supported(path, value, schema["enum"])


def _is_choice(value: Any, choices: list[Any]) -> bool:
    """Return whether the value is in an enum; scalars are looked up in a set."""
    if isinstance(value, (dict, list)):
        return any(is_same(value, choice) for choice in choices)
    known = _enum_sets.get(id(choices))
    if known is None or known[0] is not choices:
        if len(_enum_sets) >= _MAX_ENUMS:
            _enum_sets.clear()
        plain = (choice for choice in choices if not isinstance(choice, (dict, list)))
        known = _enum_sets[id(choices)] = (choices, frozenset((isinstance(one, bool), one) for one in plain))
    return (isinstance(value, bool), value) in known[1]


_MAX_ENUMS: Final = 256
_enum_sets: Final[dict[int, tuple[list[Any], frozenset[tuple[bool, Any]]]]] = {}
"""Enums as sets, by the identity of their lists, which the entries keep alive."""


def _text_problems(value: str, schema: Schema, path: str) -> Iterator[FieldError]:
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        yield FieldError.too_long(path, most)
    elif least is not None and len(value) < least:
        yield FieldError.invalid(path, value, f"{_body(path)} should be at least {least} chars long")
    elif pattern and not matches(pattern, value):
        yield FieldError.invalid(path, value, f"{_body(path)} should match '{pattern}'")
    check = FORMATS.get(str(schema.get("format", "")))
    if check is not None and not check(value):
        yield FieldError.wrong_type(path, value, f"{_body(path)} must be of type {schema['format']}: {shown(value)}")


def _number_problems(value: float, schema: Schema, path: str) -> Iterator[FieldError]:
    least, most, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    excludes_least, excludes_most = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if least is not None and (value <= least if excludes_least else value < least):
        bound = f"should be greater than {least}" if excludes_least else f"should be greater than or equal to {least}"
        yield FieldError.invalid(path, value, f"{_body(path)} {bound}")
    if most is not None and (value >= most if excludes_most else value > most):
        bound = f"should be less than {most}" if excludes_most else f"should be less than or equal to {most}"
        yield FieldError.invalid(path, value, f"{_body(path)} {bound}")
    if factor and not math.isclose(value / factor, round(value / factor), abs_tol=1e-9):
        yield FieldError.invalid(path, value, f"{_body(path)} should be a multiple of {factor}")
    if schema.get("format") == "int32" and not -(2**31) <= value < 2**31:
        yield FieldError.wrong_type(path, value, f"{_body(path)} must be of type int32: {shown(value)}")


def matches(pattern: str, text: str) -> bool:
    """Return whether a Go pattern is found in the text; False for an invalid pattern."""
    import re2

    try:
        return re2.search(pattern, text) is not None
    except re2.error:
        return False


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _date_time(text: str) -> datetime:
    if len(text) < 20 or text[10] not in "Tt":
        raise ValueError(text)
    return datetime.fromisoformat(text.upper())


def _uri(text: str) -> None:
    if not urlsplit(text).scheme and not text.startswith("/"):
        raise ValueError(text)


_HOSTNAME: Final = re.compile(
    r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_DURATION: Final = re.compile(r"[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h|d|w))+|0")
FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _parses(lambda text: b64decode(text, validate=True)),
    "cidr": _parses(lambda text: ipaddress.ip_network(text, strict=False)),
    "date": _parses(date.fromisoformat),
    "date-time": _parses(_date_time),
    "datetime": _parses(_date_time),
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "uri": _parses(_uri),
    "uuid": _parses(uuid.UUID),
}
"""Validated formats; others are only descriptive."""


# -- objects and lists -----------------------------------------------------------------------------


def _object_problems(value: dict[str, Any], schema: Schema, path: str) -> Iterator[FieldError]:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield FieldError.invalid(path, value, f"{_body(path)} should have at least {least} properties")
    if most is not None and len(value) > most:
        yield FieldError.too_many(path, len(value), most)
    for name in schema.get("required") or ():
        if name not in value:
            yield FieldError.required(child(path, name))
    for name, node in _member_schemas(value, schema):
        yield from problems_of_value(value[name], node, child(path, name))


def _member_schemas(value: dict[str, Any], schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the names of members with a schema, and the schemas."""
    properties: Schema = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name in value:
        node = properties.get(name, others if isinstance(others, Mapping) else None)
        if isinstance(node, Mapping):
            yield name, node


def _list_problems(value: list[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield FieldError.invalid(path, len(value), f"{_body(path)} should have at least {least} items")
    if most is not None and len(value) > most:
        yield FieldError.too_many(path, len(value), most)
    items = schema.get("items")
    if isinstance(items, Mapping):
        for index, element in enumerate(value):
            yield from problems_of_value(element, items, f"{path}[{index}]")
    if schema.get("uniqueItems") and any(True for _ in _repeated(list(map(_canonical, value)))):
        yield FieldError.invalid(path, value, f"{_body(path)} shouldn't contain duplicates")
    yield from _key_problems(value, schema, path)


def _key_problems(value: list[Any], schema: Schema, path: str) -> Iterator[FieldError]:
    """Yield errors for duplicate elements in lists of type set and map."""
    is_map, names = schema.get("x-kubernetes-list-type") == "map", schema.get("x-kubernetes-list-map-keys") or ()
    wrong = next((index for index, element in enumerate(value) if not isinstance(element, dict)), None)
    if is_map and wrong is not None:
        detail = "must be an object for an array of list-type map"
        yield FieldError.invalid(f"{path}[{wrong}]", value[wrong], detail)
    for again in _repeated(_steps(value, schema)):
        element = value[again]
        shown_keys = {name: element[name] for name in names if name in element} if is_map else element
        yield FieldError.duplicate(f"{path}[{again}]", shown_keys)


def _steps(value: list[Any], schema: Schema) -> list[str]:
    if schema.get("x-kubernetes-list-type") == "set":
        return [_canonical(element) for element in value]
    if schema.get("x-kubernetes-list-type") != "map" or not all(isinstance(element, dict) for element in value):
        return []
    names = schema.get("x-kubernetes-list-map-keys") or ()
    return [_canonical([element.get(name) for name in names]) for element in value]


def _old_elements(value: list[Any], schema: Schema, old: Any) -> dict[int, Any]:
    """Return the old elements with the same keys, by index; only for lists of type map."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    before = dict(zip(_steps(old, schema), old, strict=False))
    return {index: before[step] for index, step in enumerate(_steps(value, schema)) if step in before}


def _repeated(texts: list[str]) -> Iterator[int]:
    """Yield the indices of texts that occur earlier in the list."""
    seen: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen:
            yield index
        seen.add(text)


def _canonical(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


# -- combinations and rules ------------------------------------------------------------------------


def _combination_problems(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    def is_valid(branch: Schema) -> bool:
        return next(problems_of_value(value, branch, path), None) is None

    for branch in schema.get("allOf") or ():
        yield from problems_of_value(value, branch, path)
    if schema.get("anyOf") and not any(map(is_valid, schema["anyOf"])):
        yield FieldError.invalid(NOWHERE, "", f'"{path}" must validate at least one schema (anyOf)')
        yield from problems_of_value(value, schema["anyOf"][0], path)
    if schema.get("oneOf"):
        count = sum(map(is_valid, schema["oneOf"]))
        only_one = f'"{path}" must validate one and only one schema (oneOf).'
        if count > 1:
            yield FieldError.invalid(NOWHERE, "", f"{only_one} Found {count} valid alternatives")
        elif count == 0:
            yield FieldError.invalid(NOWHERE, "", f"{only_one} Found none valid")
            yield from problems_of_value(value, schema["oneOf"][0], path)
    if schema.get("not") is not None and is_valid(schema["not"]):
        yield FieldError.invalid(NOWHERE, "", f'"{path}" must not validate the schema (not)')


def has_rules(schema: Schema) -> bool:
    """Return whether the schema or a nested one has rules."""
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    nested = (has_rules(node) for node in inner if isinstance(node, Mapping))
    return bool(schema.get("x-kubernetes-validations")) or any(nested)


def broken_rules(value: Any, schema: Schema, path: str, old: Any = None) -> Iterator[FieldError]:
    """Yield an error for each violated rule; `old` is the replaced value or None."""
    if value is None:
        return
    yield from _rule_problems(value, schema, path, old)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for name, node in _member_schemas(value, schema):
            yield from broken_rules(value[name], node, child(path, name), before.get(name))
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        predecessors = _old_elements(value, schema, old)
        for index, element in enumerate(value):
            yield from broken_rules(element, schema["items"], f"{path}[{index}]", predecessors.get(index))


def _short(value: Any) -> Any:
    """Return a scalar, or the JSON type of other values, as messages show them."""
    return json_type(value) if isinstance(value, (dict, list)) else value


def _rule_problems(value: Any, schema: Schema, path: str, old: Any) -> Iterator[FieldError]:
    for rule in schema.get("x-kubernetes-validations") or ():
        expression = rule.get("rule", "")
        is_transition = is_transition_rule(expression)
        if is_transition and old is None and not rule.get("optionalOldSelf"):
            continue
        try:
            holds = evaluate_rule(expression, value, old)
        except CelError as error:
            detail = f"rule evaluation error: {error} evaluating rule: {_rule_message(rule)}"
            yield FieldError.invalid(path or NOWHERE, json_type(value), detail)
            continue
        if holds is not True:
            where = (
                path + str(rule.get("fieldPath", "")) if path else str(rule.get("fieldPath", "")).lstrip(".") or NOWHERE
            )
            yield _broken_rule(rule, where, value, old)


def _broken_rule(rule: Schema, where: str, value: Any, old: Any) -> FieldError:
    message = _rule_message(rule, value, old)
    reason = rule.get("reason") or "FieldValueInvalid"
    if reason == "FieldValueRequired":
        return FieldError.required(where, message)
    if reason == "FieldValueForbidden":
        return FieldError.forbidden(where, message)
    if reason == "FieldValueDuplicate":
        return FieldError.duplicate(where, _short(value))
    if isinstance(value, (dict, list)):
        return FieldError("FieldValueInvalid", where, f"Invalid value: {message}")
    return FieldError.invalid(where, value, message)


def _rule_message(rule: Schema, value: Any = None, old: Any = None) -> str:
    if rule.get("messageExpression"):
        try:
            text = evaluate_rule(str(rule["messageExpression"]), value, old)
        except CelError:
            text = ""
        if isinstance(text, str) and text.strip():
            return text
    return str(rule.get("message") or f"failed rule: {rule.get('rule', '')}").strip()
