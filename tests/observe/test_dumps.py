"""Cache and queue as text."""

from __future__ import annotations

from tests.observe.measured_cluster import MeasuredCluster

from steersman.observe import dump_cache, dump_queue


def test_a_node_is_shown_with_its_sums_and_pods(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web", cpu="1500m")
    cluster.run()
    lines = dump_cache(cluster.scheduler.cache, cluster.scheduler.queue).splitlines()
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
    text = dump_cache(cluster.scheduler.cache, cluster.scheduler.queue)
    assert "Nominated Pods(number: 1):\nname: high, namespace: default" in text


def test_the_queue_is_shown_with_a_summary(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    cluster.run()
    summary, pod = dump_queue(cluster.scheduler.queue).splitlines()
    assert "unschedulable" in summary.lower()
    assert pod.startswith("name: big, namespace: default, uid: ")
