# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals, against values from printed tables."""

from __future__ import annotations

import random

import pytest

from steersman.simulation.results.confidence import estimate, t_quantile


@pytest.mark.parametrize(
    ("freedom", "printed"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (10, 2.228), (29, 2.045), (49, 2.010), (120, 1.980)],
)
def test_quantiles_are_those_of_printed_tables(freedom: int, printed: float) -> None:
    assert t_quantile(freedom) == pytest.approx(printed, abs=5e-4)


def test_with_many_samples_the_distribution_is_the_normal_one() -> None:
    assert t_quantile(100_000) == pytest.approx(1.960, abs=2e-3)


def test_an_interval_lies_around_the_mean() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0])
    assert (found.mean, found.count) == (2.5, 4)
    assert found.margin == pytest.approx(3.182 * 1.2909944 / 2, rel=1e-3)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 2.5 < found.high


def test_a_single_value_has_no_interval() -> None:
    found = estimate([7.0])
    assert (found.mean, found.margin, found.low, found.high) == (7.0, None, None, None)


def test_equal_values_leave_no_doubt() -> None:
    assert (estimate([0.1] * 7).mean, estimate([0.1] * 7).margin) == (0.1, 0.0)


def test_the_order_of_the_values_does_not_matter_to_the_last_bit() -> None:
    values = [random.Random(seed).random() * 10**seed for seed in range(-8, 9)]
    assert estimate(values) == estimate(values[::-1]) == estimate(sorted(values))


def test_intervals_hold_the_true_mean_about_so_often_as_they_say() -> None:
    rng = random.Random(1)
    held = 0
    for _ in range(2000):
        found = estimate([rng.gauss(5.0, 2.0) for _ in range(6)])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 5.0 <= found.high
    assert 0.935 <= held / 2000 <= 0.965
