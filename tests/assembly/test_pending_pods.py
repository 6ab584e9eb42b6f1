# SPDX-License-Identifier: Apache-2.0
"""What was parsed of a pending pod goes when the pod goes, or gets a node: also in a replica that never schedules."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Pods, Store, feed
from steersman.scheduler.assembly import Scheduler
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod


class Standby:
    """A scheduler that follows an embedded cluster and decides nothing."""

    def __init__(self) -> None:
        clock = ManualClock(1_000_000.0)
        self.store = Store(clock)
        self.pods = Pods(self.store)
        writer = EmbeddedWriter(self.store, clock)
        self.scheduler = Scheduler(clock, SeededRng(1), writer, Tasks(clock).spawn)
        feed(self.store, self.scheduler.ingest)
        self.store.create(make_node("n1").capacity(cpu="10", pods=100).obj())
        for name in ("a", "b"):
            self.store.create(make_pod(name).obj())

    def pending(self) -> int:
        return self.scheduler.cache_sizes()["pending pods"]


@pytest.fixture
def standby() -> Standby:
    found = Standby()
    assert found.pending() == 2
    return found


def test_nothing_is_left_of_a_pod_that_another_has_bound(standby: Standby) -> None:
    standby.pods.bind("default", "a", "", "n1")
    assert standby.pending() == 1


def test_nothing_is_left_of_a_pod_that_was_deleted(standby: Standby) -> None:
    standby.store.delete(api.Pod, "default/b")
    assert standby.pending() == 1
