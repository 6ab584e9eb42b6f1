# SPDX-License-Identifier: Apache-2.0
"""JSON that nests deeper than any API object does: cut down to a depth that every decoder takes.

Decoders recurse, and Python's limits on recursion differ from version to version. `codec` comes here when decoding has
failed: what nests deeper than `DEEPEST` becomes `null`. A list may be many megabytes of brackets, so that they are counted
with numpy: linear in the length of the text, about 10 ms for a megabyte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DEEPEST: Final = 200
"""Levels that are kept. API objects have about twenty, and some more in lists and in lines of a watch."""

_NOTHING: Final = b"null"
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_CHUNK: Final = 1 << 20
_QUOTE: Final = ord('"')


def pruned(text: bytes) -> bytes:
    """The JSON text with `null` in the place of every value below `DEEPEST` levels; what is not JSON stays so."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return text
    pieces: list[bytes] = []
    kept, is_cut = 0, False
    for position in _cuts(text):
        if not is_cut:
            pieces += text[kept:position], _NOTHING
        is_cut, kept = not is_cut, position
    if not is_cut:
        pieces.append(text[kept:])
    return b"".join(pieces)


def _cuts(text: bytes) -> Iterator[int]:
    """The places where a value that is too deep begins and where it ends, in turn."""
    # Of the same length; what is left of quotes begins and ends strings.
    symbols = np.frombuffer(_ESCAPED.sub(b"__", text), np.uint8)
    depth = quotes = 0
    for start in range(0, len(symbols), _CHUNK):
        chunk = symbols[start : start + _CHUNK]
        is_quote = chunk == _QUOTE
        is_outside = (np.cumsum(is_quote, dtype=np.int32) + quotes) % 2 == 0
        opens = _is_one_of(chunk, b"[{") & is_outside
        closes = _is_one_of(chunk, b"]}") & is_outside
        depths = np.cumsum(opens.astype(np.int8) - closes, dtype=np.int32) + depth
        begins, ends = opens & (depths == DEEPEST + 1), closes & (depths == DEEPEST)
        for position in (begins | ends).nonzero()[0].tolist():
            yield start + position + int(ends[position])
        depth, quotes = int(depths[-1]), quotes + int(is_quote.sum())


def _is_one_of(symbols: NDArray[np.uint8], pair: bytes) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (symbols == pair[0]) | (symbols == pair[1])
    return found


def is_deeper_than(levels: int, value: Any) -> bool:
    """Whether lists and maps in plain data nest deeper than so many levels; without recursion."""
    layer = _nested((value,))
    for _ in range(levels):
        layer = [inner for part in layer for inner in _nested(part.values() if isinstance(part, dict) else part)]
    return bool(layer)


def _nested(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict | list | tuple)]
