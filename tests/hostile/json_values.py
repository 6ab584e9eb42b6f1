# SPDX-License-Identifier: Apache-2.0
"""JSON as nobody expects it: documents that are nearly right, and texts that are nearly JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

DEEP = "[" * 5_000 + "]" * 5_000
LONG = "9" * 5_000

NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.integers(-12, 12), st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 1.5, 1e308, -0.0])
)
TEXTS = st.one_of(
    st.text(max_size=8), st.sampled_from(["", "n0", "n1", "\x1b[31m", "\u202e", "\x00", "ü", "../..", "\r\nX: y"])
)
SCALARS: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def nearly(draw: st.DrawFn, names: Sequence[str], value: st.SearchStrategy[Any] = VALUES) -> dict[str, Any]:
    """An object with some of the fields, in any case of letters, that hold anything."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    return {draw(st.sampled_from([name, name.lower(), name.upper()])): draw(value) for name in chosen}


@st.composite
def damaged(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> bytes:
    """The text of a document: as it is, cut, with bytes replaced, nested without end, or something else altogether."""
    text = json.dumps(draw(documents)).encode()
    how = draw(st.sampled_from(["whole", "whole", "whole", "cut", "replaced", "deep", "long", "other"]))
    place = draw(st.integers(0, len(text)))
    if how == "cut":
        return text[:place]
    if how == "replaced":
        return text[:place] + draw(st.binary(min_size=1, max_size=4)) + text[place + 1 :]
    if how == "deep":
        return text.replace(b"null", DEEP.encode())
    if how == "long":
        return text.replace(b"null", LONG.encode())
    return draw(st.binary(max_size=40)) if how == "other" else text
