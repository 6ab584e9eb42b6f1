# SPDX-License-Identifier: Apache-2.0
"""The part of Go's text templates that workload files use.

    text ─► parse ─► Block (text, expressions, if, range, variables) ─► Block.render

`{{ .Name }}` is a value of the operation, `{{ $name := … }}` a variable, `{{ . }}` the value of the
innermost range. Braces contain a value, a call, or a pipeline: `{{ or .numDevices 10 | Int }}`.
Anything else is an error. A parameter that the operation does not have is an error too, except in
`or` and `if`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mul, ne
from typing import Any, Final, NamedTuple, TypeAlias

from steersman.base import InputError

Number: TypeAlias = "int | float"
Scope: TypeAlias = dict[str, Any]

KNOWN: Final = (
    "use .Index, .Count, parameters, numbers, strings, if, range, or, eq, ge, Int, JSON, and AddInt, SubtractInt, "
    "MultiplyInt, DivideInt, Mod or their …Float forms"
)
DOT: Final = "."

_BRACES: Final = re.compile(r"\{\{(-?)(.*?)(-?)\}\}", re.DOTALL)
_WORD: Final = re.compile(
    r'\s*(?:(?P<text>"[^"]*")|(?P<mark>:=|[()|])|(?P<number>[-+]?\d+(?:\.\d+)?)|(?P<name>[.$]?[A-Za-z]\w*|\.)|(?P<bad>\S))'
)


def has_expressions(text: str) -> bool:
    return "{{" in text


def rendered(text: str, variables: Mapping[str, Any]) -> str:
    """Replace every expression by its value. Raise `InputError` with an invalid expression."""
    return parse(text).render({DOT: variables})


class Expression(NamedTuple):
    """The words between two braces, with the source for errors."""

    words: tuple[str, ...]
    source: str

    def value(self, scope: Scope) -> Any:
        words = iter(self.words)
        try:
            return _pipeline(words, self.source, scope, closing="")
        except ZeroDivisionError as error:
            raise _refused(self.source, "divides by zero") from error


class Block(NamedTuple):
    """A sequence of texts and actions."""

    parts: tuple[str | Expression | Assignment | Condition | Loop, ...]

    def render(self, scope: Scope) -> str:
        return "".join(part if isinstance(part, str) else _rendered(part, scope) for part in self.parts)


class Assignment(NamedTuple):
    """`{{ $name := expression }}`."""

    name: str
    expression: Expression


class Condition(NamedTuple):
    """`{{ if expression }}…{{ else }}…{{ end }}`."""

    expression: Expression
    then: Block
    otherwise: Block


class Loop(NamedTuple):
    """`{{ range $name := expression }}…{{ end }}` over the numbers below an integer."""

    name: str
    expression: Expression
    body: Block


def _rendered(part: Expression | Assignment | Condition | Loop, scope: Scope) -> str:
    match part:
        case Assignment():
            scope[part.name] = part.expression.value(scope)
            return ""
        case Condition():
            return (part.then if part.expression.value(scope) else part.otherwise).render(dict(scope))
        case Loop():
            return _repeated(part, scope)
        case _:
            value = part.value(scope)
            if value is None:
                raise _refused(part.source, "has no value")
            return _shown(value)


def _repeated(loop: Loop, scope: Scope) -> str:
    count = loop.expression.value(scope)
    if not isinstance(count, int) or isinstance(count, bool):
        raise _refused(loop.expression.source, f"repeats {count!r} times; a range needs an integer, as Int makes it")
    return "".join(loop.body.render({**scope, DOT: index, loop.name or DOT: index}) for index in range(count))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# -- parsing -----------------------------------------------------------------------------------------------------------


class _Action(NamedTuple):
    words: tuple[str, ...]
    source: str

    @property
    def keyword(self) -> str:
        return self.words[0] if self.words and self.words[0] in ("if", "range", "else", "end") else ""


def parse(text: str) -> Block:
    """Parse a template. Raise `InputError` with an invalid action."""
    pieces = _pieces(text)
    block, end = _block(pieces)
    if end is not None:
        raise _refused(end.source, "closes nothing")
    return block


def _pieces(text: str) -> Iterator[str | _Action]:
    start = 0
    for match in _BRACES.finditer(text):
        if match[1] or match[3]:
            raise _refused(match[0], "trims blanks, which is not supported")
        yield text[start : match.start()]
        words = tuple(word[0].strip() for word in _WORD.finditer(match[2]) if word[0].strip())
        if not words:
            raise _refused(match[0], "is empty")
        yield _Action(words, match[0])
        start = match.end()
    yield text[start:]


def _block(pieces: Iterator[str | _Action]) -> tuple[Block, _Action | None]:
    """Return the parts up to `else`, `end` or the end of the text, and that action."""
    parts: list[str | Expression | Assignment | Condition | Loop] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
        elif piece.keyword in ("else", "end"):
            return Block(tuple(parts)), piece
        elif piece.keyword == "if":
            parts.append(_condition(piece, pieces))
        elif piece.keyword == "range":
            parts.append(_loop(piece, pieces))
        elif piece.words[1:2] == (":=",):
            parts.append(Assignment(piece.words[0], Expression(piece.words[2:], piece.source)))
        else:
            parts.append(Expression(piece.words, piece.source))
    return Block(tuple(parts)), None


def _condition(start: _Action, pieces: Iterator[str | _Action]) -> Condition:
    then, end = _block(pieces)
    otherwise = Block(())
    if end is not None and end.keyword == "else":
        otherwise, end = _block(pieces)
    _require_end(start, end)
    return Condition(Expression(start.words[1:], start.source), then, otherwise)


def _loop(start: _Action, pieces: Iterator[str | _Action]) -> Loop:
    body, end = _block(pieces)
    _require_end(start, end)
    is_named = start.words[2:3] == (":=",)
    name, words = (start.words[1], start.words[3:]) if is_named else ("", start.words[1:])
    return Loop(name, Expression(words, start.source), body)


def _require_end(start: _Action, end: _Action | None) -> None:
    if end is None or end.keyword != "end":
        raise _refused(start.source, "has no {{end}}")


# -- evaluation --------------------------------------------------------------------------------------------------------


def _pipeline(words: Iterator[str], source: str, scope: Scope, closing: str) -> Any:
    """Return the value of calls that are joined by `|`, up to the closing parenthesis if any."""
    value, end = _call(words, source, scope, ())
    while end == "|":
        value, end = _call(words, source, scope, (value,))
    if end != closing:
        raise _refused(source, f"continues after its end with {end!r}" if end else "has an open parenthesis")
    return value


def _call(words: Iterator[str], source: str, scope: Scope, piped: tuple[Any, ...]) -> tuple[Any, str]:
    """Return the value of a call, and the word behind it: "" at the end."""
    name = next(words, "")
    if not name:
        raise _refused(source, "is empty")
    if name not in _FUNCTIONS:
        if piped:
            raise _refused(source, f"contains {name!r}, which is not supported")
        return _argument(name, words, source, scope, is_required=False), next(words, "")
    arguments, end = [], ""
    for word in words:
        if word in (")", "|"):
            end = word
            break
        arguments.append(_argument(word, words, source, scope, is_required=name not in _OF_MISSING))
    return _applied(name, [*arguments, *piped], source), end


def _applied(name: str, arguments: list[Any], source: str) -> Any:
    try:
        return _FUNCTIONS[name](*arguments)
    except TypeError as error:
        raise _refused(source, f"gives {name} {len(arguments)} arguments or values of the wrong type") from error
    except ValueError as error:
        raise _refused(source, f"gives {name} a value of the wrong type") from error


def _argument(word: str, words: Iterator[str], source: str, scope: Scope, *, is_required: bool) -> Any:
    if word == "(":
        return _pipeline(words, source, scope, closing=")")
    if word.startswith('"') and len(word) > 1:
        return word[1:-1]
    if word == "nil":
        return None
    if word.startswith("$") or word == DOT:
        if word in scope:
            return scope[word]
    elif word.startswith("."):
        values = scope[DOT]
        if isinstance(values, Mapping):
            if is_required and word[1:] not in values:
                raise _refused(source, f"contains {word!r}, which is no parameter of the operation")
            return values.get(word[1:])
    elif re.fullmatch(r"[-+]?\d+(\.\d+)?", word):
        return float(word) if "." in word else int(word)
    raise _refused(source, f"contains {word!r}, which is not supported")


def _refused(expression: str, why: str) -> InputError:
    return InputError(f"the template expression {why}", value=expression, hint=KNOWN)


def _mod(a: Number, b: Number) -> int:
    """Return Go's remainder, which has the sign of the dividend."""
    if int(b) == 0:
        raise ZeroDivisionError
    return int(math.fmod(int(a), int(b)))


def _first(*values: Any) -> Any:
    return next((value for value in values if value), values[-1] if values else None)


#: Functions whose arguments may be missing.
_OF_MISSING: Final = frozenset({"or"})
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "AddFloat": lambda *numbers: float(sum(numbers)),
    "AddInt": lambda *numbers: int(reduce(add, numbers, 0)),
    "SubtractFloat": lambda a, b: float(a - b),
    "SubtractInt": lambda a, b: int(a - b),
    "MultiplyFloat": lambda *numbers: float(reduce(mul, numbers, 1)),
    "MultiplyInt": lambda *numbers: int(reduce(mul, numbers, 1)),
    "DivideFloat": lambda a, b: float(a / b),
    "DivideInt": lambda a, b: int(a / b),
    "Mod": _mod,
    "Int": int,
    "JSON": json.dumps,
    "or": _first,
    "eq": eq,
    "ne": ne,
    "ge": ge,
    "gt": gt,
    "le": le,
    "lt": lt,
}
