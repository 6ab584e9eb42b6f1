# SPDX-License-Identifier: Apache-2.0
"""Endpoints of a running scheduler, from `observe`. Hosts add their health checks.

Handlers read data of the scheduling loop through `LoopRunner` and render immutable data themselves.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from steersman import api
from steersman.base import Clock, steersman_version
from steersman.config import public_document
from steersman.kube.observe import (
    DebuggerSnapshot,
    DecisionLog,
    DecisionRecord,
    Exposition,
    HealthMetrics,
    beside_scheduling,
    cache_text,
    debugger_snapshot,
    dump_tasks,
    in_slices,
    pod_resources,
    queue_text,
)
from steersman.kube.serving.endpoints import Decisions, Endpoints, LoopRunner, ProcessFacts, ask_here
from steersman.kube.serving.health import Health, HealthCheck
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import Explanation

CLEAN = "The cache agrees with the listers.\n"


class Listers(msgspec.Struct, frozen=True):
    """Objects as the API server last showed them, independent of the scheduler's cache."""

    nodes: Callable[[], Iterable[api.Node]]
    pods: Callable[[], Iterable[api.Pod]]
    #: Unusable objects, each as a line of text.
    invalid_objects: Callable[[], Iterable[object]] = tuple


def scheduler_snapshot(listers: Listers, scheduler: Scheduler) -> DebuggerSnapshot:
    """Return the scheduler's state and the listers' for comparison."""
    return debugger_snapshot(listers.nodes(), listers.pods(), scheduler.cache, scheduler.queue, scheduler.profiles)


def scheduler_endpoints(
    scheduler: Scheduler,
    exposition: Exposition,
    decisions: DecisionLog,
    listers: Listers,
    healthz: Iterable[HealthCheck] = (),
    readyz: Iterable[HealthCheck] = (),
    livez: Iterable[HealthCheck] = (),
    ask: LoopRunner = ask_here,
    flags: Mapping[str, str] | None = None,
) -> Endpoints:
    """Return the endpoints; `flags` is the command line, None to omit `/flagz`."""
    gates = scheduler.options.gates
    checks, pages = HealthMetrics(), _Pages(scheduler, exposition, decisions, listers, ask)
    return Endpoints(
        metrics=pages.metrics,
        resources=pages.resources,
        health=checks.render,
        configuration=lambda: public_document(scheduler.options.configuration),
        cache=pages.cache,
        queue=pages.queue,
        decisions=Decisions(pages.recent_decisions, pages.decisions_on, pages.explanation),
        tasks=pages.tasks if scheduler.options.configuration.enable_profiling else None,
        flags=flags if gates.enabled("ComponentFlagz") else None,
        process=_process_facts(scheduler.clock, str(gates.version)) if gates.enabled("ComponentStatusz") else None,
        healthz=Health("healthz", healthz, checks.checked),
        livez=Health("livez", livez, checks.checked),
        readyz=Health("readyz", readyz, checks.checked),
    )


def _process_facts(clock: Clock, emulated: str) -> ProcessFacts:
    runtime = f"{platform.python_implementation()} {platform.python_version()}"
    return ProcessFacts(steersman_version(), emulated, runtime, clock.now(), clock.now)


class _Pages(msgspec.Struct, frozen=True):
    """Pages of one scheduler. Nested functions run in the scheduling loop."""

    scheduler: Scheduler
    exposition: Exposition
    log: DecisionLog
    listers: Listers
    ask: LoopRunner

    async def metrics(self) -> bytes:
        async def refresh() -> None:
            self.exposition.refresh()

        await self.ask(refresh)
        return b"".join(await beside_scheduling(self.exposition.text()))

    async def resources(self) -> bytes:
        async def pods() -> Sequence[api.Pod]:
            return list(self.listers.pods())

        return "".join(await beside_scheduling(pod_resources(await self.ask(pods)))).encode()

    async def cache(self) -> str:
        async def believed() -> tuple[DebuggerSnapshot, list[str]]:
            found = scheduler_snapshot(self.listers, self.scheduler)
            return found, await in_slices(
                cache_text(self.scheduler.cache, self.scheduler.queue, self.listers.invalid_objects())
            )

        found, text = await self.ask(believed)
        compared = await found.compare(beside_scheduling)
        return "".join((compared.text() or CLEAN, "\n", *text))

    async def queue(self) -> str:
        async def text() -> list[str]:
            return await in_slices(queue_text(self.scheduler.queue))

        return "".join(await self.ask(text))

    async def tasks(self) -> str:
        async def text() -> str:
            return dump_tasks()

        return await self.ask(text)

    async def recent_decisions(self, count: int) -> Sequence[DecisionRecord]:
        async def records() -> Sequence[DecisionRecord]:
            return self.log.recent(count)

        return await self.ask(records)

    async def decisions_on(self, pod: str) -> Sequence[DecisionRecord]:
        async def records() -> Sequence[DecisionRecord]:
            return self.log.decisions_on(pod)

        return await self.ask(records)

    async def explanation(self, pod: str) -> Explanation | None:
        async def explained() -> Explanation | None:
            return self.log.explain(pod)

        return await self.ask(explained)
