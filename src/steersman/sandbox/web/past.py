# SPDX-License-Identifier: Apache-2.0
"""Pages of a past time, from a second scheduler with the objects of that time that decides nothing.

The input is the objects of that time and the decisions up to then, the output a `WebApi` that
answers as of that time. Pods that had been rejected are unschedulable in its queue. Used by
`sandbox.history` and `recorded_moment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.kube.observe import DecisionLog, DecisionRecord
from steersman.sandbox.web.answers import EventRow, WebPart, sub_queue_sizes
from steersman.sandbox.web.attempt_feed import AttemptFeed
from steersman.sandbox.web.cluster_feed import ClusterFeed, ClusterSource
from steersman.sandbox.web.configuration_page import ConfigurationSource
from steersman.sandbox.web.event_rows import EventRows
from steersman.sandbox.web.host import WebHost
from steersman.sandbox.web.http_api import WebApi
from steersman.sandbox.web.second_scheduler import second_scheduler
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import Outcome


class HistoryMark(WebPart, frozen=True):
    """A time on the slider, with a few numbers."""

    at: float
    pods: int
    pending: int
    nodes: int


class HistoryPage(WebPart, frozen=True):
    from_: float = msgspec.field(name="from")
    to: float
    marks: list[HistoryMark]


def mark_of(scheduler: Scheduler, at: float) -> HistoryMark:
    """Return the numbers for the slider. Call it in the scheduling thread."""
    table, pending = scheduler.cache.nodes, sub_queue_sizes(scheduler.queue).total
    return HistoryMark(at, int(table.pod_count.values[table.alive].sum()), pending, table.node_count)


class PastMoment(NamedTuple):
    """Objects of a past time, and decisions and events up to then, oldest first."""

    at: float
    objects: Iterable[api.Object]
    decisions: Sequence[DecisionRecord]
    events: Sequence[EventRow]
    #: Nodes of pods that were decided at that time.
    chosen: Mapping[str, str]


def api_of_past(host: WebHost, moment: PastMoment) -> Iterator[WebApi | None]:
    """Yield None after every object, so that the caller can do other work, then the API."""
    what_if = yield from second_scheduler(moment.objects, host.scheduler.options, moment.at)
    yield past_api(what_if.scheduler, host.kind, moment, host.written)


def past_api(scheduler: Scheduler, kind: str, moment: PastMoment, written: ConfigurationSource) -> WebApi:
    """Return the API of a scheduler that has the objects of that time and has decided nothing."""
    _requeue_rejected(scheduler, moment.decisions)
    decisions, attempts, events = DecisionLog(scheduler), AttemptFeed(scheduler), EventRows()
    decisions.extend(moment.decisions)
    attempts.add_attempts(record.pod for record in moment.decisions)
    for event in moment.events:
        events.add(event)
    past = WebHost(kind, scheduler, decisions, attempts, events, chosen=moment.chosen, written=written)
    return WebApi(past, ClusterFeed(ClusterSource(scheduler, attempts, events), past.ask))


def _requeue_rejected(scheduler: Scheduler, decisions: Sequence[DecisionRecord]) -> None:
    """Move pods whose last decision was a rejection out of activeQ."""
    latest = {record.pod: record for record in decisions}
    for key, pod in scheduler.pods.items():
        record = latest.get(key)
        if pod.spec.node_name or record is None or record.outcome is not Outcome.UNSCHEDULABLE:
            continue
        queued = scheduler.queue.pop_specific(pod)
        if queued is not None:
            queued.record_attempt(record.rejected_by)
            scheduler.queue.add_unschedulable_if_not_present(queued)
