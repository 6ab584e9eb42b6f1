# SPDX-License-Identifier: Apache-2.0
"""The pages of a moment of the past: a second scheduler, told of the objects of that moment, that decides nothing.

Hosts that know the objects of former times give them, with the decisions up to then; out goes a `WebApi` that answers as one
would have then. Pods that had been rejected wait where rejected pods wait. `sandbox.history` and `recorded_moment` use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.clock import ManualClock
from steersman.embedded import Store
from steersman.explain import Outcome
from steersman.observe import DecisionLog, DecisionRecord
from steersman.sim.driver import Driver
from steersman.web.answers import EventRow, WebPart, lane_counts
from steersman.web.attempt_feed import AttemptFeed
from steersman.web.cluster_feed import ClusterFeed, ClusterSource
from steersman.web.configuration_page import ConfigurationSource
from steersman.web.event_rows import EventRows
from steersman.web.host import WebHost
from steersman.web.http_api import WebApi

_replace = msgspec.structs.replace


class HistoryMark(WebPart, frozen=True):
    """A moment for the slider, with a few numbers."""

    at: float
    pods: int
    pending: int
    nodes: int


class HistoryPage(WebPart, frozen=True):
    from_: float = msgspec.field(name="from")
    to: float
    marks: list[HistoryMark]


def mark_of(scheduler: Scheduler, at: float) -> HistoryMark:
    """The numbers of the slider, in the loop that schedules."""
    table, pending = scheduler.cache.nodes, lane_counts(scheduler.queue).total
    return HistoryMark(at, int(table.pod_count.values[table.alive].sum()), pending, table.node_count)


class PastMoment(NamedTuple):
    """The knowledge of a moment: decisions and events are those up to then, oldest first."""

    at: float
    objects: Iterable[api.Object]
    decisions: Sequence[DecisionRecord]
    events: Sequence[EventRow]
    #: The nodes that were decided on at that very moment, by pod.
    chosen: Mapping[str, str]


def api_of_past(host: WebHost, moment: PastMoment) -> Iterator[WebApi | None]:
    """None after every object, then the API: whoever asks may do something else in between."""
    options = _replace(host.scheduler.options, extenders=(), instruments=None, postpones=False)
    clock = ManualClock(moment.at)
    store = Store(clock)
    driver = Driver(store, clock, 0, options)
    for obj in moment.objects:
        store.create(_replace(obj, metadata=_replace(obj.metadata, resource_version="")))
        yield None
    driver.refresh_plugins_once()
    yield past_api(driver.scheduler, host.kind, moment, host.written)


def past_api(scheduler: Scheduler, kind: str, moment: PastMoment, written: ConfigurationSource) -> WebApi:
    """The pages of a scheduler that has the objects of the moment, and has decided nothing."""
    _set_aside(scheduler, moment.decisions)
    decisions, attempts, events = DecisionLog(scheduler), AttemptFeed(scheduler), EventRows()
    decisions.extend(moment.decisions)
    for event in moment.events:
        events.add(event)
    past = WebHost(kind, scheduler, decisions, attempts, events, chosen=moment.chosen, written=written)
    return WebApi(past, ClusterFeed(ClusterSource(scheduler, attempts, events), past.ask))


def _set_aside(scheduler: Scheduler, decisions: Sequence[DecisionRecord]) -> None:
    """Pods whose last decision was a rejection are not active."""
    latest = {record.pod: record for record in decisions}
    for key, pod in scheduler.pods.items():
        record = latest.get(key)
        if pod.spec.node_name or record is None or record.outcome is not Outcome.UNSCHEDULABLE:
            continue
        queued = scheduler.queue.pop_specific(pod)
        if queued is not None:
            queued.record_attempt(record.rejected_by)
            scheduler.queue.add_unschedulable_if_not_present(queued)
