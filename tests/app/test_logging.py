# SPDX-License-Identifier: Apache-2.0
"""What the log says of decisions, by verbosity."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import pytest
from tests.app.running import ALONE, UNSERVED, cluster
from tests.client.api_server import ApiServer
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run

from steersman.kube.observe import Log, LogFormat, set_up
from steersman.run.app import Control, RunOptions, run as run_program
from steersman.run.app.log_lines import (
    ATTEMPT,
    BEST,
    BOUND,
    CHOSEN,
    EVALUATED,
    FAULT,
    FINAL_SCORE,
    GATED,
    MOVED,
    NO_FIT,
    PLUGIN_SCORE,
    PREEMPTED,
)
from steersman.run.app.run import STARTING
from steersman.testing import make_pod


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    logger = logging.getLogger("steersman")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate, logger.level = before


ADDED, UPDATED = "Add event for unscheduled pod", "Update event for unscheduled pod"
#: From which verbosity on there is what.
LEVELS = {
    0: [STARTING],
    2: [NO_FIT, BOUND],
    3: [ATTEMPT, CHOSEN, ADDED],
    4: [EVALUATED, UPDATED],
    5: [BEST],
    10: [PLUGIN_SCORE, FINAL_SCORE],
}


@pytest.mark.parametrize("verbosity", LEVELS)
def test_more_is_said_with_every_verbosity(verbosity: int) -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), verbosity, stream))
    told = [text for texts in LEVELS.values() for text in texts if text in stream.getvalue()]
    assert told == [text for level, texts in LEVELS.items() if level <= verbosity for text in texts]


def test_the_first_line_says_what_was_started() -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), 0, stream, LogFormat.JSON))
    first = json.loads(stream.getvalue().splitlines()[0])
    assert first["msg"] == STARTING
    assert first["server"].startswith("http://127.0.0.1:")
    assert (first["configuration"], first["profiles"]) == ("defaults", "default-scheduler")
    assert first["version"] == version("steersman")
    assert "featureGates" not in first


def test_why_nodes_are_rejected_is_said_per_attempt() -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), 4, stream, LogFormat.JSON))
    entries = [entry for entry in map(json.loads, stream.getvalue().splitlines()) if entry["msg"] == EVALUATED]
    (large,) = (entry for entry in entries if entry["pod"]["name"] == "large")
    assert (large["feasibleNodes"], large["rejected"]) == (0, "3 Insufficient cpu")


def test_moves_between_the_queues_are_reported_with_the_event_from_verbosity_5() -> None:
    stream = io.StringIO()
    server = cluster()
    server.store.create(make_pod("held").gate("example.com/later").obj())
    run(_two_pods(server, 5, stream, LogFormat.JSON))
    entries = [json.loads(line) for line in stream.getvalue().splitlines()]
    moves = [(e["pod"]["name"], e["queue"], e["event"], e["v"]) for e in entries if e["msg"] in (MOVED, GATED)]
    assert ("small", "Active", "UnscheduledPodAdd", 5) in moves
    assert ("large", "Unschedulable", "ScheduleAttemptFailure", 3) in moves
    assert ("held", "Unschedulable", "UnscheduledPodAdd", 5) in moves
    assert [e["pod"]["name"] for e in entries if e["msg"] == GATED] == ["held"]
    (failed,) = (e for e in entries if e["msg"] == MOVED and e["v"] == 3)
    assert failed["unschedulablePlugins"] == "NodeResourcesFit"


def test_the_queue_after_a_failed_attempt_is_told_from_verbosity_3() -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), 3, stream, LogFormat.JSON))
    moves = [entry for entry in map(json.loads, stream.getvalue().splitlines()) if entry["msg"] == MOVED]
    assert [(move["pod"]["name"], move["queue"]) for move in moves] == [("large", "Unschedulable")]


def test_a_victim_of_preemption_is_a_line_from_verbosity_2() -> None:
    server = cluster(nodes=1)
    server.store.create(make_pod("low").req(cpu="8").priority(0).node("n0").obj())
    server.store.create(make_pod("high").req(cpu="8").priority(10).obj())
    (entry,) = run(_logged(server, 2, PREEMPTED))
    assert (entry["preemptor"]["name"], entry["victim"]["name"], entry["node"]) == ("high", "low", "n0")


def test_a_failed_binding_is_an_error_at_every_verbosity() -> None:
    server = cluster(nodes=1)
    server.store.create(make_pod("web").obj())
    server.faults.refuse(400, part_of_path="/web/binding")
    entry, *_ = run(_logged(server, 0, FAULT))
    assert entry["pod"]["name"] == "web"
    assert entry["err"]


def test_a_binding_is_one_json_object_with_what_it_was_chosen_from() -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), 2, stream, LogFormat.JSON))
    (entry,) = (entry for entry in map(json.loads, stream.getvalue().splitlines()) if entry["msg"] == BOUND)
    assert entry["pod"] == {"name": "small", "namespace": "default"}
    assert entry["node"] in ("n0", "n1", "n2")
    assert (entry["evaluatedNodes"], entry["feasibleNodes"], entry["v"]) == (3, 3, 2)


async def _two_pods(server: ApiServer, verbosity: int, stream: io.StringIO, form: LogFormat = LogFormat.TEXT) -> None:
    """One fits, one does not."""
    server.store.create(make_pod("small").obj())
    server.store.create(make_pod("large").req(cpu="1000").obj())
    seen = UPDATED if verbosity >= 4 else ""

    def is_over() -> bool:
        decided = stored(server, "small").spec.node_name and stored(server, "large").status.conditions
        return bool(decided) and seen in stream.getvalue()

    await _until(is_over, server, set_up(verbosity, form, stream))


async def _logged(server: ApiServer, verbosity: int, text: str) -> list[dict[str, Any]]:
    """The entries with that text, once there is one."""
    stream = io.StringIO()
    await _until(lambda: text in stream.getvalue(), server, set_up(verbosity, LogFormat.JSON, stream))
    return [entry for entry in map(json.loads, stream.getvalue().splitlines()) if entry["msg"] == text]


async def _until(is_over: Callable[[], object], server: ApiServer, log: Log) -> None:
    """Runs a scheduler until then."""
    control = Control()
    async with server.serving() as address:
        options = RunOptions(master=address, election=ALONE, serving=UNSERVED)

        async def end() -> None:
            await until(is_over)
            control.stop.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(end())
            assert await run_program(options, control, {}, log) == 0
