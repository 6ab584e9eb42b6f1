# SPDX-License-Identifier: Apache-2.0
"""Histograms and tallies count as those of Prometheus' client do."""

from __future__ import annotations

import re

import prometheus_client
from hypothesis import given, strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from steersman.kube.observe.series import HistogramFamily, TallyFamily

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


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["ok", "failed"]))))
def test_tallies_read_as_counters_of_the_reference_do(counted: list[tuple[bool, str]]) -> None:
    ours, reference = CollectorRegistry(), CollectorRegistry()
    family = TallyFamily("attempts_total", "Some.", ["result"])
    ours.register(family)
    theirs = prometheus_client.Counter("attempts_total", "Some.", ["result"], registry=reference)
    one, other = family.children(), family.children()
    for is_first, result in counted:
        (one if is_first else other)[(result,)].inc()
        theirs.labels(result).inc()
    assert sorted(_lines(ours)) == sorted(_lines(reference))


def _lines(registry: CollectorRegistry) -> list[str]:
    text = re.sub(r'(le="[0-9]+)\.0"', r'\1"', generate_latest(registry).decode())  # whole bounds as Go writes them
    return [line for line in text.splitlines() if "_created" not in line]
