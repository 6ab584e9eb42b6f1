# SPDX-License-Identifier: Apache-2.0
"""Rules of fields from the table `rules.txt`, in the order of reported errors.

A section (`[StorageClass]`) has the rules of an object, one per line:

    path: rule
    path as reported path if condition and condition: rule

Paths are relative to the object: `spec.ports[*].name`; `spec!.name` treats an absent `spec` as
`{}`; `.` is the object. A condition is `name` (neither absent nor empty), `name?` (present),
`name=A|B`, or one of these after `not`. A rule is

    required(detail) …    an error if the value is absent or empty, otherwise the rest of the rule
    optional …            nothing for empty values
    each …, every …       the rest of the rule for each element; `every` reports errors without the index
    text …, number …      an absent value counts as "" or 0
    always …              the rest of the rule even for an absent value
    invalid, blank, forbidden, missing detail
                          an error with the rest of the line as its detail; `blank` is `invalid` with "" as the value
    @section              the rules of another section
    check or check(a, b)  a check of `checks` or `resources`, a function of the module that owns the section (without
                          its underscore), or `module.function` of another module

Rules other than errors, `required`, `always`, `text` and `number` do not apply to absent values. A
section `[StorageClass update]` has rules of changes: `immutable`, `immutable_map`,
`immutable_pointer` (an absent string is null, not ""), or `fixed` and the detail of an error about
a changed field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from steersman.api.json_values import Document, is_same
from steersman.api.validation import checks, resources
from steersman.api.validation.checks import Check
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules

TABLE: Final = Path(__file__).with_name("rules.txt")
_WORD: Final = re.compile(r"([.\w]+)(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?\s*")
_DEFAULTS: Final[Mapping[str, Any]] = {"text": "", "number": 0}

Condition = Callable[[Any], bool]


class Row(NamedTuple):
    """Rule of one field."""

    steps: tuple[str, ...]
    conditions: tuple[Condition, ...]
    check: Check
    #: Value that replaces an absent one.
    default: Any = None
    takes_absent: bool = False
    #: Reported path, if it is not that of the field.
    reported: str = ""
    #: Field without which the rule does not apply; "" for none.
    needed: str = ""


class Rules:
    """Rules of the sections that a module owns; `namespace` has its functions."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._rows: dict[str, tuple[Row, ...]] = {}

    def __call__(self, section: str, path: str, value: Any) -> Iterator[FieldError]:
        """Yield the errors of an object at a path."""
        rows = self._rows.get(section) or self.compiled(section)
        for steps, conditions, check, default, takes_absent, reported, needed in rows:
            if needed and value.get(needed) is None:
                continue
            if conditions and not all(holds(value) for holds in conditions):
                continue
            for matched, found in _matches(value, steps, path):
                place = _reported(path, reported) if reported else matched
                checked = default if found is None else found
                if checked is not None or takes_absent:
                    yield from check(place, checked)

    def compiled(self, section: str) -> tuple[Row, ...]:
        """Return the compiled rules of a section."""
        rows = self._rows[section] = tuple(map(self._row, sections()[section]))
        return rows

    def kind(self, section: str, **others: Any) -> KindRules:
        """Return the rules of a kind, whose changes may have a section too."""
        has_update = f"{section} update" in sections()
        update = partial(self._changes, f"{section} update") if has_update else None
        return KindRules(**{"validate": partial(self, section, ""), "validate_update": update, **others})

    def _changes(self, section: str, document: Document, old: Document) -> Iterator[FieldError]:
        for line in sections()[section]:
            place, rule = line.split(": ", 1)
            steps = _steps(place)
            (path, new), (_, before) = next(_matches(document, steps, "")), next(_matches(old, steps, ""))
            if rule == "immutable":
                yield from checks.immutable(path, "" if new is None and isinstance(before, str) else new, before)
            elif rule == "immutable_pointer":
                yield from checks.immutable(path, new, before)
            elif rule == "immutable_map":
                yield from checks.immutable(path, dict(sorted(new.items())) if new else new, before)
            elif not is_same(new, before):
                yield FieldError.forbidden(path, rule.removeprefix("fixed "))

    def _row(self, line: str) -> Row:
        place, rule = line.split(": ", 1)
        path, _, conditions = place.partition(" if ")
        path, _, reported = path.partition(" as ")
        words = rule.split(" ", 1)
        default, rule = (_DEFAULTS[words[0]], words[1]) if words[0] in _DEFAULTS else (None, rule)
        holds = tuple(map(_condition, filter(None, conditions.split(" and "))))
        takes_absent = rule.startswith(("required", "always", *_ERRORS))
        steps = _steps(path)
        is_optional = len(steps) > 1 or not (takes_absent or default is not None)
        needed = steps[0] if steps and is_optional and not steps[0].endswith("!") else ""
        return Row(steps, holds, self.check(rule), default, takes_absent, reported, needed)

    def check(self, rule: str) -> Check:
        """Return the check that a rule describes."""
        if rule.startswith("@"):
            return partial(self, rule[1:])
        found = _WORD.match(rule)
        assert found is not None, f"no rule: {rule}"
        (name, argument), rest = found.groups(), rule[found.end() :]
        if name in _ERRORS:
            return partial(_ERRORS[name], rest)
        if name == "required":
            return checks.required(self.check(rest) if rest else None, argument or "")
        if name in _WRAPPERS:
            return _WRAPPERS[name](self.check(rest))
        check = self._named(name, argument)
        return checks.all_of(check, self.check(rest)) if rest else check

    def _named(self, name: str, argument: str | None) -> Check:
        check = self._namespace.get(f"_{name}") or self._namespace.get(name) or _shared(name)
        if argument is None:
            return checks.with_format(check) if name in _FORMATS else check
        arguments = [int(text) if text.lstrip("-").isdecimal() else text for text in argument.split(", ")]
        made: Check = check(*arguments)
        return made


