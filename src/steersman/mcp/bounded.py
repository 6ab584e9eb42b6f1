# SPDX-License-Identifier: Apache-2.0
"""JSON of bounded size: long lists, and maps with many entries, are cut until the text is short enough.

What is cut says so in its place; the beginnings stay, which is where documents of Steersman have what matters most.
"""

from __future__ import annotations

import json
from typing import Any, Final

LENGTHS: Final = (200, 100, 50, 20, 10, 5, 3, 1)
"""How many entries of a list or map are kept, tried one after the other."""
LONGEST_TEXT: Final = 2000
"""So much of a single text is kept where lists alone do not do it."""
MORE: Final = "…"


def bounded_json(document: dict[str, Any], most: int) -> str:
    """The document as JSON of at most so many characters; if even its frame is longer, only that it is."""
    text = _text(document)
    for length in LENGTHS:
        if len(text) <= most:
            return text
        text = _text({"truncated": f"lists and maps have at most {length} entries here", **_cut(document, length)})
    return text if len(text) <= most else _text({"truncated": f"the answer is longer than {most} characters"})


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _cut(value: Any, length: int) -> Any:
    if isinstance(value, dict):
        kept = {name: _cut(each, length) for name, each in list(value.items())[: max(length, _FIELDS)]}
        left_out = len(value) - len(kept)
        return {**kept, MORE: f"{left_out} more"} if left_out else kept
    if isinstance(value, list):
        cut = [_cut(each, length) for each in value[:length]]
        return [*cut, f"{MORE} {len(value) - length} more"] if len(value) > length else cut
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]}{MORE}"
    return value


_FIELDS: Final = 25
"""An object has as many fields; maps with more are keyed by names of nodes or pods."""
