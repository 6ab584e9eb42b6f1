# SPDX-License-Identifier: Apache-2.0
"""The store hangs for ten seconds: requests hang with it, nothing is lost, and the leader stays."""

from __future__ import annotations

import threading
import time

from tests.e2e.faults.arena import FAST, Arena

from steersman.testing.control_plane import Steersman, wait_until

PAUSE_SECONDS = 10.0
#: Longer than the pause; with the defaults the lease may be lost in it, as kube-scheduler's would.
PATIENT = {
    **FAST,
    "leaderElection": {"leaderElect": True, "leaseDuration": "40s", "renewDeadline": "30s", "retryPeriod": "1s"},
}


def test_a_pause_of_the_store_during_a_burst_loses_nothing(arena: Arena) -> None:
    arena.create_nodes(20)
    with arena.follower() as follower, Steersman(arena.plane, config=PATIENT, leader_elect=None) as steersman:
        burst = threading.Thread(target=arena.create_pods, args=(300, "paused"))
        burst.start()
        wait_until(lambda: follower.bound >= 50, what="a part of the burst")
        arena.plane.etcd.pause()
        try:
            time.sleep(PAUSE_SECONDS)  # the fault itself takes time
        finally:
            arena.plane.etcd.resume()
        burst.join()
        arena.plane.wait_ready()
        arena.all_bound(steersman, follower, 300)
        assert steersman.stop() == 0
