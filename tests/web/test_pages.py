# SPDX-License-Identifier: Apache-2.0
"""The pages about pods, nodes and what waits, and how the API refuses."""

from __future__ import annotations

import math

import msgspec
import pytest
from tests.web.looked_at import LookedAt

from steersman import api
from steersman.api import timestamps
from steersman.explain.pending_causes import PendingCauses
from steersman.sandbox.web import EventRow
from steersman.testing import Harness, make_node, make_pod


def gpu_cluster() -> LookedAt:
    pools = {"a100": "8", "t4": "1"}
    nodes = [
        make_node(f"{pool}-{i}")
        .capacity(cpu="32", memory="64Gi", pods="50", **{"nvidia.com/gpu": count})
        .label("steersman.dev/pool", pool)
        for pool, count in pools.items()
        for i in range(2)
    ]
    harness = Harness(nodes=nodes)
    shown = LookedAt(harness)
    for i in range(2):
        harness.add(
            make_pod(f"train-{i}").req(cpu="1", **{"nvidia.com/gpu": "8"}).node_selector("steersman.dev/pool", "a100")
        )
    for i in range(3):
        harness.add(
            make_pod(f"more-{i}").req(cpu="1", **{"nvidia.com/gpu": "8"}).node_selector("steersman.dev/pool", "a100")
        )
    harness.add(make_pod("gated").req(cpu="1").gate("example.com/later"))
    harness.run()
    return shown


def test_waiting_pods_are_grouped_by_what_stands_in_their_way() -> None:
    report = gpu_cluster().get("pending")
    assert report["total"] == 4
    groups = {group["title"]: group for group in report["groups"]}
    assert set(groups) == {"Insufficient nvidia.com/gpu in pool a100", "Held back by SchedulingGates"}
    group = groups["Insufficient nvidia.com/gpu in pool a100"]
    assert group["count"] == 3
    assert group["code"] == "InsufficientResources"
    assert "0/4 nodes are available" in group["message"]
    assert group["plugins"] == ["NodeAffinity", "NodeResourcesFit"]
    assert {waker["plugin"] for waker in group["wakers"]} == {"NodeAffinity", "NodeResourcesFit"}
    assert any("deleted" in event for waker in group["wakers"] for event in waker["events"])
    assert [pod["pod"] for pod in group["pods"]] == ["default/more-0", "default/more-1", "default/more-2"]
    assert group["nextAttempt"] is not None
    assert groups["Held back by SchedulingGates"]["nextAttempt"] is None


def test_pods_that_are_alike_share_the_search_for_their_cause() -> None:
    shown = gpu_cluster()
    causes, queue = PendingCauses(shown.harness.scheduler), shown.harness.scheduler.queue
    waiting = [queue.get(f"default/more-{number}") for number in range(3)]
    found = [causes.cause_of(queued) for queued in waiting if queued is not None]
    assert len(found) == 3
    assert all(cause is found[0] for cause in found)


def test_a_pod_that_waits_says_why_and_what_happened() -> None:
    shown = gpu_cluster()
    page = shown.get("pods/default/more-0")
    assert page["place"] == "unschedulable"
    assert page["cause"]["code"] == "InsufficientResources"
    kinds = [entry["kind"] for entry in page["timeline"]]
    assert kinds[0] == "created"
    assert "attempt" in kinds
    assert "unschedulable" in kinds
    assert page["requests"]["nvidia.com/gpu"] == 8
    assert "nvidia.com/gpu: '8'" in page["yaml"] or 'nvidia.com/gpu: "8"' in page["yaml"]


def test_a_pod_with_a_node_has_its_decision() -> None:
    shown = gpu_cluster()
    page = shown.get("pods/default/train-0")
    assert page["place"] == "bound"
    assert page["decisions"][0]["node"] == page["node"]
    assert "cause" not in page
    attempt = next(entry for entry in page["timeline"] if entry["kind"] == "attempt")
    assert attempt["decision"] == 0


def test_events_about_a_pod_are_on_its_page() -> None:
    shown = gpu_cluster()
    shown.events.add(EventRow(1.0, "Normal", "Pulled", "Pod default/train-0", "there"))
    assert [event["reason"] for event in shown.get("pods/default/train-0")["events"]] == ["Pulled"]


