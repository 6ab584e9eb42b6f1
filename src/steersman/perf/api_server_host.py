"""A real API server, with the scheduler of this process on it, as `steersman run` would connect it.

    operations ─► ApiServerCluster ─HTTP─► API server ─watch─► Witness ─► ingest ─► queue ─► cycle ─► Dispatcher ─HTTP─► …

No other scheduler may be responsible for the same pods. What the workload created is deleted at the
end, but for namespaces.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steersman.assembly import SchedulerOptions
from steersman.client import Connection, Dispatcher, EventRecorder, Informers, Timing, http_transport
from steersman.observe import MeasuredScheduler
from steersman.perf.api_server_cluster import ApiServerCluster, Witness
from steersman.perf.fine_metrics import FineMetrics
from steersman.perf.host import Host
from steersman.perf.scheduling_loop import BACKOFF_SECONDS, UNSCHEDULABLE_SECONDS, Tasks, every, schedule
from steersman.rng import SeededRng
from steersman.state.allocator import keep_freed_memory


@asynccontextmanager
async def api_server_host(options: SchedulerOptions, seed: int, connection: Connection) -> AsyncIterator[Host]:
    """Begins when the scheduler knows all that is in the cluster."""
    keep_freed_memory()
    timing, metrics = Timing(), FineMetrics()
    async with (
        http_transport(connection) as own,
        http_transport(connection) as objects,
        http_transport(connection) as events,
        asyncio.TaskGroup() as group,
    ):
        tasks = Tasks(group)
        dispatcher = Dispatcher(objects, EventRecorder(events, timing, socket.gethostname()), timing)
        scheduler = MeasuredScheduler(metrics, timing.clock, SeededRng(seed), dispatcher, tasks.spawn, options)
        witness = Witness(scheduler.ingest, scheduler.pods)
        informers = Informers(objects, witness, timing)
        cluster = ApiServerCluster(own, witness)
        tasks.spawn(dispatcher.run())
        tasks.spawn(informers.run())
        tasks.spawn(every(BACKOFF_SECONDS, scheduler.queue.flush_backoff))
        tasks.spawn(every(UNSCHEDULABLE_SECONDS, scheduler.queue.flush_unschedulable))
        try:
            await informers.wait_synced()
            tasks.spawn(schedule(scheduler))
            yield Host(cluster, scheduler, metrics)
        finally:
            tasks.cancel()
            await cluster.clear()
