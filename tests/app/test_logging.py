# SPDX-License-Identifier: Apache-2.0
"""What the log says of decisions, by verbosity."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest
from tests.app.running import ALONE, UNSERVED, cluster
from tests.client.api_server import ApiServer
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run

from steersman.app import Control, RunOptions
from steersman.app import run as run_program
from steersman.app.decision_lines import BOUND, CHOSEN, NO_FIT
from steersman.observe import Format, set_up
from steersman.testing import make_pod


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    logger = logging.getLogger("steersman")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate, logger.level = before


@pytest.mark.parametrize(("verbosity", "told"), [(0, []), (2, [NO_FIT, BOUND]), (3, [NO_FIT, BOUND, CHOSEN])])
def test_decisions_appear_as_verbosity_grows(verbosity: int, told: list[str]) -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), verbosity, stream))
    assert [text for text in (NO_FIT, BOUND, CHOSEN) if text in stream.getvalue()] == told


def test_a_binding_is_one_json_object_with_what_it_was_chosen_from() -> None:
    stream = io.StringIO()
    run(_two_pods(cluster(), 2, stream, Format.JSON))
    (entry,) = (entry for entry in map(json.loads, stream.getvalue().splitlines()) if entry["msg"] == BOUND)
    assert entry["pod"] == {"name": "small", "namespace": "default"}
    assert entry["node"] in ("n0", "n1", "n2")
    assert (entry["evaluatedNodes"], entry["feasibleNodes"], entry["v"]) == (3, 3, 2)


async def _two_pods(server: ApiServer, verbosity: int, stream: io.StringIO, form: Format = Format.TEXT) -> None:
    """One fits, one does not."""
    server.store.create(make_pod("small").obj())
    server.store.create(make_pod("large").req(cpu="1000").obj())
    log, control = set_up(verbosity, form, stream), Control()
    async with server.serving() as address:
        options = RunOptions(master=address, election=ALONE, serving=UNSERVED)

        async def end() -> None:
            await until(lambda: stored(server, "small").spec.node_name and stored(server, "large").status.conditions)
            control.stop.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(end())
            assert await run_program(options, control, {}, log) == 0
