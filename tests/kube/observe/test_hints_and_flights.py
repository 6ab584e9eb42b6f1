# SPDX-License-Identifier: Apache-2.0
"""Metrics of the queue's inner life: hints of plugins, and what is kept for pods in flight."""

from __future__ import annotations

from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman.testing import make_node


def test_each_hint_counts_by_plugin_event_and_answer(cluster: MeasuredCluster) -> None:
    cluster.add_pod("huge", cpu="64")
    cluster.run()
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).obj())
    cluster.store.create(make_node("n3").capacity(cpu="128", memory="8Gi", pods=20).obj())
    labels = {"plugin": "NodeResourcesFit", "event": "NodeAdd"}
    assert cluster.value("queueing_hint_execution_duration_seconds_count", hint="QueueSkip", **labels) == 1
    assert cluster.value("queueing_hint_execution_duration_seconds_count", hint="Queue", **labels) == 1


def test_pods_in_flight_and_their_events_are_shown_and_vanish(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    queued = cluster.scheduler.queue.pop_nowait()
    assert queued is not None
    cluster.store.create(make_node("n2").capacity(cpu="4", memory="8Gi", pods=20).obj())
    assert cluster.value("inflight_events", event="PodPopped") == 1
    assert cluster.value("inflight_events", event="NodeAdd") == 1
    cluster.scheduler.queue.done(queued.uid)
    assert cluster.value("inflight_events", event="PodPopped") == 0
    assert cluster.value("inflight_events", event="NodeAdd") == 0
