# SPDX-License-Identifier: Apache-2.0
"""Percentiles of histograms."""

from __future__ import annotations

import pytest

from steersman.testing.bench.host import BOUNDS, FineMetrics
from steersman.testing.bench.measurement import Reading, quantile

ATTEMPTS = "scheduler_scheduling_attempt_duration_seconds"


def test_only_what_came_between_two_readings_counts() -> None:
    metrics = FineMetrics()
    metrics.attempt_seconds["scheduled", "p"].observe(9.0)
    before = Reading(metrics)
    for _ in range(3):
        metrics.attempt_seconds["scheduled", "p"].observe(0.002)
    (latency,) = Reading(metrics).since(before)
    assert (latency.metric, latency.labels, latency.observations) == (ATTEMPTS, {"result": "scheduled"}, 3)
    assert latency.average == pytest.approx(2.0)
    assert latency.percentiles[99] == pytest.approx(2.0, rel=0.1)


def test_profiles_and_statuses_count_together() -> None:
    metrics = FineMetrics()
    before = Reading(metrics)
    metrics.point_seconds["Filter", "Success", "one"].observe(0.001)
    metrics.point_seconds["Filter", "Unschedulable", "two"].observe(0.001)
    (latency,) = Reading(metrics).since(before)
    assert (latency.labels, latency.observations) == ({"extension_point": "Filter"}, 2)


def test_only_the_wanted_metrics_are_read() -> None:
    metrics = FineMetrics()
    before = Reading(metrics, {ATTEMPTS: None})
    metrics.point_seconds["Filter", "Success", "p"].observe(0.001)
    metrics.attempt_seconds["error", "p"].observe(0.001)
    assert [latency.metric for latency in Reading(metrics, {ATTEMPTS: None}).since(before)] == [ATTEMPTS]


def test_observations_lie_evenly_in_their_bucket() -> None:
    counts = [0] * (len(BOUNDS) + 1)
    counts[0], counts[5] = 2, 2
    assert quantile(0.25, counts) == pytest.approx(BOUNDS[0] / 2)
    assert quantile(0.5, counts) == pytest.approx(BOUNDS[0])
    assert quantile(0.75, counts) == pytest.approx((BOUNDS[4] + BOUNDS[5]) / 2)
    assert quantile(1.0, counts) == pytest.approx(BOUNDS[5])


def test_what_exceeds_all_bounds_is_the_greatest_of_them() -> None:
    assert quantile(0.5, [0] * len(BOUNDS) + [3]) == BOUNDS[-1]
