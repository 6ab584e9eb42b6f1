# SPDX-License-Identifier: Apache-2.0
"""Simple JSONPath, for printer columns of CustomResourceDefinitions and selectors of KWOK stages.

`.spec.hosts[0].name`, `.metadata.annotations['a.b/c']`,
`.status.conditions[?(@.type=="Ready")].status`, `[*]`. Recursive descent and scripts are rejected.
Libraries for RFC 9535 do not support this dialect's escapes: see ADR 0056.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from steersman.base import InputError

Step: TypeAlias = Callable[[Any], Iterable[Any]]
"""Maps a value to the values that a step selects."""

_TOKEN: Final = re.compile(
    r"""(?P<all>\[\*\]|\.\*)
    | \.(?P<field>(?:\\.|[^.\[\]\\])+)
    | \[(?P<index>-?\d+)\]
    | \[\s*(?P<quote>['"])(?P<name>.*?)(?P=quote)\s*\]
    | \[\?\(\s*@(?P<left>[^=!<>]*?)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>[^)]*?)\s*)?\)\]""",
    re.VERBOSE,
)
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def find_values(path: str, document: Any) -> list[Any]:
    """Return the selected values, in order. Raises `InputError` if the path is not simple."""
    values = [document]
    for step in compile_path(path):
        values = [found for value in values for found in step(value)]
    return values


@lru_cache(maxsize=1024)
def compile_path(path: str) -> tuple[Step, ...]:
    """Compile a path into its steps. Raises `InputError`."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if text and not text.startswith((".", "[")):
        text = f".{text}"
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.end() == position:
            raise InputError("is not a simple JSONPath", value=path, hint='use a path such as ".spec.replicas"')
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return _all_members
    if match["field"] is not None:
        return _member(re.sub(r"\\(.)", r"\1", match["field"]))
    if match["name"] is not None:
        return _member(match["name"])
    if match["index"] is not None:
        return _element(int(match["index"]))
    return _filter(match["left"], match["operator"], match["right"])


def _member(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _element(index: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        is_there = isinstance(value, list) and -len(value) <= index < len(value)
        return [value[index]] if is_there else []

    return step


def _all_members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _filter(left: str, operator: str | None, right: str | None) -> Step:
    expected = None if right is None else _literal(right)

    def step(value: Any) -> Iterator[Any]:
        for element in value if isinstance(value, list) else ():
            found = find_values(left, element)
            if found and (operator is None or _holds(operator, found[0], expected)):
                yield element

    return step


def _holds(operator: str, left: Any, right: Any) -> bool:
    try:
        return _COMPARISONS[operator](left, right)
    except TypeError:
        return False


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return text
