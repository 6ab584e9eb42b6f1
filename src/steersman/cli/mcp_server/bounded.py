# SPDX-License-Identifier: Apache-2.0
"""JSON of bounded size: long lists, and maps with many entries, are truncated until the text is
short enough.

Truncation is marked in place; the beginnings stay, where Steersman's documents have the most
important entries.
"""

from __future__ import annotations

import json
from typing import Any, Final

LENGTHS: Final = (200, 100, 50, 20, 10, 5, 3, 1)
"""Lengths to which lists and maps are truncated, tried in order."""
MAX_STRING_LENGTH: Final = 2000
"""Maximum length of a single string, if truncating lists is not enough."""
MORE: Final = "…"


def bounded_json(document: dict[str, Any], limit: int) -> str:
    """Serialise the document to at most `limit` characters, truncating lists first."""
    text = _text(document)
    for length in LENGTHS:
        if len(text) <= limit:
            return text
        text = _text({"truncated": f"lists and maps have at most {length} entries here", **_cut(document, length)})
    return text if len(text) <= limit else _text({"truncated": f"the answer is longer than {limit} characters"})


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
    if isinstance(value, str) and len(value) > MAX_STRING_LENGTH:
        return f"{value[:MAX_STRING_LENGTH]}{MORE}"
    return value


_FIELDS: Final = 25
"""Objects have at most this many fields; larger maps are keyed by names of nodes or pods."""
