# SPDX-License-Identifier: Apache-2.0
"""Durations are read and written as Go does it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steersman.api.go_durations import Duration, DurationError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0s"),
        ("10m", "10m0s"),
        ("600s", "10m0s"),
        ("1h", "1h0m0s"),
        ("90m", "1h30m0s"),
        ("1.5h", "1h30m0s"),
        (".5s", "500ms"),
        ("1.s", "1s"),
        ("+5s", "5s"),
        ("-1.5s", "-1.5s"),
        ("1us", "1µs"),
        ("1µs", "1µs"),
        ("1μs", "1µs"),
        ("1500ns", "1.5µs"),
        ("1h15m30.918273645s", "1h15m30.918273645s"),
        ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
        ("-2562047h47m16.854775808s", "-2562047h47m16.854775808s"),
        ("0.9223372036854775807h", "55m20.413933267s"),
    ],
)
def test_a_duration_has_a_canonical_text(text: str, canonical: str) -> None:
    assert str(Duration.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("abc", 'time: invalid duration "abc"'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5 s", 'time: unknown unit " s" in duration "5 s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1h-5m", 'time: unknown unit "h-" in duration "1h-5m"'),
        ("2562047h47m16.854775808s", 'time: invalid duration "2562047h47m16.854775808s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_a_text_that_is_no_duration_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        Duration.parse(text)
    assert str(caught.value) == message


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_canonical_text_reads_as_the_same_duration_unless_fractions_are_too_long(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == Duration(nanoseconds)


def test_durations_compare_and_zero_is_false() -> None:
    assert Duration.from_seconds(1) < Duration.from_seconds(2)
    assert not Duration(0)
    assert Duration.from_seconds(90).seconds == 90.0
