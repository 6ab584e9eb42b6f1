# SPDX-License-Identifier: Apache-2.0
"""Regular expressions match as upstream's engine matches them, and none takes forever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steersman.api.cel import CelError
from steersman.api.cel.regex import compile_pattern

#: Random patterns with random texts, and what the package regexp of Go 1.26 said about them.
RECORDED = Path(__file__).parent / "data" / "go_regexp.jsonl"
CASES = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("outcome", ["matches", "error"])
def test_patterns_do_what_upstream_recorded(outcome: str) -> None:
    cases = [case for case in CASES if outcome in case]
    assert len(cases) > 200
    for case in cases:
        assert answer(case["pattern"], case["text"]) == case[outcome], case


def answer(pattern: str, text: str) -> list[str] | str:
    try:
        return compile_pattern(pattern).find_all(text)
    except CelError as error:
        return str(error)


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


@pytest.mark.parametrize("name", ["Lu", "lu", "Uppercase_Letter", "uppercase letter", "LC", "Assigned", "Any", "Latin"])
def test_unicode_classes_have_all_of_upstreams_names(name: str) -> None:
    assert compile_pattern(f"\\p{{{name}}}").find_all("A") == ["A"]
    assert compile_pattern(f"[\\p{{{name}}}]").find_all("A") == ["A"]
    assert not compile_pattern(f"\\P{{{name}}}").search("A")


def test_what_is_unassigned_is_known_outside_of_brackets() -> None:
    assert compile_pattern(r"\p{Cn}").find_all("a\u0378") == ["\u0378"]
    assert compile_pattern(r"\p{C}").find_all("a\u0378\x00") == ["\u0378", "\x00"]
    with pytest.raises(CelError, match="not supported by Steersman"):
        compile_pattern(r"[\p{Cn}]")


def test_places_between_the_bytes_of_a_character_are_none() -> None:
    assert not compile_pattern(r"\B").search("aαa")
    assert compile_pattern(r"\B").find_all("αα") == ["", "", ""]


def test_texts_and_matches_beyond_ascii_are_whole_characters() -> None:
    assert compile_pattern("é+|.").find_all("éé𝄞x") == ["éé", "𝄞", "x"]


def test_groups_may_nest_as_deep_as_upstreams() -> None:
    assert compile_pattern("(" * 999 + "a" + ")" * 999).search("a")
    with pytest.raises(CelError, match="expression nests too deeply"):
        compile_pattern("(" * 1000 + "a" + ")" * 1000)


@pytest.mark.parametrize("pattern", ["a{1000}" * 100, "\\pL" * 200, "(?i)[\\pL]" * 800])
def test_enormous_patterns_are_refused_before_they_are_compiled(pattern: str) -> None:
    with pytest.raises(
        CelError, match=r"regular expression is too large: it has about \d+ instructions, at most 50000"
    ):
        compile_pattern(pattern)


def test_a_match_that_may_take_too_many_steps_is_refused() -> None:
    with pytest.raises(CelError, match=r"a regular expression of 907 instructions on a text of 40000 bytes may take"):
        compile_pattern("[ab]*a[ab]{900}c").search("ab" * 20_000)
