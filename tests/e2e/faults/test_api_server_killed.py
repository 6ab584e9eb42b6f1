# SPDX-License-Identifier: Apache-2.0
"""The API server crashes in the middle of a burst and comes back: every pod is bound, once."""

from __future__ import annotations

import signal
import threading

from tests.e2e.faults.arena import FAST, Arena

from steersman.testing.control_plane import Steersman, wait_until


def test_a_crash_of_the_api_server_during_a_burst_loses_nothing(arena: Arena) -> None:
    arena.create_nodes(50)
    server = arena.plane.api_server
    with arena.follower() as follower, Steersman(arena.plane, config=FAST) as steersman:
        burst = threading.Thread(target=arena.create_pods, args=(1000, "burst"))
        burst.start()
        wait_until(lambda: follower.bound >= 200, what="a fifth of the burst")
        server.kill()
        server.start()
        burst.join()
        arena.all_bound(steersman, follower, 1000)
        steersman.signal(signal.SIGUSR2)
        wait_until(lambda: "the cache agrees with the API server" in steersman.log_text(), what="a comparison")
        assert steersman.stop() == 0


def test_without_an_api_server_it_waits_and_then_begins(arena: Arena) -> None:
    arena.create_nodes(3)
    arena.create_pods(10, "early")
    server = arena.plane.api_server
    server.kill()
    with arena.follower() as follower:
        steersman = Steersman(arena.plane, config=FAST).start(wait=False)
        wait_until(lambda: "Cannot connect" in steersman.log_text(), what="an attempt in vain")
        assert steersman.get("/readyz")[0] == 500
        server.start()
        steersman.wait_ready()
        arena.all_bound(steersman, follower, 10)
        assert steersman.stop() == 0