def _shared(name: str) -> Any:
    """Return a function of another module of this package."""
    module, _, function = name.rpartition(".")
    if module:
        return getattr(import_module(f"{__package__}.{module}"), function)
    return getattr(checks, name, None) or getattr(resources, name)


def _invalid(detail: str, path: str, value: Any) -> Iterator[FieldError]:
    yield FieldError.invalid(path, value, detail)


def _blank(detail: str, path: str, _: Any) -> Iterator[FieldError]:
    yield FieldError.invalid(path, "", detail)


def _forbidden(detail: str, path: str, _: Any) -> Iterator[FieldError]:
    yield FieldError.forbidden(path, detail)


def _missing(detail: str, path: str, _: Any) -> Iterator[FieldError]:
    yield FieldError.required(path, detail)


def _every(check: Check) -> Check:
    return lambda path, values: (error for value in values or () for error in check(path, value))


_WRAPPERS: Final[Mapping[str, Callable[[Check], Check]]] = {
    "always": lambda check: check,
    "each": checks.each,
    "every": _every,
    "optional": checks.optional,
}
_ERRORS: Final = {"blank": _blank, "invalid": _invalid, "forbidden": _forbidden, "missing": _missing}
_FORMATS: Final = frozenset(
    ("config_map_key", "env_var_name", "http_header_name", "label_value", "path_segment_name", "port_name")
)
"""Formats that a rule may name as a check."""


@cache
def shared_check(rule: str) -> Check:
    """Return the check of a rule that names no function of a module."""
    return Rules({}).check(rule)


@cache
def sections() -> Mapping[str, tuple[str, ...]]:
    """Return the lines of each section."""
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("["):
            lines = found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def _steps(path: str) -> tuple[str, ...]:
    return () if path == "." else tuple(path.replace("[*]", ".[*]").split("."))


def _matches(value: Any, steps: tuple[str, ...], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of a pattern; a step with `!` treats an absent object as empty."""
    if not steps:
        yield path, value
    elif steps[0] == "[*]":
        for index, element in enumerate(value or ()):
            yield from _matches(element, steps[1:], f"{path}[{index}]")
    elif value is not None:
        name = steps[0].removesuffix("!")
        child = value.get(name)
        child = {} if child is None and name != steps[0] else child
        yield from _matches(child, steps[1:], f"{path}.{name}" if path else name)


def _reported(path: str, name: str) -> str:
    if name == ".":
        return path
    return f"{path}.{name}" if path else name


def _condition(text: str) -> Condition:
    term = text.removeprefix("not ")
    holds = _positive_condition(term)
    return holds if term == text else lambda value: not holds(value)


def _positive_condition(term: str) -> Condition:
    name, has_values, values = term.partition("=")
    steps = tuple(f"{step}!" for step in _steps(name.removesuffix("?"))[:-1]) + _steps(name.removesuffix("?"))[-1:]

    def field(value: Any) -> Any:
        return next(_matches(value, steps, ""))[1]

    if has_values:
        choices = values.split("|")
        return lambda value: field(value) in choices
    if name.endswith("?"):
        return lambda value: field(value) is not None
    return lambda value: bool(field(value))
