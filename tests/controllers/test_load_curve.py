# SPDX-License-Identifier: Apache-2.0
"""Load curves in annotations."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.cluster.controllers.load_curve import load_curve, parse_curve


def test_a_load_holds_from_its_time_on() -> None:
    curve = parse_curve("0s=200m, 5m=900m, 1h10m=3")
    assert [curve.load_at(second) for second in (0, 299, 300, 4199, 4200)] == [200, 200, 900, 900, 3000]
    assert curve.end == 4200


def test_before_the_first_time_the_first_load_holds() -> None:
    assert parse_curve("10s=2").load_at(0) == 2000


def test_one_metric_may_have_a_load_of_its_own() -> None:
    annotations = {"steersman.dev/load": "0s=1", "steersman.dev/load-memory": "0s=1Gi"}
    memory, cpu = load_curve(annotations, "memory"), load_curve(annotations, "cpu")
    assert memory is not None
    assert memory.load_at(0) == 1024**3 * 1000
    assert cpu is not None
    assert cpu.load_at(0) == 1000
    assert load_curve({}, "cpu") is None


@pytest.mark.parametrize("text", ["", "5m", "5x=1", "5m=many", "=1"])
def test_what_is_no_curve_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_curve({"steersman.dev/load": text}, "cpu")
    assert "metadata.annotations[steersman.dev/load]" in str(refusal.value)
