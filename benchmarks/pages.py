# SPDX-License-Identifier: Apache-2.0
"""What pages and strangers cost the scheduling loop: 5,000 nodes, 50,000 pods, two threads as in `steersman run`.

Pages: how long each takes, and the longest that the scheduling loop stood still meanwhile. Handshakes: what each of them takes
of the scheduling thread's time, if the server is in the same loop or in the control thread.
"""

from __future__ import annotations

import asyncio
import datetime
import gc
import socket
import ssl
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.hot_path import AcceptingWriter, no_task
from benchmarks.populations import make_nodes
from steersman import api
from steersman.base.clock import RealClock
from steersman.base.rng import SeededRng
from steersman.kube.client import Connection, http_transport
from steersman.kube.observe import AttemptMetrics, DecisionLog, Exposition, Metrics
from steersman.kube.serving import (
    AccessControl,
    ApiReviews,
    Endpoints,
    Listen,
    Listers,
    Server,
    ServerTls,
    TlsOptions,
    scheduler_endpoints,
    self_signed,
)
from steersman.run.app.control_thread import ControlThread, SchedulingLoopPort
from steersman.run.app.process import new_event_loop
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.testing import make_pod

NODES, PODS, PENDING = 5_000, 50_000, 5_000
SECONDS = 3.0
HANDSHAKES_A_SECOND = 200


@dataclass
class Cluster:
    scheduler: Scheduler
    exposition: Exposition
    decisions: DecisionLog
    listers: Listers

    def endpoints(self, port: SchedulingLoopPort) -> Endpoints:
        return scheduler_endpoints(self.scheduler, self.exposition, self.decisions, self.listers, ask=port.ask)


def make_cluster() -> Cluster:
    metrics = Metrics()
    clock = RealClock()
    measuring = AttemptMetrics(metrics, clock)
    options = SchedulerOptions(instruments=measuring)
    scheduler = Scheduler(clock, SeededRng(1), AcceptingWriter(), no_task, options)
    nodes = make_nodes(NODES)
    pods = [_bound(index) for index in range(PODS)]
    pods += [make_pod(f"waits-{index}").req(cpu="1000").obj() for index in range(PENDING)]
    for obj in (*nodes, *pods):
        scheduler.ingest.changed(obj)
    listers = Listers(lambda: nodes, lambda: pods)
    return Cluster(scheduler, Exposition(metrics, measuring, scheduler), DecisionLog(scheduler), listers)


def _bound(index: int) -> api.Pod:
    pod = make_pod(f"pod-{index}").label("app", f"app-{index % 50}").node(f"node-{index % NODES}").priority(index % 3)
    return pod.req(cpu="100m", memory="256Mi").obj()


class Gaps:
    """The longest that the running loop did nothing else than one thing."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now


@asynccontextmanager
async def watched() -> AsyncGenerator[Gaps, None]:
    gaps = Gaps()
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(gaps.watch())
        yield gaps
        watching.cancel()


async def pages(cluster: Cluster) -> None:
    print(f"{'page':24}{'ms':>10}{'longest gap, ms':>20}{'bytes':>14}")
    async with ControlThread() as thread:
        shown = cluster.endpoints(SchedulingLoopPort(asyncio.get_running_loop(), 60.0))
        parts: dict[str, Callable[[], Awaitable[bytes | str]]] = {
            "(nothing, 1 s)": _nothing,
            "/metrics": shown.metrics,
            "/metrics/resources": shown.resources,
            "/debug/cache": shown.cache,
            "/debug/queue": shown.queue,
        }
        for name, page in parts.items():
            async with watched() as gaps:
                began = time.perf_counter()
                text = await thread.begin(_made(page))
                took = time.perf_counter() - began
            print(f"{name:24}{took * 1e3:10.0f}{gaps.longest * 1e3:20.1f}{len(text):14,}", flush=True)


async def _made(page: Callable[[], Awaitable[bytes | str]]) -> bytes | str:
    return await page()


async def _nothing() -> bytes:
    await asyncio.sleep(1.0)
    return b""


# -- handshakes ----------------------------------------------------------------------------------------------------------


def shake_hands(port: int, seconds: float) -> int:
    """Send requests without a token one after the other, at a limited rate; return their number."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    end, made = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain):
            made += 1
        time.sleep(1 / HANDSHAKES_A_SECOND)
    return made


@asynccontextmanager
async def server(endpoints: Endpoints) -> AsyncGenerator[Server, None]:
    own = self_signed(("127.0.0.1",), datetime.datetime.now(datetime.UTC))
    tls = ServerTls(TlsOptions(), lambda: own)
    async with http_transport(Connection("http://127.0.0.1:9")) as nowhere:
        access = AccessControl(ApiReviews(nowhere), RealClock())
        async with Server(Listen("127.0.0.1", 0, tls.context), endpoints, access) as serving:
            yield serving


async def handshakes(cluster: Cluster) -> None:
    print(f"\n{'strangers shake hands with':36}{'handshakes':>12}{'µs of the scheduling thread for each':>40}")
    shown = cluster.endpoints(SchedulingLoopPort(asyncio.get_running_loop()))
    async with server(shown) as here:
        await _besieged("a server in the scheduling loop", here.port)
    async with ControlThread() as thread, thread.entered(lambda: server(shown)) as there:
        await _besieged("a server in the control thread", there.port)


async def _besieged(what: str, port: int) -> None:
    command = [sys.executable, "-m", "benchmarks.pages", str(port), str(SECONDS)]
    before = time.thread_time()
    strangers = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    told, _ = await strangers.communicate()
    spent, made = time.thread_time() - before, int(told)
    print(f"{what:36}{made:12,}{spent / made * 1e6:40,.0f}", flush=True)


def main() -> None:
    cluster = make_cluster()
    gc.collect()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(pages(cluster))
        runner.run(handshakes(cluster))


if __name__ == "__main__":
    print(shake_hands(int(sys.argv[1]), float(sys.argv[2])))
