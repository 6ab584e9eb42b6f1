# SPDX-License-Identifier: Apache-2.0
"""Foreign text on its way to a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from steersman.base.printable_text import has_printable_lines, printable, printable_json, printable_lines

ANY_TEXT = st.text(st.characters())
HOSTILE = (
    "\x00\x07\x1b\x7f\x85\x9b\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0041\ud800"
)


@pytest.mark.parametrize("character", HOSTILE)
def test_what_terminals_obey_and_readers_do_not_see_is_escaped(character: str) -> None:
    for shown in (printable(f"a{character}b"), printable_lines(f"a{character}b")):
        assert shown[0] + shown[-1] == "ab"
        assert shown.isascii()
        assert shown.isprintable()
    assert not has_printable_lines(character)


def test_escapes_are_those_of_programming_languages() -> None:
    assert printable("\x1b[31m\n\u202e\U000e0041") == r"\x1b[31m\n\u202e\U000e0041"


def test_other_scripts_stay_as_they_are() -> None:
    text = "Grüße, 日本, עברית, 👍"
    assert printable(text) == printable_lines(text) == printable_json(text) == text


def test_lines_of_ones_own_stay() -> None:
    assert printable_lines("a\n\tb\r\n") == "a\n\tb\\r\n"


@given(ANY_TEXT)
def test_twice_is_as_good_as_once(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert has_printable_lines(printable_lines(text))


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_json_says_the_same_as_before(document: dict[str, str]) -> None:
    shown = printable_json(json.dumps(document, ensure_ascii=False))
    assert json.loads(shown) == document
    assert has_printable_lines(shown)
