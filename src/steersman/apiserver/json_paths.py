# SPDX-License-Identifier: Apache-2.0
"""Simple JSONPath, as printer columns of CustomResourceDefinitions use it.

`.spec.hosts[0].name`, `.metadata.annotations['a.b/c']`, `.status.conditions[?(@.type=="Ready")].status`, `[*]`. Recursive
descent and scripts are not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from steersman.errors import InputError

Step: TypeAlias = Callable[[Any], Iterable[Any]]
"""From a value to the values that the step leads to."""

_TOKEN: Final = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\]\\])+)
    | \[(?P<index>-?\d+)\]
    | \[\s*(?P<quote>['"])(?P<name>.*?)(?P=quote)\s*\]
    | (?P<all>\[\*\]|\.\*)
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


def found_at(path: str, document: Any) -> list[Any]:
    """The values that the path leads to, in order. Raises `InputError` for a path that is not simple."""
    values = [document]
    for step in compiled(path):
        values = [found for value in values for found in step(value)]
    return values


@lru_cache(maxsize=1024)
def compiled(path: str) -> tuple[Step, ...]:
    """The steps of a path. Raises `InputError`."""
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
    wanted = None if right is None else _literal(right)

    def step(value: Any) -> Iterator[Any]:
        for element in value if isinstance(value, list) else ():
            found = found_at(left, element)
            if found and (operator is None or _holds(operator, found[0], wanted)):
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
