# SPDX-License-Identifier: Apache-2.0
"""The wall clock of the leader jumps a day forward and back again: it keeps its lease and goes on scheduling."""

from __future__ import annotations

import datetime
import signal
import sys
from pathlib import Path

from tests.e2e.faults import shifted_clock
from tests.e2e.faults.arena import Arena
from tests.e2e.faults.test_failover import ELECTING, lease

from steersman.testing.control_plane import SchedulerProcess, Steersman, condition, wait_until

DAY = datetime.timedelta(days=1)


def test_a_jump_of_the_clock_costs_neither_the_lease_nor_a_pod(arena: Arena) -> None:
    arena.create_nodes(2)
    version = f"--emulated-version={arena.plane.binaries.version}"
    program = [sys.executable, str(Path(shifted_clock.__file__)), "run", version]
    with (
        arena.follower() as follower,
        SchedulerProcess("steersman-jumping", program, arena.plane, config=ELECTING, leader_elect=None) as leader,
        Steersman(arena.plane, config=ELECTING, leader_elect=None) as standby,
    ):
        holder = wait_until(lambda: (lease(arena) or {}).get("holderIdentity"), what="a leader")
        for name, shift in (("forward", DAY), ("back", -DAY)):
            leader.signal(signal.SIGUSR1)
            _wait_for_jump(arena, shift)
            arena.create_pods(10, name)
            arena.create_pods(1, f"large-{name}", cpu="100")
            _wait_for_rejection(arena, f"large-{name}-0")
        arena.judge(leader, follower, 22)
        assert (lease(arena) or {})["holderIdentity"] == holder
        assert "scheduling begins" not in standby.log_text()
        # What was rejected before the jumps is tried again after them.
        arena.create_nodes(1, "huge", cpu="400")
        arena.all_bound(leader, follower, 22)
        assert leader.stop() == 0


def _wait_for_jump(arena: Arena, shift: datetime.timedelta) -> None:
    wait_until(lambda: abs(_ahead(arena) - shift) < DAY / 2, what="a lease with the new time")


def _ahead(arena: Arena) -> datetime.timedelta:
    """By how much the leader's clock is ahead of this one."""
    renewed = (lease(arena) or {})["renewTime"]
    return datetime.datetime.fromisoformat(renewed) - datetime.datetime.now(datetime.UTC)


def _wait_for_rejection(arena: Arena, pod: str) -> None:
    wait_until(lambda: condition(arena.plane.admin.get("Pod", pod), "PodScheduled"), what="a rejection")
