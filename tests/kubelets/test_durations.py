# SPDX-License-Identifier: Apache-2.0
"""Durations as users write them, and what distributions give."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.cluster.kubelets.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("0.5", 0.5), ("1m30s", 90), ("250ms", 0.25), (7, 7), ("0", 0)]
)
def test_a_constant_is_the_same_on_all_occasions(text: str | float, seconds: float) -> None:
    assert parse_duration(text).seconds("one") == parse_duration(text).seconds("another") == seconds


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("exponential(mean=30)", 30),
        ("exponential(30)", 30),
        ("uniform(10,60)", 35),
        ("uniform(high=1m, low=10s)", 35),
        ("normal(mean=30, sd=5)", 30),
        ("lognormal(median=30, sigma=0.5)", 34),
    ],
)
def test_distributions_have_their_mean(text: str, mean: float) -> None:
    duration = parse_duration(text)
    drawn = [duration.seconds(f"pod-{number}") for number in range(2000)]
    assert sum(drawn) / len(drawn) == pytest.approx(mean, rel=0.08)
    assert len(set(drawn)) > 1900
    assert min(drawn) >= 0


def test_the_same_occasion_gives_the_same() -> None:
    assert parse_duration("uniform(0,1)").seconds("1/a") == parse_duration("uniform(0,1)").seconds("1/a")
    assert parse_duration("uniform(0,1)").seconds("1/a") != parse_duration("uniform(0,1)").seconds("2/a")


def test_no_draw_is_negative_or_without_end() -> None:
    wide, long = parse_duration("normal(mean=1, sd=1000)"), parse_duration("lognormal(median=1, sigma=100000)")
    for number in range(200):
        assert wide.seconds(str(number)) >= 0
        assert 0 <= long.seconds(str(number)) < 1e11


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "-1",
        "nan",
        "inf",
        "",
        "uniform(1)",
        "uniform(1,2,3)",
        "uniform(1, low=2)",
        "poisson(3)",
        "exponential(men=1)",
        "exponential(mean=1",
        "exponential(-3)",
        "1e400",
        "1 fortnight",
    ],
)
def test_what_is_no_duration_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(InputError, match=r'is not a number of seconds .* use a number of seconds such as "30"'):
        parse_duration(text)


def test_a_uniform_distribution_begins_at_its_lower_end() -> None:
    with pytest.raises(InputError, match="write the smaller number first"):
        parse_duration("uniform(60, 10)")
