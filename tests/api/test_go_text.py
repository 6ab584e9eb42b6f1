# SPDX-License-Identifier: Apache-2.0
"""Text is quoted as Go does it."""

from __future__ import annotations

import pytest

from steersman.api.go_text import quote


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '""'),
        ("web-0", '"web-0"'),
        ('say "hi"', r'"say \"hi\""'),
        ("a\\b", r'"a\\b"'),
        ("tab\tline\n", r'"tab\tline\n"'),
        ("\x00\x1b", r'"\x00\x1b"'),
        ("grün ✓", '"grün ✓"'),
        ("\u200b", r'"\u200b"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, expected: str) -> None:
    assert quote(text) == expected
