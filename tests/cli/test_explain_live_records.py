# SPDX-License-Identifier: Apache-2.0
"""`steersman explain --record DIR --at TIME` of what `steersman run --record` has written."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.app.running import cluster, running_program
from tests.cli.commands import steersman
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run

from steersman.record import RecordReader
from steersman.run.app import RecordOptions
from steersman.testing import make_pod


def recorded_end(directory: Path) -> datetime:
    """Records a scheduler that places `small` and cannot place `large`; the time of the last thing that is in the record."""

    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(directory))) as program:
            server.store.create(make_pod("small").req(cpu="1").obj())
            await until(lambda: stored(server, "small").spec.node_name)
            server.store.create(make_pod("large").req(cpu="16").obj())
            await until(lambda: stored(server, "large").status.conditions)
            assert await program.stopped() == 0

    run(scenario())
    last = max(frame.time for frame in RecordReader(directory).all_frames())
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=math.floor(last * 1_000_000))


def test_a_moment_of_a_live_cluster_is_explained_as_it_stood(tmp_path: Path) -> None:
    at = recorded_end(tmp_path).isoformat()
    large = steersman("explain", "large", "--record", tmp_path, "--at", at, "-o", "json")
    small = steersman("explain", "small", "--record", tmp_path, "--at", at, "-o", "json")
    pending, placed = json.loads(large.stdout), json.loads(small.stdout)
    assert (large.exit_code, pending["cause"]["code"]) == (1, "InsufficientResources")
    assert pending["when"]["queue"]["isEstimate"]
    [lowered] = [fix for fix in pending["fixes"] if fix["kind"] == "LowerRequests"]
    assert (lowered["patches"], lowered["create"]) == ([], []), "a record does not have all fields of containers"
    assert "--type=strategic" in lowered["commands"][0]
    assert (small.exit_code, placed["state"]) == (0, "Placed")
