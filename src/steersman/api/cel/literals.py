# SPDX-License-Identifier: Apache-2.0
"""Values of literals: numbers with range checks, strings and bytes with escapes."""

from __future__ import annotations

import math
import re
from typing import Final

from steersman.api.cel.arithmetic import MAX_INT, MAX_UINT, MIN_INT
from steersman.api.cel.values import Uint

_SIMPLE_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:([xX])([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_SURROGATES: Final = range(0xD800, 0xE000)
_MAX_DIGITS: Final = 20
_MAX_CODE_POINT: Final = 0x10FFFF


class LiteralError(Exception):
    """The literal is invalid; the message is upstream's."""


def int_value(text: str) -> int:
    """Parse `12`, `-12` or `0x0c`."""
    number = _whole(text)
    if number is None or not MIN_INT <= number <= MAX_INT:
        raise LiteralError("invalid int literal")
    return number


def uint_value(text: str) -> Uint:
    """Parse `12u` or `0x0cu`."""
    number = _whole(text[:-1])
    if number is None or number > MAX_UINT:
        raise LiteralError("invalid uint literal")
    return Uint(number)


def double_value(text: str) -> float:
    """Parse `1.5` or `1e3`."""
    number = float(text)
    if math.isinf(number):
        raise LiteralError("invalid double literal")
    return number


def string_value(text: str) -> str:
    """Parse a string literal."""
    body, raw = _unquoted(text)
    return body if raw else _ESCAPE.sub(_character, body)


def bytes_value(text: str) -> bytes:
    """Parse a bytes literal."""
    body, raw = _unquoted(text[1:])
    if raw:
        return body.encode()
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[position : match.start()].encode())
        parts.append(_byte(match))
        position = match.end()
    return b"".join([*parts, body[position:].encode()])


def parse_integer(text: str) -> int | None:
    """Parse decimal digits with an optional sign; None if there are more than any valid integer
    has."""
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _MAX_DIGITS:
        return None
    return -int(digits or "0") if text[0] == "-" else int(digits or "0")


def _whole(text: str) -> int | None:
    return int(text, 16) if "x" in text else parse_integer(text)


def _unquoted(text: str) -> tuple[str, bool]:
    """Return the text between the quotes, with normalised line ends, and whether it is raw."""
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(match: re.Match[str]) -> str:
    _, hexadecimal, short, long, octal, simple = match.groups()
    if simple is not None:
        return _SIMPLE_ESCAPES[simple]
    code = int(octal, 8) if octal is not None else int(hexadecimal or short or long, 16)
    if code > _MAX_CODE_POINT or code in _SURROGATES:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte(match: re.Match[str]) -> bytes:
    _, hexadecimal, short, long, octal, simple = match.groups()
    if short is not None or long is not None:
        raise LiteralError("unable to unescape string")
    if simple is not None:
        return _SIMPLE_ESCAPES[simple].encode()
    return bytes([int(octal, 8) if octal is not None else int(hexadecimal, 16)])
