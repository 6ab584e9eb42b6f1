# SPDX-License-Identifier: Apache-2.0
"""Histograms count as those of Prometheus' client do."""

from __future__ import annotations

import prometheus_client
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from steersman.observe.series import HistogramFamily

BOUNDS = (0.0009765625, 0.125, 1.0, 64.0)
"""Sums of them are exact in any order."""


@given(st.lists(st.tuples(st.booleans(), st.one_of(st.sampled_from(BOUNDS), st.integers(0, 100).map(float)))))
def test_the_text_is_that_of_the_reference_however_many_write(values: list[tuple[bool, float]]) -> None:
    ours, reference = CollectorRegistry(), CollectorRegistry()
    family = HistogramFamily("seconds", "Some.", BOUNDS, ["result"])
    ours.register(family)
    theirs = prometheus_client.Histogram("seconds", "Some.", ["result"], buckets=BOUNDS, registry=reference)
    one, other = family.children(), family.children()
    for is_first, value in values:
        (one if is_first else other)[("ok",)].observe(value)
        theirs.labels("ok").observe(value)
    assert _lines(ours) == _lines(reference)


def _lines(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
