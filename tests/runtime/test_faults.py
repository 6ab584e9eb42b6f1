# SPDX-License-Identifier: Apache-2.0
"""A status that is no outcome at an extension point becomes a fault in upstream's words, once."""

from __future__ import annotations

import pytest

from steersman.framework.plugin import invalid_score
from steersman.framework.status import Code, Status, error
from steersman.runtime.faults import as_fault, fault


def test_a_fault_names_point_plugin_and_cause() -> None:
    assert fault("Score", "P", ValueError("x")) == Status(
        Code.ERROR, ('running Score plugins: plugin "P" failed with: ValueError: x',), "P"
    )


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("PreFilter", 'running PreFilter plugin "P": boom'),
        ("AddPod", 'running AddPod on PreFilter plugin "P": boom'),
        ("RemovePod", 'running RemovePod on PreFilter plugin "P": boom'),
        ("Filter", 'running "P" filter plugin: boom'),
        ("PreScore", 'running PreScore plugin "P": boom'),
        ("Score", 'running Score plugins: plugin "P" failed with: boom'),
        ("NormalizeScore", 'running Normalize on Score plugins: plugin "P" failed with: boom'),
        ("Reserve", 'running Reserve plugin "P": boom'),
        ("Bind", 'running Bind plugin "P": boom'),
    ],
)
def test_each_point_has_upstreams_words(point: str, text: str) -> None:
    assert fault(point, "P", "boom").message == text


def test_a_score_out_of_bounds_has_upstreams_words() -> None:
    assert invalid_score("P", 101).message == (
        'applying score defaultWeights on Score plugins: plugin "P" returns an invalid score 101, it should in the range of '
        "[0, 100] after normalizing"
    )


def test_a_foreign_status_is_turned_into_a_fault() -> None:
    assert as_fault("Permit", "P", error("boom")) == Status(Code.ERROR, ('running Permit plugin "P": boom',), "P")


def test_a_fault_stays_as_it_is() -> None:
    for point in ("Permit", "Filter", "Score"):
        first = fault(point, "P", "boom")
        assert as_fault(point, "P", first) is first
