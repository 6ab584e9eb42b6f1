"""The endpoints of a running scheduler: fills `Endpoints` from `observe`. Hosts add their health checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from steersman import api
from steersman.assembly import Scheduler
from steersman.config import public_document
from steersman.observe import (
    Comparison,
    DecisionLog,
    Exposition,
    HealthMetrics,
    compare,
    dump_cache,
    dump_queue,
    dump_tasks,
    pod_resources,
)
from steersman.serving.endpoints import Decisions, Endpoints
from steersman.serving.health import Check, Health

CLEAN = "The cache agrees with the listers.\n"


@dataclass(frozen=True, slots=True)
class Listers:
    """What the API server last showed, apart from the scheduler's cache."""

    nodes: Callable[[], Iterable[api.Node]]
    pods: Callable[[], Iterable[api.Pod]]
    #: Objects that cannot be used, each as a line of text.
    set_aside: Callable[[], Iterable[object]] = tuple


def compare_with(listers: Listers, scheduler: Scheduler) -> Comparison:
    return compare(listers.nodes(), listers.pods(), scheduler.cache, scheduler.queue, scheduler.profiles)


def scheduler_endpoints(
    scheduler: Scheduler,
    exposition: Exposition,
    decisions: DecisionLog,
    listers: Listers,
    healthz: Iterable[Check] = (),
    readyz: Iterable[Check] = (),
) -> Endpoints:
    checks = HealthMetrics()
    return Endpoints(
        metrics=exposition.render,
        resources=lambda: asyncio.to_thread(pod_resources, list(listers.pods())),
        health=checks.render,
        configuration=lambda: public_document(scheduler.options.configuration),
        cache=lambda: _cache_text(scheduler, listers),
        queue=lambda: dump_queue(scheduler.queue),
        decisions=Decisions(decisions.recent, decisions.of, decisions.explain),
        tasks=dump_tasks if scheduler.options.configuration.enable_profiling else None,
        healthz=Health("healthz", healthz, checks.checked),
        livez=Health("livez", (), checks.checked),
        readyz=Health("readyz", readyz, checks.checked),
    )


def _cache_text(scheduler: Scheduler, listers: Listers) -> str:
    found = compare_with(listers, scheduler)
    return f"{found.text() or CLEAN}\n{dump_cache(scheduler.cache, scheduler.queue, listers.set_aside())}"
