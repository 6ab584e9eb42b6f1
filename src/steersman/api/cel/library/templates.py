# SPDX-License-Identifier: Apache-2.0
"""String formatting: `"%s has %d".format([name, count])`.

`format_text` fills a template; `clauses` splits it, also for the validator of constant templates
and their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NoReturn

from steersman.api.cel.arithmetic import MAX_INT
from steersman.api.cel.conversions import to_string
from steersman.api.cel.errors import Aborted, CelError
from steersman.api.cel.meter import MAX_VALUE, paced, require_room, spend
from steersman.api.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    TypeKind,
)
from steersman.api.cel.values import CelDuration, Timestamp, Value, from_key, type_name
from steersman.api.go_text import quote

_DEFAULT_PRECISION: Final = 6
_INT64_DIGITS: Final = 19
_TOO_PRECISE: Final = 10_000_010
"""Precision or width from which on upstream's printer fails."""
_NO_VERB: Final = "%!(NOVERB)"
_SPECIAL_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_TEXTUAL: Final = frozenset(type_.name for type_ in (BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, TYPE, UINT))

STRING_RULE: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps, was given {}"
)
DECIMAL_RULE: Final = "decimal clause can only be used on integers, was given {}"
FIXED_RULE: Final = "fixed-point clause can only be used on doubles, was given {}"
SCIENTIFIC_RULE: Final = "scientific clause can only be used on doubles, was given {}"
BINARY_RULE: Final = "only integers and bools can be formatted as binary, was given {}"
HEX_RULE: Final = "only integers, byte buffers, and strings can be formatted as hex, was given {}"
OCTAL_RULE: Final = "octal clause can only be used on integers, was given {}"


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb, the types it accepts, and the error for others."""

    verb: str
    precision: int
    kinds: frozenset[TypeKind]
    rule: str


_KINDS: Final = {
    "s": frozenset(
        {TypeKind.LIST, TypeKind.MAP, TypeKind.INT, TypeKind.UINT, TypeKind.DOUBLE, TypeKind.BOOL, TypeKind.STRING,
         TypeKind.TIMESTAMP, TypeKind.BYTES, TypeKind.DURATION, TypeKind.TYPE, TypeKind.NULL}
    ),
    "d": frozenset({TypeKind.INT, TypeKind.UINT}),
    "f": frozenset({TypeKind.DOUBLE, TypeKind.STRING}),
    "e": frozenset({TypeKind.DOUBLE, TypeKind.STRING}),
    "b": frozenset({TypeKind.INT, TypeKind.UINT, TypeKind.BOOL}),
    "x": frozenset({TypeKind.INT, TypeKind.UINT, TypeKind.STRING, TypeKind.BYTES}),
    "X": frozenset({TypeKind.INT, TypeKind.UINT, TypeKind.STRING, TypeKind.BYTES}),
    "o": frozenset({TypeKind.INT, TypeKind.UINT}),
}  # fmt: skip
_RULES: Final = {
    "s": STRING_RULE, "d": DECIMAL_RULE, "f": FIXED_RULE, "e": SCIENTIFIC_RULE, "b": BINARY_RULE, "x": HEX_RULE,
    "X": HEX_RULE, "o": OCTAL_RULE,
}  # fmt: skip


def format_text(template: str, args: list[Value]) -> str:
    """Return the template with its clauses replaced by the arguments."""
    parts: list[str] = []
    index = size = 0
    for piece in clauses(template, len(args)):
        if isinstance(piece, str):
            parts.append(piece)
        else:
            parts.append(_formatted(args[index], piece))
            index += 1
        size += len(parts[-1])
        if size > MAX_VALUE:
            require_room("text", size, "characters")
    spend(size)
    return "".join(parts)


def _formatted(value: Value, clause: Clause) -> str:
    try:
        return _FORMATTERS[clause.verb](value, clause)
    except Aborted:
        raise
    except CelError as error:
        raise CelError(f"error during formatting: {error}") from None


def clauses(template: str, available: int) -> Iterator[str | Clause]:
    """Yield literal strings and clauses. Raise for a malformed clause or a missing argument."""
    position = used = 0
    while position < len(template):
        end = template.find("%", position)
        if end < 0:
            end = len(template)
        yield template[position:end]
        if end == len(template):
            return
        if template[end + 1 : end + 2] == "%":
            yield "%"
            position = end + 2
            continue
        if used >= available:
            raise CelError(f"index {used} out of range")
        clause, position = _clause(template, end + 1)
        yield clause
        used += 1


def _clause(template: str, position: int) -> tuple[Clause, int]:
    if position >= len(template):
        raise CelError("unexpected end of string")
    precision = _DEFAULT_PRECISION
    if template[position] == ".":
        start = position = position + 1
        while position < len(template) and template[position] in "0123456789":
            position += 1
        if position >= len(template):
            _malformed("error while parsing precision: could not find end of precision specifier")
        if start == position:
            _malformed(
                "error while parsing precision: error while converting precision to integer: "
                'strconv.Atoi: parsing "": invalid syntax'
            )
        precision = _precision(template[start:position])
    verb = template[position]
    if verb not in _KINDS:
        _malformed(f'unrecognized formatting clause "{verb}"')
    return Clause(verb, precision, _KINDS[verb], _RULES[verb]), position + 1


def _precision(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > _INT64_DIGITS or int(significant) > MAX_INT:
        _malformed(
            "error while parsing precision: error while converting precision to integer: "
            f"strconv.Atoi: parsing {quote(digits)}: value out of range"
        )
    return int(significant)


def _malformed(message: str) -> NoReturn:
    raise CelError(f"could not parse formatting clause: {message}")


def _string(value: Value, clause: Clause) -> str:
    if isinstance(value, list | dict):
        return _nested(value)
    if value is None:
        return "null"
    if type_name(value) not in _TEXTUAL:
        raise CelError(clause.rule.format(type_name(value)))
    return _converted(value)


def _converted(value: Value) -> str:
    try:
        return to_string(value)
    except CelError as error:
        raise CelError(f"could not convert argument {quote(str(error))} to string") from None


def _nested(value: Value) -> str:
    """Format a value nested in a list or map, or the list or map itself."""
    if isinstance(value, list):
        spend(1)  # elements may be nested lists
        return "[" + ", ".join(_quoted_if_text(element) for element in paced(value)) + "]"
    if isinstance(value, dict):
        entries = sorted((_key(from_key(key)), _quoted_if_text(entry)) for key, entry in paced(value.items()))
        return "{" + ", ".join(f"{key}:{entry}" for key, entry in entries) + "}"
    if isinstance(value, float):
        return _fixed_number(value, _DEFAULT_PRECISION, grouped=False)
    if value is None:
        return "null"
    if type_name(value) not in _TEXTUAL:
        raise CelError(f"no formatting function for {type_name(value)}")
    if isinstance(value, Timestamp):
        return f"timestamp({quote(to_string(value))})"
    if isinstance(value, CelDuration):
        return f"duration({quote(to_string(value))})"
    return _converted(value)


def _quoted_if_text(value: Value) -> str:
    text = _nested(value)
    spend(len(text))
    if isinstance(value, str):
        return quote(text)
    if isinstance(value, bytes):
        return "b" + quote(text)
    if isinstance(value, float) and not math.isfinite(value):
        return quote(text)
    return text


def _key(key: Value) -> str:
    if isinstance(key, str):
        return quote(key)
    if isinstance(key, int):
        return to_string(key)
    raise CelError(f"no formatting function for map key of type {type_name(key)}")


def _decimal(value: Value, clause: Clause) -> str:
    if isinstance(value, int) and type(value) is not bool:
        return str(int(value))
    raise CelError(clause.rule.format(type_name(value)))


def _number(value: Value, clause: Clause) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in _SPECIAL_NUMBERS:
        return _SPECIAL_NUMBERS[value]
    raise CelError(clause.rule.format(type_name(value)))


def _fixed(value: Value, clause: Clause) -> str:
    number = _number(value, clause)
    if clause.precision >= _TOO_PRECISE:
        return _NO_VERB
    # Upstream stores the precision in a byte; 0 may stand for all available digits.
    if clause.precision and clause.precision % 256 == 0 and math.isfinite(number):
        return f"{Decimal(repr(number)):,f}".removesuffix(".0")
    return _fixed_number(number, clause.precision % 256, grouped=True)


def _fixed_number(number: float, precision: int, *, grouped: bool) -> str:
    """Format a number in English; only clauses group digits, nested values do not."""
    if not math.isfinite(number):
        return _special(number, grouped=grouped)
    return f"{number:,.{precision}f}" if grouped else f"{number:.{precision}f}"


def _scientific(value: Value, clause: Clause) -> str:
    """Format in scientific notation; like upstream, the precision is used as width."""
    number = _number(value, clause)
    if clause.precision >= _TOO_PRECISE:
        return _NO_VERB
    text = _scientific_number(number) if math.isfinite(number) else _special(number, grouped=True)
    return text.rjust(clause.precision % 65536)


def _scientific_number(number: float) -> str:
    mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    sign = "\u207b" if exponent[0] == "-" else ""
    superscript = "".join(
        "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[int(digit)] for digit in exponent[1:]
    )
    return f"{mantissa}\u00d710{sign}{superscript}"


def _special(number: float, *, grouped: bool) -> str:
    if math.isnan(number):
        return "NaN"
    sign = "-" if number < 0 else ""
    return f"{sign}\u221e" if grouped else ("-Inf" if sign else "+Inf")


def _binary(value: Value, clause: Clause) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return f"{int(value):b}"
    raise CelError(clause.rule.format(type_name(value)))


def _hex(value: Value, clause: Clause) -> str:
    if isinstance(value, str):
        text = value.encode().hex()
    elif isinstance(value, bytes):
        text = value.hex()
    elif isinstance(value, int) and type(value) is not bool:
        text = f"{int(value):x}"
    else:
        raise CelError(clause.rule.format(type_name(value)))
    return text.upper() if clause.verb == "X" else text


def _octal(value: Value, clause: Clause) -> str:
    if isinstance(value, int) and type(value) is not bool:
        return f"{int(value):o}"
    raise CelError(clause.rule.format(type_name(value)))


_FORMATTERS: Final[dict[str, Callable[[Value, Clause], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _hex,
    "o": _octal,
}
