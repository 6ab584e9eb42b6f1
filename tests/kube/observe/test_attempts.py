# SPDX-License-Identifier: Apache-2.0
"""What is recorded of attempts, however they end."""

from __future__ import annotations

from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Store, feed
from steersman.framework import ReservePlugin, Status
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import error
from steersman.kube.observe import AttemptMetrics, Metrics
from steersman.kube.observe.attempt_metrics import attempts_label
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.scheduler.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.scheduler.queue import QueuedPodInfo
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod

PROFILE = "default-scheduler"


def test_a_bound_pod_is_a_scheduled_attempt(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    assert [type(decision) for decision in cluster.run()] == [Scheduled]
    assert cluster.value("schedule_attempts_total", result="scheduled", profile=PROFILE) == 1
    assert cluster.value("scheduling_attempt_duration_seconds_count", result="scheduled", profile=PROFILE) == 1
    assert cluster.value("scheduling_algorithm_duration_seconds_count") == 1
    assert cluster.value("pod_scheduling_attempts_sum") == 1


def test_a_pod_that_does_not_fit_is_an_unschedulable_attempt(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    assert [type(decision) for decision in cluster.run()] == [Unschedulable]
    assert cluster.value("schedule_attempts_total", result="unschedulable", profile=PROFILE) == 1
    assert cluster.value("schedule_attempts_total", result="scheduled", profile=PROFILE) is None
    assert cluster.value("pod_scheduling_attempts_count") == 0


def test_the_time_to_a_node_counts_from_the_first_attempt(cluster: MeasuredCluster) -> None:
    cluster.add_pod("first", cpu="4")
    cluster.run()
    cluster.add_pod("second", cpu="4")
    cluster.run()
    cluster.store.delete(type(cluster.scheduler.pods["default/first"]), "default/first")
    cluster.wait(70)
    cluster.run()
    assert cluster.value("pod_scheduling_sli_duration_seconds_sum", attempts="2") == 70
    assert cluster.value("pod_scheduling_attempts_sum") == 3


def test_many_attempts_share_a_label() -> None:
    assert [attempts_label(number) for number in (1, 14, 15, 99)] == ["1", "14", "15+", "15+"]


class Broken(ReservePlugin):
    """Fails whenever it is asked."""

    name = "Broken"

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return error("no")

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Nothing was reserved."""


def test_a_broken_plugin_is_an_error_with_the_plugin_s_status() -> None:
    cluster = MeasuredCluster([Broken])
    cluster.add_pod("web")
    cluster.run()
    assert cluster.value("schedule_attempts_total", result="error", profile=PROFILE) == 1
    points = "framework_extension_point_duration_seconds_count"
    assert cluster.value(points, extension_point="Reserve", status="Error", profile=PROFILE) == 1
    assert cluster.value(points, extension_point="Unreserve", status="Success", profile=PROFILE) == 1


def test_nothing_is_kept_of_attempts_that_have_ended(cluster: MeasuredCluster) -> None:
    for number in range(6):
        cluster.add_pod(f"web-{number}")
    cluster.run()
    assert cluster.measuring.open_attempts == 0
    assert cluster.value("goroutines", operation="binding") == 0


def test_a_pod_that_is_dropped_is_no_attempt(cluster: MeasuredCluster) -> None:
    cluster.add_pod("leaving")
    pod = cluster.scheduler.pods["default/leaving"]
    info = cluster.scheduler.cache.shapes.info(pod)
    cluster.scheduler.cache.assume(info, "n1")
    cluster.run()
    assert cluster.measuring.open_attempts == 0
    assert cluster.value("scheduling_algorithm_duration_seconds_count") == 0


def test_a_cycle_that_was_cancelled_is_an_error(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    queued = cluster.scheduler.queue.pop_nowait()
    assert isinstance(queued, QueuedPodInfo)
    info = cluster.scheduler.cache.shapes.info(queued.pod)
    cluster.measuring.begins()
    cluster.measuring.failed(queued, Failed(info, PROFILE, error("cancelled")))
    assert cluster.value("schedule_attempts_total", result="error", profile=PROFILE) == 1
    assert cluster.measuring.open_attempts == 0


def test_a_measured_scheduler_decides_as_the_plain_one_does() -> None:
    placements = []
    for instruments in (None, AttemptMetrics(Metrics(), ManualClock())):
        store, clock = Store(ManualClock()), ManualClock()
        tasks = Tasks(clock)
        options = SchedulerOptions(instruments=instruments)
        scheduler = Scheduler(clock, SeededRng(3), EmbeddedWriter(store, clock), tasks.spawn, options)
        feed(store, scheduler.ingest)
        for number in range(5):
            store.create(make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=20).obj())
        for number in range(30):
            store.create(make_pod(f"web-{number}").req(cpu="700m").obj())
        while scheduler.schedule_one() is not None:
            tasks.run_ready()
        placements.append({name: pod.spec.node_name for name, pod in store.objects(api.Pod).items()})
        tasks.close()
    plain, measured = placements
    assert plain == measured
    assert len(set(plain.values())) == 6
