# SPDX-License-Identifier: Apache-2.0
"""How often plugins were asked; plugins that are called one by one are timed one by one."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman.framework import (
    Code,
    FilterPlugin,
    PermitPlugin,
    PermitResult,
    PreBindPlugin,
    ScorePlugin,
    Status,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import unschedulable
from steersman.kube.observe import plugin_metrics
from steersman.kube.observe.attempt_metrics import SAMPLED_SHARE
from steersman.kube.observe.plugin_metrics import status_label
from steersman.testing import is_in, make_node, make_pod

PROFILE = "default-scheduler"
PLUGINS = "plugin_execution_duration_seconds_count"
POINTS = "framework_extension_point_duration_seconds_count"


# -- how often ---------------------------------------------------------------------------------------------------------


def asked(cluster: MeasuredCluster, plugin: str, point: str) -> float | None:
    return cluster.value("plugin_evaluation_total", plugin=plugin, extension_point=point, profile=PROFILE)


def test_pre_filters_are_asked_once_per_attempt_and_filters_once_per_node(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).obj())
    for index in range(3):
        cluster.add_pod(f"web-{index}")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreFilter") == 3
    assert asked(cluster, "NodeResourcesFit", "Filter") == 6


def test_plugins_with_nothing_to_do_do_not_count(cluster: MeasuredCluster) -> None:
    cluster.add_pod("plain")
    cluster.run()
    assert asked(cluster, "NodePorts", "PreFilter") is None
    cluster.store.create(make_pod("port").host_port(80).obj())
    cluster.run()
    assert asked(cluster, "NodePorts", "PreFilter") == 1


def test_counts_go_on_from_scrape_to_scrape(cluster: MeasuredCluster) -> None:
    for index in range(2):
        cluster.add_pod(f"web-{index}")
        cluster.run()
        assert asked(cluster, "NodeResourcesFit", "PreFilter") == index + 1


def test_no_attempt_is_lost_when_there_are_many_templates(
    cluster: MeasuredCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_metrics, "MAX_TEMPLATES", 2)
    monkeypatch.setattr(plugin_metrics, "RECHECK_ATTEMPTS", 2)
    for index in range(12):
        cluster.add_pod(f"web-{index}", cpu=f"{index % 4 + 1}m")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreFilter") == 12


def test_pre_scores_are_asked_once_per_attempt_and_scores_once_per_node_that_fits(cluster: MeasuredCluster) -> None:
    for name in ("n2", "n3"):
        cluster.store.create(make_node(name).capacity(cpu="4", memory="8Gi", pods=20).obj())
    cluster.store.create(make_node("full").capacity(cpu="1m", memory="8Gi", pods=20).obj())
    for index in range(2):
        cluster.add_pod(f"web-{index}")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreScore") == 2
    assert asked(cluster, "NodeResourcesFit", "Score") == 6
    assert asked(cluster, "ImageLocality", "PreScore") is None, "it has no PreScore"
    assert asked(cluster, "ImageLocality", "Score") == 6


def test_where_one_node_fits_nothing_is_scored(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.run()
    assert asked(cluster, "NodeResourcesFit", "PreFilter") == 1
    assert asked(cluster, "NodeResourcesFit", "PreScore") is None
    assert asked(cluster, "NodeResourcesFit", "Score") is None


def test_plugins_with_nothing_to_score_do_not_count(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).label("disk", "ssd").obj())
    cluster.add_pod("plain")
    cluster.run()
    assert asked(cluster, "NodeAffinity", "PreScore") is None
    assert asked(cluster, "NodeAffinity", "Score") is None
    cluster.store.create(make_pod("picky").preferred_node_affinity(10, is_in("disk", "ssd")).obj())
    cluster.run()
    assert asked(cluster, "NodeAffinity", "PreScore") == 1
    assert asked(cluster, "NodeAffinity", "Score") == 2


# -- how long ----------------------------------------------------------------------------------------------------------


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


def test_plugins_are_timed_in_the_cycles_whose_draw_is_below_a_tenth() -> None:
    draws = {"latest": 0.0}
    cluster = MeasuredCluster([Refusing], lambda: draws["latest"])
    for number, draw in enumerate((0.0, SAMPLED_SHARE - 0.01, SAMPLED_SHARE, 0.99)):
        draws["latest"] = draw
        cluster.add_pod(f"web-{number}")
        cluster.scheduler.schedule_one()
    assert cluster.value(PLUGINS, plugin="Refusing", extension_point="Permit", status="Unschedulable") == 2


def points(cluster: MeasuredCluster) -> dict[tuple[str, str], int]:
    """Return the observations by extension point and status."""
    cluster.exposition.refresh()
    return {
        (point, status): sum(series.counts)
        for (point, status, _), series in cluster.metrics.point_seconds.items()
        if any(series.counts)
    }


def test_a_bound_pod_is_counted_at_every_extension_point_that_it_passes(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).obj())
    for name in ("web-0", "web-1", "web-2"):
        cluster.add_pod(name)
    cluster.run()
    passed = ("Sign", "PreEnqueue", "PreFilter", "Filter", "PreScore", "Score")
    bound = ("Reserve", "Permit", "PreBind", "Bind", "PostBind")
    expected = {(point, "Success"): 3 for point in (*passed, *bound)} | {("PreBindPreFlight", "Skip"): 3}
    assert points(cluster) == expected
    assert points(cluster) == expected, "a second scrape adds nothing"


def test_nothing_is_scored_where_one_node_fits(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.run()
    assert not {"PreScore", "Score"} & {point for point, _ in points(cluster)}


def test_a_pod_that_pre_filter_refuses_is_not_filtered(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_pod("stateful").pvc("missing").obj())
    cluster.run()
    found = points(cluster)
    assert found["PreFilter", "UnschedulableAndUnresolvable"] == 1
    assert not any(point == "Filter" for point, _ in found)


def test_a_pod_that_is_refused_late_has_passed_the_points_before() -> None:
    cluster = MeasuredCluster([Refusing])
    cluster.add_pod("web")
    cluster.scheduler.schedule_one()
    found = points(cluster)
    assert found["Reserve", "Success"] == found["Permit", "Unschedulable"] == found["Unreserve", "Success"] == 1
    assert not any(point in ("PreBind", "Bind", "PostBind") for point, _ in found)


class Heavy(FilterPlugin, ScorePlugin):
    """A plugin without a vector form, asked node by node."""

    name = "Heavy"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return unschedulable("not here") if node.name == "n3" else None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 1


class Broken(FilterPlugin):
    name = "Broken"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        raise ValueError("cannot read the node")


def test_a_filter_that_breaks_is_counted_as_an_error() -> None:
    cluster = MeasuredCluster([Broken])
    cluster.add_pod("web")
    cluster.scheduler.schedule_one()
    found = points(cluster)
    assert found["PreFilter", "Success"] == found["Filter", "Error"] == 1


def executions(cluster: MeasuredCluster, point: str) -> dict[str, int]:
    """Return the timed executions by plugin."""
    found: Counter[str] = Counter()
    for (plugin, at, _), series in cluster.metrics.plugin_seconds.items():
        if at == point:
            found[plugin] += sum(series.counts)
    return dict(found)


def test_vector_evaluation_attributes_its_time_to_plugins() -> None:
    cluster = MeasuredCluster()
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).obj())
    cluster.store.create(
        make_pod("web")
        .req(cpu="1")
        .label("app", "web")
        .spread("zone", when="ScheduleAnyway", selector={"app": "web"})
        .obj()
    )
    cluster.run()
    assert executions(cluster, "PreFilter")["NodeResourcesFit"] == 1
    assert executions(cluster, "Filter")["NodeResourcesFit"] == executions(cluster, "Filter")["TaintToleration"] == 1
    assert executions(cluster, "Score")["NodeResourcesBalancedAllocation"] == 1
    assert executions(cluster, "Score")["PodTopologySpread"] == 1
    assert executions(cluster, "PreEnqueue")["SchedulingGates"] == 1


def test_plugins_without_a_vector_form_are_timed_node_by_node() -> None:
    cluster = MeasuredCluster([Heavy])
    for name in ("n2", "n3"):
        cluster.store.create(make_node(name).capacity(cpu="4", memory="8Gi", pods=20).obj())
    cluster.add_pod("web")
    cluster.run()
    assert executions(cluster, "Filter")["Heavy"] == 3
    assert cluster.value(PLUGINS, plugin="Heavy", extension_point="Filter", status="Unschedulable") == 1
    assert executions(cluster, "Score")["Heavy"] == 2


def test_a_cycle_that_is_not_sampled_times_no_plugin() -> None:
    cluster = MeasuredCluster([Heavy], chance=lambda: 0.5)
    cluster.add_pod("web")
    cluster.run()
    assert not cluster.metrics.plugin_seconds


def test_answers_of_every_form_have_a_status() -> None:
    rejected = unschedulable("full")
    answers = [None, True, rejected, (None, rejected), (None, None), PermitResult(Status(Code.WAIT), 5)]
    labels = [status_label(answer) for answer in answers]
    assert labels == ["Success", "Success", "Unschedulable", "Unschedulable", "Success", "Wait"]
