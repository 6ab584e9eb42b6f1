# SPDX-License-Identifier: Apache-2.0
"""How Go quotes text. Messages have to read as upstream's do, in configuration, manifests and CEL alike."""

from __future__ import annotations

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
    """`text` in double quotes with Go's escapes, as `strconv.Quote` gives it."""
    return '"' + "".join(ESCAPES.get(character) or _printable(character) for character in text) + '"'


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
