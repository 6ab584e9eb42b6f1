# SPDX-License-Identifier: Apache-2.0
"""Go's formatting of strings, for messages equal to upstream's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """Quote a string with Go's escapes, like `strconv.Quote`."""
    return '"' + "".join(ESCAPES.get(character) or _printable(character) for character in text) + '"'


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_list(texts: Iterable[str]) -> str:
    """Format strings like a printed Go slice."""
    return f"[{' '.join(texts)}]"
