# SPDX-License-Identifier: Apache-2.0
"""Plugins that are called one by one are timed one by one."""

from __future__ import annotations

import asyncio

from tests.observe.measured_cluster import MeasuredCluster

from steersman.framework import Code, PermitPlugin, PermitResult, PreBindPlugin, Status
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import unschedulable
from steersman.observe.attempt_metrics import SAMPLE_EVERY
from steersman.observe.plugin_timing import status_label

PROFILE = "default-scheduler"
PLUGINS = "plugin_execution_duration_seconds_count"
POINTS = "framework_extension_point_duration_seconds_count"


class SlowDisk(PreBindPlugin):
    """Takes five seconds of virtual time."""

    name = "SlowDisk"

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        await asyncio.sleep(5)
        return None


class Refusing(PermitPlugin):
    """Lets nobody in."""

    name = "Refusing"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> PermitResult:
        return PermitResult(unschedulable("closed"))


def test_a_coroutine_is_timed_to_its_end() -> None:
    cluster = MeasuredCluster([SlowDisk])
    cluster.add_pod("web")
    cluster.run()
    assert cluster.value("goroutines", operation="binding") == 1
    assert cluster.value(POINTS, extension_point="PreBind", status="Success", profile=PROFILE) is None
    while cluster.tasks:
        cluster.tasks.advance(cluster.clock.monotonic() + 10)
    assert cluster.value("goroutines", operation="binding") == 0
    assert cluster.value(POINTS, extension_point="PreBind", status="Success", profile=PROFILE) == 1
    assert cluster.value(PLUGINS, plugin="SlowDisk", extension_point="PreBind", status="Success") == 1
    assert cluster.value("pod_scheduling_sli_duration_seconds_sum", attempts="1") == 5


class Waiting(PermitPlugin):
    """Lets nobody in, but after a while."""

    name = "Waiting"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> PermitResult:
        return PermitResult(Status(Code.WAIT), 60)


def test_waiting_for_permission_ends_with_the_verdict() -> None:
    cluster = MeasuredCluster([Waiting])
    for name in ("admitted", "late"):
        cluster.add_pod(name)
        cluster.scheduler.schedule_one()
    cluster.tasks.run_ready()
    for waiting in cluster.scheduler.waiting_pods:
        if waiting.pod.name == "admitted":
            waiting.allow("Waiting")
    cluster.tasks.run_ready()
    assert cluster.value("permit_wait_duration_seconds_count", result="Success") == 1
    cluster.tasks.advance(cluster.clock.monotonic() + 61)
    assert cluster.value("permit_wait_duration_seconds_count", result="Unschedulable") == 1
    cluster.tasks.close()


def test_a_refusal_shows_in_the_status() -> None:
    cluster = MeasuredCluster([Refusing])
    cluster.add_pod("web")
    cluster.scheduler.schedule_one()
    assert cluster.value(POINTS, extension_point="Permit", status="Unschedulable", profile=PROFILE) == 1
    assert cluster.value("schedule_attempts_total", result="unschedulable", profile=PROFILE) == 1


def test_a_tenth_of_the_calls_is_recorded() -> None:
    cluster = MeasuredCluster([Refusing])
    for number in range(2 * SAMPLE_EVERY):
        cluster.add_pod(f"web-{number}")
        cluster.scheduler.schedule_one()
    assert cluster.value(PLUGINS, plugin="Refusing", extension_point="Permit", status="Unschedulable") == 2


def test_filter_and_score_are_timed_as_phases(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.add_pod("big", cpu="9")
    cluster.run()
    assert cluster.value(POINTS, extension_point="Filter", status="Success", profile=PROFILE) == 2
    assert cluster.value(POINTS, extension_point="Score", status="Success", profile=PROFILE) == 1


def test_answers_of_every_form_have_a_status() -> None:
    rejected = unschedulable("full")
    answers = [None, True, rejected, (None, rejected), (None, None), PermitResult(Status(Code.WAIT), 5)]
    labels = [status_label(answer) for answer in answers]
    assert labels == ["Success", "Success", "Unschedulable", "Unschedulable", "Success", "Wait"]
