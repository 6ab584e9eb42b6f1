# SPDX-License-Identifier: Apache-2.0
"""Pruning of JSON that is nested too deeply for decoders.

Decoders recurse, and Python's recursion limits vary by version. `codec` calls this after decoding
failed: values deeper than `MAX_DEPTH` become `null`. A list may be megabytes of brackets, so they
are counted with numpy: linear in the text, about 10 ms per megabyte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MAX_DEPTH: Final = 200
"""Maximum nesting depth. API objects have about 20 levels, plus some in lists and watch events."""

MAX_PARAMETER_DEPTH: Final = 100
"""Maximum nesting depth of a DRA driver's parameters: less than `MAX_DEPTH`, to avoid silent
pruning."""

_NOTHING: Final = b"null"
_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_CHUNK: Final = 1 << 20
_QUOTE: Final = ord('"')


def pruned(text: bytes) -> bytes:
    """Replace values below `MAX_DEPTH` levels by `null`; invalid JSON stays invalid."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
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
    """Yield the start and end positions of too deep values, alternating."""
    # Escapes are replaced by text of equal length; all remaining quotes delimit strings.
    symbols = np.frombuffer(_ESCAPED.sub(b"__", text), np.uint8)
    depth = quotes = 0
    for start in range(0, len(symbols), _CHUNK):
        chunk = symbols[start : start + _CHUNK]
        is_quote = chunk == _QUOTE
        is_outside = (np.cumsum(is_quote, dtype=np.int32) + quotes) % 2 == 0
        opens = _is_one_of(chunk, b"[{") & is_outside
        closes = _is_one_of(chunk, b"]}") & is_outside
        depths = np.cumsum(opens.astype(np.int8) - closes, dtype=np.int32) + depth
        begins, ends = opens & (depths == MAX_DEPTH + 1), closes & (depths == MAX_DEPTH)
        for position in (begins | ends).nonzero()[0].tolist():
            yield start + position + int(ends[position])
        depth, quotes = int(depths[-1]), quotes + int(is_quote.sum())


def _is_one_of(symbols: NDArray[np.uint8], pair: bytes) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (symbols == pair[0]) | (symbols == pair[1])
    return found


def check_depth_of_parameters(parameters: dict[str, Any]) -> None:
    """Raise `ValueError` if the parameters of a DRA driver are nested too deeply."""
    if is_deeper_than(MAX_PARAMETER_DEPTH, parameters):
        raise ValueError(f"parameters must not nest deeper than {MAX_PARAMETER_DEPTH} levels")


def is_deeper_than(levels: int, value: Any) -> bool:
    """Return whether plain data is nested deeper than `levels`, without recursion."""
    layer = _nested((value,))
    for _ in range(levels):
        layer = [inner for part in layer for inner in _nested(part.values() if isinstance(part, dict) else part)]
    return bool(layer)


def _nested(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict | list | tuple)]
