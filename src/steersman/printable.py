# SPDX-License-Identifier: Apache-2.0
"""Foreign text made fit to be shown: nothing in it moves the cursor, turns the line around or begins a new one.

Names in Kubernetes are harmless, but messages of plugins, extenders and servers, annotations, images and the contents of
files are whatever somebody wrote. Whoever writes to a terminal or a log (`cli`, `observe.logs`, the text endpoints of
`serving`) passes it through here, once, at the very end; nobody else needs to.
"""

from __future__ import annotations

import re
from typing import Final

#: Control characters, marks that reorder or hide text, separators of lines, halves of surrogate pairs.
_UNPRINTABLE_RANGES: Final = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: what terminals obey
    r"\u00ad\u061c\u180e\u200b-\u200f\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, and marks of direction
    r"\u2028-\u202e"  # separators of lines and paragraphs, embeddings and overrides of direction
    r"\U000e0000-\U000e007f"  # tags: text that nobody sees
    r"\ud800-\udfff"  # cannot be encoded
)
_UNPRINTABLE: Final = re.compile(f"[{_UNPRINTABLE_RANGES}]")
_UNPRINTABLE_BUT_LINES: Final = re.compile(rf"(?![\n\t])[{_UNPRINTABLE_RANGES}]")
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """The text on one line, with `\\n`, `\\x1b` and `\\u202e` in place of what must not be shown. Twice is as good as once."""
    return _UNPRINTABLE.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """`printable` for a text whose line ends and tabs are one's own."""
    return _UNPRINTABLE_BUT_LINES.sub(_escaped, text)


def printable_json(text: str) -> str:
    """A JSON document with escapes for such characters: the same document to whoever parses it."""
    return _UNPRINTABLE_BUT_LINES.sub(_json_escaped, text)


def has_printable_lines(text: str) -> bool:
    """Whether `printable_lines` would leave the text as it is."""
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
