# SPDX-License-Identifier: Apache-2.0
"""The pages of a former moment of a record: the state of then, by another process, while the record is written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.client.following import until
from tests.simulation.clusters import nodes, pods
from tests.web.looked_at import request

from steersman import api
from steersman.base.clock import RealClock
from steersman.record import history, record_simulation, replay
from steersman.sandbox import Sandbox, SandboxOptions, running_sandbox
from steersman.sandbox.web import WebRefusal, recorded_past
from steersman.sandbox.web.recorded_moment import CLOSE_SECONDS
from steersman.sandbox.web.recorded_past import RecordedPast
from steersman.simulation import Simulation
from steersman.testing import make_pod

LIMIT_SECONDS = 60


def create(sandbox: Sandbox, name: str, cpu: str) -> None:
    sandbox.store.create(make_pod(name).req(cpu=cpu).obj())


def is_placed(sandbox: Sandbox, *names: str) -> bool:
    pods = sandbox.store.objects(api.Pod)
    return all(pods[f"default/{name}"].spec.node_name for name in names)


def is_rejected(sandbox: Sandbox, name: str) -> bool:
    return bool(sandbox.store.objects(api.Pod)[f"default/{name}"].status.conditions)


async def asked(past: RecordedPast, at: float, path: str) -> Any:
    answer = await past.answer(at, request(f"/web/v1/{path}"))
    assert answer.status == 200, answer.body
    return msgspec.json.decode(answer.body)


def test_a_former_moment_is_shown_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One node of 8 cores: `second` fits only after `first` is gone, and its attempt before that is looked at."""
    monkeypatch.setattr(recorded_past, "WRITTEN_SECONDS", 1.2)

    async def scenario() -> dict[str, Any]:
        clock = RealClock()
        async with running_sandbox(SandboxOptions(nodes=1, record=str(tmp_path))) as sandbox:
            create(sandbox, "first", "5")
            await until(lambda: is_placed(sandbox, "first"))
            create(sandbox, "second", "5")
            await until(lambda: is_rejected(sandbox, "second"))
            rejected = clock.now()
            await until(lambda: clock.now() > rejected + 2 * CLOSE_SECONDS)
            between = clock.now()
            sandbox.store.delete(api.Pod, "default/first")
            await until(lambda: is_placed(sandbox, "second"))
            past = RecordedPast(str(tmp_path), clock)
            try:
                with pytest.raises(WebRefusal, match="not been yet"):
                    await past.answer(clock.now() + 60, request("/web/v1/cluster"))
                # Whoever does not wait for an answer leaves none behind for the next question.
                asking = asyncio.create_task(past.answer(between, request("/web/v1/cluster")))
                await until(lambda: past.is_reading)
                asking.cancel()
                return {
                    "matrix": await asked(past, between, "pods/default/second/matrix"),
                    "pod": await asked(past, between, "pods/default/second"),
                    "cluster": await asked(past, between, "cluster"),
                    "pending": await asked(past, between, "pending"),
                    "later": await asked(past, clock.now(), "pods/default/second"),
                }
            finally:
                await past.close()

    found = asyncio.run(asyncio.wait_for(scenario(), LIMIT_SECONDS))
    assert (found["matrix"]["source"], found["matrix"]["fits"]) == ("recorded", [0])
    assert found["matrix"]["verdicts"][0]["reasons"] == ["Insufficient cpu"]
    assert (found["pod"]["node"], found["pod"]["place"]) == ("", "unschedulable")
    assert [decision["outcome"] for decision in found["pod"]["decisions"]] == ["unschedulable"]
    assert found["cluster"]["totals"]["pods"] == 1
    assert found["pending"]["groups"][0]["count"] == 1
    assert found["later"]["node"]


NOISY = """
from steersman.framework import ScorePlugin


class Noisy(ScorePlugin):
    name = "Noisy"

    def score(self, pod, node):
        print("scoring", node.name)
        return 0
"""


def test_plugins_may_print_and_times_may_be_absurd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_past, "WRITTEN_SECONDS", 0.0)
    plugin, record = tmp_path / "noisy.py", tmp_path / "record"
    plugin.write_text(NOISY)
    simulation = Simulation.load(nodes("a", "b"), pods(1), plugins=[plugin])
    with record_simulation(simulation, record):
        simulation.run()
    end = simulation.scheduler.clock.now()

    async def scenario() -> tuple[Any, str]:
        past = RecordedPast(str(record), RealClock(), [str(plugin)])
        try:
            matrix = await asked(past, end, "pods/default/pod-0/matrix")
            with pytest.raises(WebRefusal) as refused:
                await past.answer(-1e300, request("/web/v1/cluster"))
            return matrix, str(refused.value)
        finally:
            await past.close()

    matrix, refused = asyncio.run(asyncio.wait_for(scenario(), LIMIT_SECONDS))
    assert sorted(matrix["nodes"]) == ["a", "b"]
    assert "is not in the record" in refused


def test_a_record_that_is_none_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_past, "WRITTEN_SECONDS", 0.0)
    clock = RealClock()
    past = RecordedPast(str(tmp_path), clock)
    with pytest.raises(WebRefusal, match="holds no record"):
        asyncio.run(past.answer(clock.now(), request("/web/v1/cluster")))


def test_a_moment_of_a_record_of_format_3_is_shown() -> None:
    """`large` got its node at the end of the record."""
    directory = Path(__file__).parents[1] / "record" / "format_3" / "live"
    entries = history(directory, "large").entries
    rejected, bound = (replay(directory).start + entries[index].at for index in (1, -1))

    async def scenario() -> tuple[Any, Any]:
        past = RecordedPast(str(directory), RealClock())
        try:
            return (
                await asked(past, rejected + 2 * CLOSE_SECONDS, "pods/default/large"),
                await asked(past, bound + 2 * CLOSE_SECONDS, "pods/default/large"),
            )
        finally:
            await past.close()

    waiting, placed = asyncio.run(scenario())
    assert (waiting["node"], placed["node"]) == ("", "big")
