# SPDX-License-Identifier: Apache-2.0
"""The part of Go's text templates that workload files use: `{{ .Index }}`, `{{ .Count }}` and arithmetic on them.

`templates` hands in the text of a file, with the index and number of the object that is to be made. What is in braces is
either a variable, a number, or a function with such arguments, which may be calls in parentheses: `{{ Mod .Index 12 }}`.
Everything else of Go's templates is refused rather than guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, reduce
from operator import add, mul
from typing import Final, TypeAlias

from steersman.errors import InputError

Number: TypeAlias = "int | float"

_BRACES: Final = re.compile(r"\{\{(-?)(.*?)(-?)\}\}", re.DOTALL)
_WORD: Final = re.compile(r"\s*(?:(?P<paren>[()])|(?P<number>[-+]?\d+(?:\.\d+)?)|(?P<name>\.?[A-Za-z]\w*)|(?P<bad>\S))")
KNOWN: Final = "use .Index, .Count, numbers, and AddInt, SubtractInt, MultiplyInt, DivideInt, Mod or their …Float forms"


def has_expressions(text: str) -> bool:
    return "{{" in text


def rendered(text: str, index: int, count: int) -> str:
    """The text with every expression replaced by its value; raises `InputError` that names the expression."""
    variables = {".Index": index, ".Count": count}

    def replaced(match: re.Match[str]) -> str:
        if match[1] or match[3]:
            raise _refused(match[0], "trims blanks, which is not supported")
        return _shown(_value(match[2], match[0], variables))

    return _BRACES.sub(replaced, text)


def _shown(value: Number) -> str:
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)


def _value(expression: str, whole: str, variables: Mapping[str, int]) -> Number:
    words = iter(_words(expression))
    try:
        value, rest = _call(words, whole, variables), next(words, None)
    except ZeroDivisionError as error:
        raise _refused(whole, "divides by zero") from error
    if rest is not None:
        raise _refused(whole, f"goes on after its end with {rest!r}")
    return value


@lru_cache(maxsize=256)
def _words(expression: str) -> tuple[str, ...]:
    return tuple(match[0].strip() for match in _WORD.finditer(expression) if match[0].strip())


def _call(words: Iterator[str], whole: str, variables: Mapping[str, int]) -> Number:
    """The value of a call, whose arguments go up to the end or the closing parenthesis."""
    first = next(words, None)
    if first is None:
        raise _refused(whole, "is empty")
    if first not in _FUNCTIONS:
        return _argument(first, words, whole, variables)
    arguments: list[Number] = []
    for word in words:
        if word == ")":
            break
        arguments.append(_argument(word, words, whole, variables))
    try:
        return _FUNCTIONS[first](*arguments)
    except TypeError as error:
        raise _refused(whole, f"gives {first} {len(arguments)} arguments") from error


def _argument(word: str, words: Iterator[str], whole: str, variables: Mapping[str, int]) -> Number:
    if word == "(":
        return _call(words, whole, variables)
    if word in variables:
        return variables[word]
    try:
        return int(word) if word.lstrip("+-").isdigit() else float(word)
    except ValueError:
        raise _refused(whole, f"contains {word!r}, which is not supported") from None


def _refused(expression: str, why: str) -> InputError:
    return InputError(f"the template expression {why}", value=expression, hint=KNOWN)


def _mod(a: Number, b: Number) -> int:
    """Go's remainder has the sign of the dividend."""
    if int(b) == 0:
        raise ZeroDivisionError
    return int(math.fmod(int(a), int(b)))


_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "AddFloat": lambda *numbers: float(sum(numbers)),
    "AddInt": lambda *numbers: int(reduce(add, numbers, 0)),
    "SubtractFloat": lambda a, b: float(a - b),
    "SubtractInt": lambda a, b: int(a - b),
    "MultiplyFloat": lambda *numbers: float(reduce(mul, numbers, 1)),
    "MultiplyInt": lambda *numbers: int(reduce(mul, numbers, 1)),
    "DivideFloat": lambda a, b: float(a / b),
    "DivideInt": lambda a, b: int(a / b),
    "Mod": _mod,
}
