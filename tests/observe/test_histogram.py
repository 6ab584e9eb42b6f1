# SPDX-License-Identifier: Apache-2.0
"""Histograms count as those of Prometheus' client do."""

from __future__ import annotations

import prometheus_client
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from steersman.observe.histogram import HistogramFamily

BOUNDS = (0.001, 0.002, 1.0, 64.0)


@given(st.lists(st.one_of(st.sampled_from(BOUNDS), st.floats(0, 100))))
def test_the_text_is_that_of_the_reference(values: list[float]) -> None:
    ours, reference = CollectorRegistry(), CollectorRegistry()
    family = HistogramFamily("seconds", "Some.", BOUNDS, ["result"])
    ours.register(family)
    theirs = prometheus_client.Histogram("seconds", "Some.", ["result"], buckets=BOUNDS, registry=reference)
    for value in values:
        family.children[("ok",)].observe(value)
        theirs.labels("ok").observe(value)
    assert _lines(ours) == _lines(reference)


def _lines(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
