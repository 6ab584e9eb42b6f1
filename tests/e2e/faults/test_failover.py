# SPDX-License-Identifier: Apache-2.0
"""Two replicas; the leader dies without a word. The other takes over when the lease ends, and no pod is bound twice."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from typing import Any

from tests.e2e.faults.arena import FAST, Arena

from steersman.testing.control_plane import JsonObject, Steersman, wait_until

LEASE_SECONDS, RETRY_SECONDS = 5, 1
#: A candidate looks again after the pause, made longer by chance by up to this share of it.
LONGEST_RETRY = RETRY_SECONDS * (1 + 1.2)
#: For a machine that is busy with other things.
SLACK_SECONDS = 3.0
ELECTING: dict[str, Any] = {
    **FAST,
    "leaderElection": {
        "leaderElect": True,
        "leaseDuration": f"{LEASE_SECONDS}s",
        "renewDeadline": "3s",
        "retryPeriod": f"{RETRY_SECONDS}s",
        # The rules of the API server for kube-scheduler know only this name.
        "resourceName": "kube-scheduler",
        "resourceNamespace": "kube-system",
    },
}


def lease(arena: Arena) -> JsonObject | None:
    found = arena.plane.admin.find("Lease", "kube-scheduler", "kube-system")
    return found and dict(found["spec"])


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.datetime.fromisoformat(later) - datetime.datetime.fromisoformat(earlier)).total_seconds()


def test_the_second_replica_takes_over_from_one_that_was_killed(arena: Arena) -> None:
    arena.create_nodes(50)
    with (
        arena.follower() as follower,
        Steersman(arena.plane, config=ELECTING, leader_elect=None) as first,
        Steersman(arena.plane, config=ELECTING, leader_elect=None) as second,
    ):
        wait_until(_leads(first), what="a leader")
        burst = threading.Thread(target=arena.create_pods, args=(600, "failover"))
        burst.start()
        wait_until(lambda: follower.bound >= 150, what="a part of the burst")
        assert "scheduling begins" not in second.log_text()
        first.kill()
        left = lease(arena)
        assert left is not None
        burst.join()
        wait_until(_leads(second), what="a new leader")
        taken = lease(arena)
        assert taken is not None
        assert taken["leaseTransitions"] == left.get("leaseTransitions", 0) + 1
        gap = seconds_between(left["renewTime"], taken["acquireTime"])
        assert LEASE_SECONDS <= gap <= LEASE_SECONDS + LONGEST_RETRY + SLACK_SECONDS
        arena.all_bound(second, follower, 600)
        assert second.stop() == 0
    released = lease(arena)
    assert released is not None
    assert not released.get("holderIdentity")


def test_a_leader_that_was_asleep_for_longer_than_its_lease_ends_and_no_pod_is_bound_twice(arena: Arena) -> None:
    arena.create_nodes(50)
    with (
        arena.follower() as follower,
        Steersman(arena.plane, config=ELECTING, leader_elect=None) as first,
        Steersman(arena.plane, config=ELECTING, leader_elect=None) as second,
    ):
        wait_until(_leads(first), what="a leader")
        burst = threading.Thread(target=arena.create_pods, args=(300, "asleep"))
        burst.start()
        wait_until(lambda: follower.bound >= 50, what="a part of the burst")
        first.pause()
        wait_until(_leads(second), what="a new leader")
        first.resume()
        assert first.wait() == 1
        burst.join()
        arena.all_bound(second, follower, 300)


def _leads(replica: Steersman) -> Callable[[], bool]:
    return lambda: "scheduling begins" in replica.log_text()
