# SPDX-License-Identifier: Apache-2.0
"""Pods per second."""

from __future__ import annotations

import pytest

from steersman.testing.bench.measurement import percentile, throughput


def test_the_average_is_all_pods_over_all_the_time() -> None:
    measured = throughput(100.0, [100.0 + 0.1 * number for number in range(1, 201)])
    assert measured.pods == 200
    assert measured.seconds == pytest.approx(20)
    assert measured.average == pytest.approx(10)
    assert measured.percentiles[50] == pytest.approx(10)


def test_percentiles_are_over_seconds() -> None:
    one_a_second = [second + 0.5 for second in range(10)]
    a_hundred_in_the_last = [10 + 0.01 * number for number in range(1, 101)]
    measured = throughput(0.0, one_a_second + a_hundred_in_the_last)
    assert (measured.percentiles[90], measured.percentiles[99]) == (1, 100)


def test_what_is_left_after_the_last_whole_second_is_left_out() -> None:
    moments = [second + 0.5 for second in range(10)] + [10.1] * 500
    assert throughput(0.0, moments).percentiles[99] == 1


def test_intervals_without_pods_are_counted_with_the_next_one() -> None:
    measured = throughput(0.0, [0.5, 3.5, 3.6, *(4.5 + second for second in range(16)), 20.0])
    assert measured.percentiles[50] == pytest.approx(1)
    rates = throughput(0.0, [0.5, 9.9, 9.91, 9.92, 9.93, 10.0])
    assert min(rates.percentiles.values()) == pytest.approx(5 / 9)


def test_a_short_run_is_cut_into_ten() -> None:
    moments = [0.005] + [0.01 * number for number in range(1, 10)] + [0.1]
    measured = throughput(0.0, moments)
    assert measured.percentiles[50] == pytest.approx(100)
    assert measured.percentiles[99] == pytest.approx(200)


def test_nothing_scheduled_is_no_throughput() -> None:
    measured = throughput(0.0, [])
    assert (measured.pods, measured.average, measured.percentiles) == (0, 0.0, {})


@pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (90, 4.0), (99, 4.0), (25, 1.0)])
def test_a_percentile_is_the_smallest_value_that_the_given_share_does_not_exceed(percent: int, expected: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], percent) == expected
