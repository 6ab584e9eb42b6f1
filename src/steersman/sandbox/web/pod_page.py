# SPDX-License-Identifier: Apache-2.0
"""Pod page: its place, timeline, decisions, and the cause for which it waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.explain import PendingCauses
from steersman.kube.observe import DecisionLog, DecisionRecord
from steersman.sandbox.web.answers import EventRow, WebPart, seconds_of
from steersman.sandbox.web.attempt_feed import AttemptFeed
from steersman.sandbox.web.event_rows import KUBELET, EventRows
from steersman.sandbox.web.pending import next_attempt_of
from steersman.sandbox.web.pod_places import attempts_of, place_of
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import Cause, Outcome, RequeueEvents, requeue_events
from steersman.scheduler.queue import Place, QueuedPodInfo

MAX_EVENTS: Final = 50


class TimelineEntry(WebPart, frozen=True, omit_defaults=True):
    """An event in a pod's life, or a period, which has `until`; None while it lasts."""

    kind: str
    at: float
    text: str
    until: float | msgspec.UnsetType | None = msgspec.UNSET
    node: str = ""
    decision: int | None = None


class PodPage(WebPart, frozen=True):
    now: float
    pod: str
    uid: str
    place: str
    phase: str
    node: str
    nominated_node: str
    profile: str
    priority: int
    created: float
    requests: dict[str, int]
    attempts: int
    timeline: list[TimelineEntry]
    decisions: list[DecisionRecord]
    events: list[EventRow]
    yaml: str = ""
    owner: str | msgspec.UnsetType = msgspec.UNSET
    cause: Cause | msgspec.UnsetType = msgspec.UNSET
    wakers: tuple[RequeueEvents, ...] | msgspec.UnsetType = msgspec.UNSET
    next_attempt: float | msgspec.UnsetType | None = msgspec.UNSET


def pod_page(
    scheduler: Scheduler,
    decisions: DecisionLog,
    attempts: AttemptFeed,
    events: EventRows,
    causes: PendingCauses,
    pod: api.Pod,
) -> PodPage:
    """Return the page without the manifest."""
    meta, key, now = pod.metadata, api.key(pod), scheduler.clock.now()
    known, queued = decisions.decisions_on(key), scheduler.queue.get(key)
    pod_events = events.about(f"Pod {key}", MAX_EVENTS)
    profile = pod.scheduler_name
    page = PodPage(
        now=now,
        pod=key,
        uid=meta.uid,
        place=place_of(scheduler, key, pod),
        phase=pod.status.phase,
        node=pod.spec.node_name,
        nominated_node=pod.status.nominated_node_name,
        profile=profile,
        priority=pod.spec.priority or 0,
        created=seconds_of(meta.creation_timestamp),
        requests=scheduler.cache.shapes.info(pod).shape.requests,
        attempts=max(attempts_of(scheduler, attempts, key), len(known)),
        timeline=sorted(_timeline(scheduler, pod, known, queued, pod_events), key=lambda entry: entry.at),
        decisions=known,
        events=pod_events,
        owner=_owner(pod),
    )
    if queued is None:
        return page
    found = scheduler.profiles.get(queued.profile)
    return msgspec.structs.replace(
        page,
        cause=causes.cause_of(queued).cause,
        wakers=requeue_events(found.hints, queued.rejectors) if found is not None else (),
        next_attempt=next_attempt_of(scheduler, queued, now),
    )


def _owner(pod: api.Pod) -> str | msgspec.UnsetType:
    owner = next((one for one in pod.metadata.owner_references if one.controller), None)
    return msgspec.UNSET if owner is None else f"{owner.kind} {pod.metadata.namespace}/{owner.name}"


def _timeline(
    scheduler: Scheduler,
    pod: api.Pod,
    known: list[DecisionRecord],
    queued: QueuedPodInfo | None,
    pod_events: list[EventRow],
) -> Iterator[TimelineEntry]:
    yield TimelineEntry("created", seconds_of(pod.metadata.creation_timestamp), "created")
    yield from _attempts(known)
    if queued is not None:
        yield from _waiting(scheduler, queued, known, scheduler.clock.now())
    if pod.status.nominated_node_name and not pod.spec.node_name and known:
        node = pod.status.nominated_node_name
        yield TimelineEntry("nominated", known[0].at, f"room is being made on {node}", node=node)
    yield from _conditions(pod, known, pod_events)
    if pod.metadata.deletion_timestamp is not None:
        yield TimelineEntry("deleted", seconds_of(pod.metadata.deletion_timestamp), "is being deleted")


def _attempts(known: list[DecisionRecord]) -> Iterator[TimelineEntry]:
    for index, record in enumerate(known):
        if record.outcome is Outcome.SCHEDULED:
            text = f"scheduled on {record.node}, one of {record.feasible_nodes} nodes that fitted"
        else:
            text = record.message or str(record.outcome)
        yield TimelineEntry("attempt", record.at, text, node=record.node, decision=index)


def _waiting(
    scheduler: Scheduler, queued: QueuedPodInfo, known: list[DecisionRecord], now: float
) -> Iterator[TimelineEntry]:
    """Yield the current period."""
    begin = known[0].at if known else seconds_of(queued.pod.metadata.creation_timestamp)
    until = next_attempt_of(scheduler, queued, now)
    if queued.is_gated:
        yield TimelineEntry("gated", begin, f"held back by {queued.gating_plugin}", until=None)
    elif queued.place in (Place.BACKOFF, Place.ERROR_BACKOFF):
        yield TimelineEntry("backoff", begin, "waits for the end of its backoff", until=until)
    elif queued.place is Place.UNSCHEDULABLE:
        plugins = ", ".join(sorted(queued.rejectors)) or "an event"
        yield TimelineEntry("unschedulable", begin, f"waits for {plugins}", until=until)
    else:
        yield TimelineEntry("queued", begin, f"in the active queue since {queued.moved_by}")


def _conditions(pod: api.Pod, known: list[DecisionRecord], pod_events: list[EventRow]) -> Iterator[TimelineEntry]:
    """Yield entries from the pod's status. Its times are whole seconds: decisions and events of the
    same second give the exact time. A pod is bound after its decision, and started after that."""
    decided = [record.at for record in known if record.outcome is Outcome.SCHEDULED]
    reported = [event.at for event in pod_events if event.reason == "Scheduled"]
    bound = 0.0
    for condition in pod.status.conditions:
        if condition.type == api.POD_SCHEDULED and condition.status == "True":
            second = seconds_of(condition.last_transition_time)
            bound = max((at for at in (*decided, *reported) if _is_within(at, second)), default=second)
            yield TimelineEntry("bound", bound, f"bound to {pod.spec.node_name}", node=pod.spec.node_name)
    if pod.status.start_time is not None:
        second = seconds_of(pod.status.start_time)
        begun = (event.at for event in pod_events if event.component == KUBELET and _is_within(event.at, second))
        at = max(min(begun, default=second), bound if _is_within(bound, second) else second)
        yield TimelineEntry("started", at, "the kubelet has begun with it")
    if pod.status.phase in api.FINISHED_PHASES:
        ended = [seconds_of(one.last_transition_time) for one in pod.status.conditions if one.type == "Ready"]
        if ended:
            yield TimelineEntry("finished", max(ended), pod.status.phase)


def _is_within(at: float, second: float) -> bool:
    return second <= at < second + 1
