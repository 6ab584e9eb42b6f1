# SPDX-License-Identifier: Apache-2.0
"""Checks for several schedulers of one name, and for pods whose scheduler does not exist.

Based on events, which name scheduler and instance. The API server deletes them after about an hour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from steersman import api
from steersman.api import timestamps
from steersman.base import SteersmanError
from steersman.kube.client import Event
from steersman.run.doctor.finding import Finding, fail, ok, warn
from steersman.run.doctor.leases import KUBE_SCHEDULER, scheduler_leases
from steersman.run.doctor.target import DoctorTarget

INSTANCES: Final = "schedulers"
PENDING: Final = "pods"
UNASSIGNED: Final = "spec.nodeName="
#: More changes than failovers and rollouts cause while the API server keeps events.
MANY_CHANGES: Final = 3


async def check_instances(target: DoctorTarget) -> list[Finding]:
    """Return a finding per configured scheduler name."""
    return [judged(name, await target.events_of(name)) for name in target.scheduler_names]


def judged(scheduler: str, events: Iterable[Event]) -> Finding:
    """Judge by changes of the instance: rare for failovers, frequent for concurrent schedulers."""
    heard = [instance for _, instance in sorted(moment for event in events for moment in _moments(event))]
    if not heard:
        return ok(INSTANCES, f"no scheduler named {scheduler} has reported anything lately")
    changes = sum(one != other for one, other in pairwise(heard))
    names = " and ".join(dict.fromkeys(heard))
    if changes > MANY_CHANGES:
        text = f"several schedulers named {scheduler} work at the same time: {names}"
        return fail(INSTANCES, text, "let them share a lease, or give one another schedulerName")
    if changes > 1:
        text = f"{scheduler} changed hands {changes} times lately, among {names}"
        return warn(INSTANCES, text, "see whether replicas restart, or whether they do not share a lease")
    return ok(INSTANCES, f"{scheduler} was last heard as {heard[-1]}")


def _moments(event: Event) -> Iterator[tuple[float, str]]:
    """Yield the first and last report of an instance. kube-scheduler's events about its lease have
    no instance and are skipped."""
    if not event.reporting_instance:
        return
    yield _moment(event.event_time) or _moment(event.metadata.creation_timestamp), event.reporting_instance
    if event.series is not None and event.series.last_observed_time:
        yield _moment(event.series.last_observed_time), event.reporting_instance


def _moment(text: str | None) -> float:
    return timestamps.parse(text) if text else 0.0


async def check_pods(target: DoctorTarget) -> list[Finding]:
    waiting: dict[str, list[str]] = defaultdict(list)
    for pod in await target.objects(api.Pod, UNASSIGNED):
        if not pod.spec.node_name and pod.metadata.deletion_timestamp is None:
            waiting[pod.scheduler_name].append(api.key(pod))
    own = sum(len(waiting.get(name, ())) for name in target.scheduler_names)
    findings = [ok(PENDING, f"pods that wait for {', '.join(target.scheduler_names)}: {own}")]
    for scheduler in sorted(waiting.keys() - set(target.scheduler_names)):
        if not await _emits_events(target, scheduler):
            findings.append(_unserved(scheduler, waiting[scheduler]))
    return findings


def _unserved(scheduler: str, pods: Sequence[str]) -> Finding:
    some = ", ".join(pods[:3]) + (", …" if len(pods) > 3 else "")
    text = f"nothing was heard lately of scheduler {scheduler}; pods that ask for it: {len(pods)} ({some})"
    return warn(PENDING, text, "start that scheduler, add a profile of that name, or correct spec.schedulerName")


async def _emits_events(target: DoctorTarget, scheduler: str) -> bool:
    """Return whether a scheduler is active, by its events or, for the default one, its lease."""
    if await target.events_of(scheduler):
        return True
    if scheduler != api.DEFAULT_SCHEDULER_NAME:
        return False
    try:
        leases = await scheduler_leases(target)
    except SteersmanError:
        return False
    return any(lease.key == KUBE_SCHEDULER and lease.is_fresh for lease in leases)
