# SPDX-License-Identifier: Apache-2.0
"""The cache against what the API server shows."""

from __future__ import annotations

import asyncio

import pytest
from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman import api
from steersman.kube.observe import CacheComparison, Mismatch, debugger_snapshot
from steersman.kube.observe.debugger import difference
from steersman.testing import make_node, make_pod


def compared(cluster: MeasuredCluster) -> CacheComparison:
    scheduler = cluster.scheduler
    nodes, pods = cluster.store.objects(api.Node).values(), cluster.store.objects(api.Pod).values()
    return asyncio.run(debugger_snapshot(nodes, pods, scheduler.cache, scheduler.queue, scheduler.profiles).compare())


@pytest.mark.parametrize(
    ("actual", "cached", "expected"),
    [
        (["foo", "bar"], ["bar", "foo", "foobar"], Mismatch((), ("foobar",))),
        (["foo", "bar", "foobar"], ["bar", "foo"], Mismatch(("foobar",), ())),
        (["foo", "bar", "foobar"], ["bar", "foobar", "foo"], Mismatch()),
        (["foo", "foo"], ["foo", "bar"], Mismatch(("foo",), ("bar",))),
    ],
)
def test_what_one_side_lacks_is_named(actual: list[str], cached: list[str], expected: Mismatch) -> None:
    assert difference(actual, cached) == expected


def test_placed_pending_gated_and_foreign_pods_are_no_mismatch(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.add_pod("big", cpu="9")
    cluster.store.create(make_pod("held").gate("wait").obj())
    cluster.store.create(make_pod("foreign").scheduler("other").obj())
    cluster.run()
    cluster.add_pod("new")
    assert compared(cluster).is_clean
    assert compared(cluster).text() == ""


def test_a_pod_whose_attempt_is_under_way_is_no_mismatch(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.scheduler.queue.pop_nowait()
    assert compared(cluster).is_clean


def test_what_the_watch_did_not_deliver_is_missed(cluster: MeasuredCluster) -> None:
    scheduler = cluster.scheduler
    nodes = [*cluster.store.objects(api.Node).values(), make_node("unseen").obj()]
    lost = make_pod("lost").node("n1").obj()
    found = asyncio.run(
        debugger_snapshot(nodes, [lost], scheduler.cache, scheduler.queue, scheduler.profiles).compare()
    )
    assert found.nodes == Mismatch(missed=("unseen",))
    assert found.pods == Mismatch(missed=(lost.metadata.uid,))
    assert found.text().startswith("Cache mismatch: missedNodes=['unseen'] redundantNodes=[]\n")


def test_what_the_api_server_no_longer_has_is_redundant(cluster: MeasuredCluster) -> None:
    pod = cluster.add_pod("web")
    cluster.run()
    scheduler = cluster.scheduler
    found = asyncio.run(debugger_snapshot([], [], scheduler.cache, scheduler.queue, scheduler.profiles).compare())
    assert found == CacheComparison(Mismatch(redundant=("n1",)), Mismatch(redundant=(pod.metadata.uid,)))
