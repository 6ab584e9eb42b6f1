# SPDX-License-Identifier: Apache-2.0
"""Weights: the score section goes before MultiPoint, none means 1, and the sum must not overflow."""

from __future__ import annotations

import pytest
from tests.config.documents import with_plugins
from tests.config.failures import build_text

from steersman.config import effective_profiles, load

_OVERFLOW = (
    "initializing profiles: creating profile for scheduler name default-scheduler: "
    "score plugins: total score of Score plugins could overflow"
)


def _weights(plugins: str) -> dict[str, int]:
    return dict(effective_profiles(load(with_plugins(plugins)))[0].score_weights)


def test_the_score_section_decides_before_multi_point() -> None:
    weights = _weights("score: {enabled: [{name: NodeAffinity, weight: 7}]}\n")
    assert (weights["NodeAffinity"], weights["TaintToleration"]) == (7, 3)


def test_no_weight_means_one() -> None:
    assert _weights("score: {enabled: [{name: TaintToleration}]}\n")["TaintToleration"] == 1


def test_the_largest_weight_is_fine() -> None:
    assert _weights("score: {enabled: [{name: NodeAffinity, weight: 2147483647}]}\n")["NodeAffinity"] == 2147483647


def test_a_negative_weight_that_is_summed_first_overflows_the_check() -> None:
    assert build_text(with_plugins("score: {enabled: [{name: NodeAffinity, weight: -1}]}\n")) == _OVERFLOW


@pytest.mark.parametrize("weight", [-1, -3])
def test_a_negative_weight_behind_enough_positive_ones_passes(weight: int) -> None:
    weights = _weights(f"multiPoint: {{enabled: [{{name: ImageLocality, weight: {weight}}}]}}\n")
    assert weights["ImageLocality"] == weight
