# SPDX-License-Identifier: Apache-2.0
"""Escapes foreign text for terminals and logs: no control characters, marks of direction or line
separators.

Names in Kubernetes are harmless, but messages of plugins, extenders and servers, annotations,
images and file contents may contain anything. Code that writes to a terminal or a log (`cli`,
`observe.logs`, the text endpoints of `serving`) escapes the text at output; other code does not.
"""

from __future__ import annotations

import re
from typing import Final

#: Control characters, marks that reorder or hide text, line separators, halves of surrogate pairs.
_UNPRINTABLE_RANGES: Final = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: control characters of terminals
    r"\u00ad\u061c\u180e\u200b-\u200f\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, and marks of direction
    r"\u2028-\u202e"  # separators of lines and paragraphs, embeddings and overrides of direction
    r"\U000e0000-\U000e007f"  # tags: invisible text
    r"\ud800-\udfff"  # cannot be encoded
)
_UNPRINTABLE: Final = re.compile(f"[{_UNPRINTABLE_RANGES}]")
_UNPRINTABLE_BUT_LINES: Final = re.compile(rf"(?![\n\t])[{_UNPRINTABLE_RANGES}]")
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """Return the text on one line, with `\\n`, `\\x1b` and `\\u202e` for unprintable characters.
    Idempotent."""
    return _UNPRINTABLE.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Like `printable`, but keeps line breaks and tabs."""
    return _UNPRINTABLE_BUT_LINES.sub(_escaped, text)


def printable_json(text: str) -> str:
    """Return a JSON document with escapes for such characters; parsers read the same value."""
    return _UNPRINTABLE_BUT_LINES.sub(_json_escaped, text)


def has_printable_lines(text: str) -> bool:
    """Return whether `printable_lines` would not change the text."""
    return _UNPRINTABLE_BUT_LINES.search(text) is None


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