def test_a_pod_is_bound_after_its_decision_and_begun_with_after_that() -> None:
    """Its conditions know whole seconds; a decision and an event of a kubelet in the same second know more."""
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="4", pods="9")]))
    shown.harness.place(make_pod("p").req(cpu="1"))
    decided = shown.get("pods/default/p")["decisions"][0]["at"]
    second = math.floor(decided)
    stamp = timestamps.render(second)
    pod = shown.harness.scheduler.pods["default/p"]
    condition = api.Condition(type="PodScheduled", status="True", last_transition_time=stamp)
    status = msgspec.structs.replace(pod.status, conditions=(condition,), start_time=stamp)
    shown.harness.add(msgspec.structs.replace(pod, status=status))
    shown.events.add(EventRow(second + 0.9, "Normal", "Started", "Pod default/p", "there", "kubelet"))
    times = {entry["kind"]: entry["at"] for entry in shown.get("pods/default/p")["timeline"]}
    assert times["bound"] == times["attempt"] == decided
    assert times["started"] == second + 0.9


def test_a_node_shows_its_pods_its_room_and_near_misses() -> None:
    shown = gpu_cluster()
    page = shown.get("nodes/a100-0")
    assert [pod["pod"] for pod in page["pods"]] in (["default/train-0"], ["default/train-1"])
    room = {each["resource"]: (each["allocatable"], each["requested"]) for each in page["room"]}
    assert room["nvidia.com/gpu"] == (8, 8)
    assert room["cpu"] == (32_000, 1000)
    assert room["pods"] == (50, 1)
    miss = {"plugin": "NodeResourcesFit", "objection": "Insufficient nvidia.com/gpu", "count": 3}
    assert [{key: each[key] for key in miss} for each in page["nearMisses"]] == [miss]
    assert page["labels"]["steersman.dev/pool"] == "a100"
    # Two plugins object to the other pool: selector and devices.
    assert shown.get("nodes/t4-0")["nearMisses"] == []


def test_pods_come_as_a_table_in_columns() -> None:
    shown = gpu_cluster()
    table = shown.get("pods?text=more&limit=2&offset=1")
    assert (table["total"], table["pod"]) == (3, ["default/more-1", "default/more-2"])
    assert table["place"] == ["unschedulable", "unschedulable"]
    assert table["requests"][table["resources"].index("cpu")] == [1000, 1000]
    assert shown.get("pods?place=gated")["pod"] == ["default/gated"]
    assert set(shown.get("pods?place=bound")["pod"]) == {"default/train-0", "default/train-1"}


def test_search_finds_what_begins_with_the_text_first() -> None:
    shown = gpu_cluster()
    found = shown.get("search?q=a1")
    assert [node["name"] for node in found["nodes"]] == ["a100-0", "a100-1"]
    assert [pod["pod"] for pod in shown.get("search?q=ted")["pods"]] == ["default/gated"]
    assert shown.get("search?q=e&limit=1")["truncated"]


def test_info_says_what_the_host_can_do() -> None:
    info = gpu_cluster().get("info")
    assert (info["host"], info["readOnly"]) == ("sandbox", False)
    assert info["capabilities"] == ["stream", "configuration", "try"]
    assert info["profiles"] == ["default-scheduler"]


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("nothing", 404, "path /web/v1/nothing not found"),
        ("info/more", 404, "path /web/v1/info/more not found"),
        ("pods/default/none", 404, "pod default/none not found"),
        ("pods/default/none/matrix", 404, "pod default/none not found"),
        ("pods/default/train-0/other", 404, "path /web/v1/pods/default/train-0/other not found"),
        ("nodes/none", 404, "node none not found"),
        ("room?pod=", 404, "pod  not found"),
        ("decisions?limit=x", 400, "limit: Invalid value: 'x': use a number from 1 to 1000"),
        ("pods?limit=5001", 400, "limit: Invalid value: '5001': use a number from 1 to 5000"),
    ],
)
def test_refusals_are_status_objects(path: str, code: int, message: str) -> None:
    answer = gpu_cluster().answer(path)
    status = msgspec.json.decode(answer.body)
    assert answer.status == code
    assert (status["kind"], status["code"], status["message"]) == ("Status", code, message)


def test_pages_are_read_and_nothing_else() -> None:
    assert gpu_cluster().answer("cluster", "POST").status == 405


def test_the_table_counts_the_attempts_of_pods_with_a_node() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="4", pods="10")]))
    shown.harness.place(make_pod("placed").req(cpu="1"))
    shown.harness.add(make_pod("given").req(cpu="1").node("n"))
    shown.harness.add(make_pod("huge").req(cpu="8"))
    shown.harness.scheduler.schedule_one()
    table = shown.get("pods")
    attempts = dict(zip(table["pod"], table["attempts"], strict=True))
    assert attempts == {"default/given": 0, "default/huge": 1, "default/placed": 1}
