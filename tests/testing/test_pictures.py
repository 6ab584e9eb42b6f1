# SPDX-License-Identifier: Apache-2.0
"""When a picture of a cluster is finished, so that two of them can be compared: `tests/e2e/pictures.py`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.pictures import Picture

GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
BOUND = {"type": "PodScheduled", "status": "True"}
EVENT = {"reason": "Scheduled", "regarding": {"name": "web", "namespace": "default"}}


def of(*, events: tuple[dict[str, Any], ...] = (), **pod: Any) -> Picture:
    plain = {
        "node": "",
        "scheduler": "default-scheduler",
        "gates": [],
        "nominated": "",
        "conditions": [],
        "untried": False,
    }
    return Picture(pods={"web": {**plain, **pod}}, events=list(events), claims={}, volumes={}, groups={})


@pytest.mark.parametrize(
    ("picture", "is_decided"),
    [
        (of(), False),
        (of(conditions=[UNSCHEDULABLE]), True),
        (of(nominated="n1"), True),
        (of(node="n1", conditions=[BOUND], events=(EVENT,)), True),
        (of(conditions=[GATED], gates=["example.com/later"]), True),
        (of(untried=True), True),
    ],
)
def test_a_pod_has_a_node_with_its_event_or_a_reason(picture: Picture, is_decided: bool) -> None:
    assert picture.decided() is is_decided


def test_a_pod_whose_event_is_still_on_its_way_is_not_finished() -> None:
    assert not of(node="n1", conditions=[BOUND]).decided()


def test_a_pod_that_has_lost_its_last_gate_is_not_finished_by_the_condition_of_before() -> None:
    assert not of(conditions=[GATED]).decided()


def test_a_pod_that_a_test_has_bound_itself_has_no_event() -> None:
    assert of(node="n1", conditions=[BOUND], scheduler="somebody-else").decided()
