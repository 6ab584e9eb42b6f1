# SPDX-License-Identifier: Apache-2.0
"""How long an unschedulable pod waits at most is the host's choice."""

from __future__ import annotations

from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Store, feed
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod


def test_a_pod_is_tried_again_after_the_chosen_time() -> None:
    clock = ManualClock(1_000_000.0)
    store = Store(clock)
    options = SchedulerOptions(max_in_unschedulable=60.0)
    scheduler = Scheduler(clock, SeededRng(1), EmbeddedWriter(store, clock), Tasks(clock).spawn, options)
    feed(store, scheduler.ingest)
    store.create(make_node("n1").capacity(cpu="1", pods=10).obj())
    store.create(make_pod("large").req(cpu="8").obj())
    assert scheduler.schedule_one() is not None
    clock.advance(59.0)
    scheduler.queue.flush_unschedulable()
    assert scheduler.schedule_one() is None
    clock.advance(2.0)
    scheduler.queue.flush_unschedulable()
    assert scheduler.schedule_one() is not None
