# SPDX-License-Identifier: Apache-2.0
"""The snapshot of the cluster and its differences: applied one after the other they are the next snapshot."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.web.looked_at import LookedAt

from steersman.base.clock import ManualClock
from steersman.sandbox.web import EventRow
from steersman.sandbox.web.attempt_feed import RateHistory
from steersman.sandbox.web.cluster_feed import MAX_MOVES
from steersman.testing import Harness, make_node, make_pod


def manual_clock(shown: LookedAt, now: float) -> ManualClock:
    """The clock of the scheduler, set to a time."""
    clock = shown.harness.scheduler.clock
    assert isinstance(clock, ManualClock)
    clock.advance(now - clock.now())
    return clock


def nodes(count: int) -> list[Any]:
    return [
        make_node(f"n{i}")
        .capacity(cpu="4", memory="8Gi", pods="10")
        .label("zone", "ab"[i % 2])
        .label("kubernetes.io/hostname", f"n{i}")
        for i in range(count)
    ]


def test_nodes_come_in_columns() -> None:
    shown = LookedAt(Harness(nodes=nodes(3), pods=[make_pod("p").req(cpu="1").node("n1")]))
    snapshot = shown.get("cluster")
    columns = snapshot["nodes"]
    assert columns["name"] == ["n0", "n1", "n2"]
    assert snapshot["resources"][0] == "cpu"
    assert columns["allocatable"][0] == [4000, 4000, 4000]
    assert columns["requested"][0] == [0, 1000, 0]
    assert columns["pods"] == [0, 1, 0]
    assert columns["labels"] == {"zone": {"values": ["a", "b"], "codes": [0, 1, 0]}}
    assert snapshot["totals"]["requested"][0] == 1000
    assert snapshot["totals"]["nodes"] == 3


def test_taints_are_codes_into_sets() -> None:
    tainted = make_node("t").capacity(cpu="1").taint("gpu", "yes")
    snapshot = LookedAt(Harness(nodes=[*nodes(1), tainted])).get("cluster")
    sets = [snapshot["taintSets"][code] for code in snapshot["nodes"]["taints"]]
    assert sets == [[], [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]]


def test_differences_lead_from_one_snapshot_to_the_next() -> None:
    harness = Harness(nodes=nodes(4))
    shown = LookedAt(harness)
    before = shown.get("cluster")
    state = {name: dict(row) for name, row in rows_of(before).items()}
    seen = before["seq"]

    harness.add(make_node("new").capacity(cpu="2", pods="5", **{"example.com/gpu": "2"}).label("zone", "c"))
    harness.delete(make_node("n3"))
    harness.place(make_pod("p0").req(cpu="1"))
    harness.place(make_pod("p1").req(cpu="1", **{"example.com/gpu": "1"}))
    diff = msgspec.json.decode(msgspec.json.encode(shown.source.changes(with_state=False).diff))
    assert diff["from"] == seen
    after = shown.get("cluster")

    resources = [*before["resources"], *diff.get("resources", [])]
    names = {row["row"]: name for name, row in state.items()}
    for row in diff.get("removed", []):
        state.pop(names[row])
    for row in diff.get("nodes", []):
        state[row["name"]] = {key: row[key] for key in ("row", "pods", "requested")}
        names[row["row"]] = row["name"]
    used = diff["used"]
    for index, row in enumerate(used["row"]):
        amounts = [column[index] for column in used["requested"]]
        state[names[row]] |= {"pods": used["pods"][index], "requested": amounts}
    wanted = rows_of(after)
    assert resources == after["resources"]
    assert {name: _padded(row, len(resources)) for name, row in state.items()} == wanted
    assert diff["totals"] == after["totals"]
    assert [(move["pod"], move["to"]) for move in diff["moves"]] == [("default/p0", "bound"), ("default/p1", "bound")]


def rows_of(snapshot: Any) -> dict[str, dict[str, Any]]:
    columns = snapshot["nodes"]
    return {
        name: {
            "row": columns["row"][i],
            "pods": columns["pods"][i],
            "requested": [column[i] for column in columns["requested"]],
        }
        for i, name in enumerate(columns["name"])
    }


def _padded(row: dict[str, Any], length: int) -> dict[str, Any]:
    amounts = [*row["requested"], *[0] * (length - len(row["requested"]))]
    return {**row, "requested": amounts}


def test_nothing_new_is_no_difference() -> None:
    shown = LookedAt(Harness(nodes=nodes(2)))
    shown.source.changes(with_state=False)
    assert shown.source.changes(with_state=False).diff is None


def test_too_many_moves_are_counted_not_listed() -> None:
    harness = Harness(nodes=[make_node("large").capacity(cpu="1000", memory="1000Gi", pods="1000")])
    shown = LookedAt(harness)
    for number in range(MAX_MOVES + 7):
        harness.add(make_pod(f"p{number}").req(cpu="1m"))
    harness.run()
    diff = shown.source.changes(with_state=False).diff
    assert diff is not None
    assert len(diff.moves) == MAX_MOVES
    assert diff.moves_omitted == 7


def test_a_stream_begins_with_a_snapshot_and_goes_on_with_differences() -> None:
    harness = Harness(nodes=nodes(2))
    shown = LookedAt(harness)

    async def listen() -> tuple[str, str, str]:
        ticking = asyncio.ensure_future(shown.feed.run())
        pieces = shown.feed.pieces("", None)
        first = await anext(pieces)
        shown.events.add(EventRow(1.0, "Normal", "Scheduled", "Pod default/p", "said"))
        second = await anext(pieces)
        again = shown.feed.pieces(shown.feed.epoch, seq_of(first))
        resumed = await anext(again)
        shown.feed.close()
        ticking.cancel()
        return first.decode(), second.decode(), resumed.decode()

    first, second, resumed = asyncio.run(asyncio.wait_for(listen(), 10))
    assert "event: snapshot\n" in first
    assert "event: diff\n" in second
    assert '"message":"said"' in second
    assert second in resumed


def seq_of(piece: bytes) -> int:
    return int(piece.split(b"\n")[0].removeprefix(b"id: "))


def test_a_client_that_lags_behind_gets_a_snapshot_instead_of_what_it_missed() -> None:
    harness = Harness(nodes=nodes(2))
    shown = LookedAt(harness)

    async def lag() -> list[str]:
        pieces = shown.feed.pieces("", None)
        first = await anext(pieces)
        message = "x" * 300_000
        for _ in range(5):
            shown.events.add(EventRow(1.0, "Normal", "Said", "Pod default/p", message))
            await shown.feed.tick()
        second = await anext(pieces)
        return [piece.decode().split("\n")[1] for piece in (first, second)]

    assert asyncio.run(asyncio.wait_for(lag(), 10)) == ["event: snapshot", "event: snapshot"]


def test_streams_end_when_the_feed_is_closed() -> None:
    shown = LookedAt(Harness(nodes=nodes(1)))

    async def listen() -> int:
        pieces = shown.feed.pieces("", None)
        await anext(pieces)
        shown.feed.close()
        return len([piece async for piece in pieces])

    assert asyncio.run(asyncio.wait_for(listen(), 10)) == 0


def test_a_node_is_ready_unless_it_says_otherwise() -> None:
    said = {"True": 1, "False": 0, "Unknown": 0}
    conditions = [make_node(status.lower()).condition("Ready", status) for status in said]
    columns = LookedAt(Harness(nodes=[*conditions, make_node("silent")])).get("cluster")["nodes"]
    ready = dict(zip(columns["name"], columns["ready"], strict=True))
    assert ready == {"true": 1, "false": 0, "unknown": 0, "silent": 1}


def test_a_page_that_is_opened_after_a_burst_shows_it() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="8", pods="50")]))
    clock = manual_clock(shown, 1000.0)
    for seconds in (0.0, 0.5, 1.0, 20.0):
        clock.advance(1000.0 + seconds - clock.now())
        shown.harness.place(make_pod(f"p{seconds}").req(cpu="10m"))
    clock.advance(60.0)
    points = shown.get("cluster")["ratePoints"]
    assert dict(zip(points["at"], points["scheduled"], strict=True)) == {1000: 2, 1001: 1, 1020: 1}
    assert points["latencyP50"][0] is not None


def test_a_difference_has_the_seconds_in_which_something_was_decided() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="8", pods="50")]))
    clock = manual_clock(shown, 1000.0)
    shown.harness.place(make_pod("a").req(cpu="10m"))
    shown.source.changes(with_state=False)
    clock.advance(0.5)
    shown.harness.place(make_pod("b").req(cpu="10m"))
    diff = shown.source.changes(with_state=False).diff
    assert diff is not None
    assert diff.rate_points is not None
    assert (diff.rate_points.at, diff.rate_points.scheduled) == ([1000], [2])
    clock.advance(30.0)
    assert shown.source.changes(with_state=False).diff is None


def test_latencies_of_a_busy_second_are_sampled() -> None:
    history = RateHistory()
    for number in range(10_000):
        history.add(5.5, "scheduled", number / 10_000)
    assert history.points().latency_p50 == pytest.approx([0.5], abs=0.05)
    assert history.points().latency_p99 == pytest.approx([0.99], abs=0.05)
    assert history.points().scheduled == [10_000]
