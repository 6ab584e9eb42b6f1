# SPDX-License-Identifier: Apache-2.0
"""Tests of the events that schedulers report about pods."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.framework.pod_info import PodShapes
from steersman.framework.ports import Failure
from steersman.scheduler.host.event_reports import EventReports, PodEvent
from steersman.testing import make_pod

POD = make_pod("web").obj()


class Written(EventReports):
    """Keeps the events that it is told to write."""

    def __init__(self) -> None:
        self.events: list[tuple[str, ...]] = []

    def write_event(self, event: PodEvent) -> None:
        self.events.append((api.key(event.pod), *event[1:6]))


@pytest.fixture
def written() -> Written:
    return Written()


def test_a_bound_pod_is_reported_as_kube_scheduler_reports_it(written: Written) -> None:
    written.report_scheduled(PodShapes().info(POD), "n1")
    note = "Successfully assigned default/web to n1"
    assert written.events == [("default/web", "default-scheduler", "Normal", "Scheduled", "Binding", note)]


def test_a_failed_attempt_is_a_warning_with_the_message_of_its_condition(written: Written) -> None:
    failure = Failure(POD, "Unschedulable", "0/1 nodes are available", None)
    written.report_failed_attempt(failure)
    assert written.events == [
        ("default/web", "default-scheduler", "Warning", "FailedScheduling", "Scheduling", "0/1 nodes are available")
    ]
    assert failure.condition == api.Condition(
        type="PodScheduled", status="False", reason="Unschedulable", message="0/1 nodes are available"
    )


def test_a_preemption_is_reported_by_the_scheduler_of_the_preemptor(written: Written) -> None:
    preemptor = make_pod("urgent").scheduler("other").obj()
    written.report_preempted(POD, preemptor, "Preempted by pod u on node n1")
    assert written.events == [
        ("default/web", "other", "Normal", "Preempted", "Preempting", "Preempted by pod u on node n1")
    ]


@pytest.mark.parametrize(("is_warning", "type"), [(False, "Normal"), (True, "Warning")])
def test_an_event_of_a_plugin_has_the_reason_of_the_plugin(written: Written, is_warning: bool, type: str) -> None:
    written.report_event(POD, "QuotaExceeded", "no more pods", is_warning=is_warning)
    assert written.events == [("default/web", "default-scheduler", type, "QuotaExceeded", "Scheduling", "no more pods")]
