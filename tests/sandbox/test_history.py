# SPDX-License-Identifier: Apache-2.0
"""Looking back in a sandbox: pages of a former moment say what they would have said then."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.web.looked_at import LookedAt

from steersman.kube.serving.http import Answer, Request
from steersman.sandbox.history import SandboxHistory
from steersman.testing import Harness, make_node, make_pod


class Remembered:
    """A cluster with a past: two nodes, three pods one after the other at intervals of ten seconds, and a node that went."""

    def __init__(self) -> None:
        nodes = [make_node(name).capacity(cpu="2", pods="10") for name in ("one", "two")]
        self.harness = Harness(nodes=nodes)
        self.history = SandboxHistory(self.harness.cluster)
        self.shown = LookedAt(self.harness, past=self._past)
        self.harness.scheduler.observe(self.history)
        self.history.mark(self.harness.scheduler)
        self.times = [self._now()]
        for number, cpu in enumerate(("1", "1", "64")):
            self.harness.advance(10)
            self.harness.add(make_pod(f"p{number}").req(cpu=cpu))
            self.harness.run()
            self.times.append(self._now())
            self.history.mark(self.harness.scheduler)
        self.harness.advance(10)
        self.harness.delete(make_node("two"))
        self.history.mark(self.harness.scheduler)
        self.times.append(self._now())

    def _now(self) -> float:
        return self.harness.cluster.clock.now()

    async def _past(self, at: float, request: Request) -> Answer:
        return await (await self.history.api_at(at, self.shown.host)).answer(request)

    def get(self, path: str, at: float) -> Any:
        return self.shown.get(f"{path}{'&' if '?' in path else '?'}at={at}")


@pytest.fixture(scope="module")
def remembered() -> Remembered:
    return Remembered()


def test_nodes_and_pods_are_those_of_the_moment(remembered: Remembered) -> None:
    begin, _, second, third, end = remembered.times
    assert remembered.get("cluster", begin)["totals"]["pods"] == 0
    assert remembered.get("cluster", second + 5)["totals"]["pods"] == 2
    assert sorted(remembered.get("cluster", third + 5)["nodes"]["name"]) == ["one", "two"]
    assert remembered.get("cluster", end)["nodes"]["name"] == ["one"]
    assert remembered.get("pods", second + 5)["total"] == 2
    assert remembered.get("cluster", third + 5)["now"] == third + 5


def test_pods_that_waited_then_wait_where_they_did(remembered: Remembered) -> None:
    after = remembered.times[3] + 5
    report = remembered.get("pending", after)
    assert [(group["title"], group["count"]) for group in report["groups"]] == [("Insufficient cpu", 1)]
    assert remembered.get("pods/default/p2", after)["place"] == "unschedulable"
    assert remembered.get("pending", remembered.times[2])["total"] == 0


def test_the_matrix_of_an_attempt_is_that_of_its_moment(remembered: Remembered) -> None:
    """Before the decision: the pod has no node yet, and the pod before it has."""
    decision = remembered.shown.get("pods/default/p1")["decisions"][0]
    matrix = remembered.get("pods/default/p1/matrix", decision["at"])
    assert (matrix["source"], matrix["outcome"]) == ("recorded", "scheduled")
    assert sorted(matrix["nodes"]) == ["one", "two"]
    assert matrix["fits"] == [1, 1]
    assert matrix["node"] == decision["node"]
    assert matrix["lead"] > 0
    assert remembered.shown.get("pods/default/p1/matrix")["nodes"] == ["one"]


def test_looking_back_changes_nothing(remembered: Remembered) -> None:
    before = msgspec.json.encode(remembered.shown.get("pods"))
    remembered.get("pending", remembered.times[3])
    assert msgspec.json.encode(remembered.shown.get("pods")) == before
    remembered.harness.scheduler.cache.validate_state()


def test_the_slider_has_marks_with_numbers(remembered: Remembered) -> None:
    page = msgspec.json.decode(msgspec.json.encode(remembered.history.page()))
    assert (page["from"], page["to"]) == (remembered.times[0], remembered.times[-1])
    assert [(mark["pods"], mark["pending"]) for mark in page["marks"]] == [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1)]


@pytest.mark.parametrize(("at", "code"), [("-5", 404), ("x", 400), ("nan", 400)])
def test_moments_that_are_not_there_are_refused(remembered: Remembered, at: str, code: int) -> None:
    assert remembered.shown.answer(f"cluster?at={at}").status == code


def test_without_a_memory_there_is_no_past() -> None:
    assert LookedAt(Harness()).answer("cluster?at=1").status == 404


def test_moments_are_kept_for_further_questions(remembered: Remembered) -> None:
    async def twice() -> bool:
        first = await remembered.history.api_at(remembered.times[1], remembered.shown.host)
        return first is await remembered.history.api_at(remembered.times[1], remembered.shown.host)

    assert asyncio.run(twice())


def test_decisions_at_the_same_time_are_distinguished_by_their_pods() -> None:
    harness = Harness(nodes=[make_node("one").capacity(cpu="4", pods="10")])
    history = SandboxHistory(harness.cluster)
    shown = LookedAt(harness)
    harness.scheduler.observe(history)
    for number in range(3):
        harness.add(make_pod(f"p{number}").req(cpu="1"))
    for _ in range(3):
        harness.scheduler.schedule_one()

    async def pods_before(pod: str) -> int:
        past = await history.api_at(harness.cluster.clock.now(), shown.host, pod)
        answer = await past.answer(Request("GET", "/web/v1/cluster"))
        return int(msgspec.json.decode(answer.body)["totals"]["pods"])

    assert [asyncio.run(pods_before(f"default/p{number}")) for number in range(3)] == [0, 1, 2]
