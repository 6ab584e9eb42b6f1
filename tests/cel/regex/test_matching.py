"""Regular expressions: both ways to match find the same, and neither takes forever."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cel.regex import compile_pattern
from steersman.cel.regex.automaton import Automaton
from steersman.cel.regex.syntax import parse
from steersman.cel.regex.translation import to_python

ATOMS = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", "\\w", "\\b", "^", "$", "(?i:A)", "\\n", "(?s:.)"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{1,2}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="abAé\n ", max_size=8)


@given(PATTERNS, TEXTS)
def test_the_automaton_finds_what_backtracking_finds(pattern: str, text: str) -> None:
    tree = parse(pattern)
    match = re.compile(to_python(tree)).search(text)
    assert Automaton(tree).search(text, 0) == (None if match is None else match.span())


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)+$", "(a*)*b", "(x+x+)+y", "(a?){30}a{30}b"])
def test_patterns_that_backtracking_never_finishes_are_matched(pattern: str) -> None:
    assert not compile_pattern(pattern).search("a" * 64 + "!")


def test_the_preferred_alternative_is_found() -> None:
    assert compile_pattern("a|ab").find_all("abab") == ["a", "a"]
    assert compile_pattern("(?:a|ab)$").find_all("ab") == ["ab"]


def test_empty_matches_behind_another_do_not_count() -> None:
    assert compile_pattern("a*").find_all("baac") == ["", "aa", ""]
    assert compile_pattern("").find_all("ab") == ["", "", ""]


def test_the_end_of_the_text_is_not_before_its_last_newline() -> None:
    assert not compile_pattern("a$").search("a\n")
    assert compile_pattern("(?m)a$").search("a\n")


@pytest.mark.parametrize("text", ["é", "٣", "\v"])
def test_named_classes_know_ascii_only(text: str) -> None:
    assert not compile_pattern(r"\w|\d|\s").search(text)
