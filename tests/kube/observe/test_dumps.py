# SPDX-License-Identifier: Apache-2.0
"""Cache and queue as text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman import api
from steersman.kube.observe import cache_text, in_slices, queue_text
from steersman.testing import make_node


def test_a_node_is_shown_with_its_sums_and_pods(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web", cpu="1500m")
    cluster.run()
    lines = "".join(cache_text(cluster.scheduler.cache, cluster.scheduler.queue)).splitlines()
    assert lines[0] == "Node name: n1"
    assert "cpu: 1500" in lines[1]
    assert "cpu: 4000" in lines[2]
    assert lines[3] == "Scheduled Pods(number: 1):"
    assert lines[4].startswith("name: web, namespace: default, uid: ")


def test_nominated_pods_are_shown_with_their_node(cluster: MeasuredCluster) -> None:
    cluster.add_pod("low", cpu="4")
    cluster.run()
    cluster.add_pod("high", cpu="4", priority=10)
    cluster.scheduler.schedule_one()
    text = "".join(cache_text(cluster.scheduler.cache, cluster.scheduler.queue))
    assert "Nominated Pods(number: 1):\nname: high, namespace: default" in text


def test_the_queue_is_shown_with_a_summary(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    cluster.run()
    summary, pod = "".join(queue_text(cluster.scheduler.queue)).splitlines()
    assert "unschedulable" in summary.lower()
    assert pod.startswith("name: big, namespace: default, uid: ")


def test_a_node_that_goes_while_the_cache_is_read_is_left_out(cluster: MeasuredCluster) -> None:
    for name in ("n2", "n3"):
        cluster.store.create(make_node(name).capacity(cpu="4").obj())
    pieces = cache_text(cluster.scheduler.cache, cluster.scheduler.queue)
    first = next(pieces)
    cluster.store.delete(api.Node, "n2")
    cluster.store.create(make_node("n4").capacity(cpu="4").obj())
    shown = [line for line in (first + "".join(pieces)).splitlines() if line.startswith("Node name")]
    assert shown == ["Node name: n1", "Node name: n3"]


def test_pods_that_leave_the_queue_while_it_is_read_are_still_shown(cluster: MeasuredCluster) -> None:
    cluster.add_pod("one")
    cluster.add_pod("two")
    pieces = queue_text(cluster.scheduler.queue)
    next(pieces)
    cluster.run()
    assert len(list(pieces)) == 2


def test_long_work_gives_way_to_the_loop() -> None:
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    def work() -> Iterator[int]:
        for number in range(20):
            end = time.perf_counter() + 0.001
            while time.perf_counter() < end:
                pass
            yield number

    async def scenario() -> list[int]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(others())
            collected = await in_slices(work(), seconds=0.002)
            task.cancel()
        return collected

    assert asyncio.run(scenario()) == list(range(20))
    assert len(turns) >= 5
