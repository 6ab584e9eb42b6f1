# SPDX-License-Identifier: Apache-2.0
"""History of a sandbox: past objects, by undoing the later writes that the store has recorded.

The store's version is recorded before every decision and periodically. The cluster can be restored
as far back as the store has its writes, at least 50,000 of them.
"""

from __future__ import annotations

import bisect
from collections import OrderedDict, deque
from typing import Final

from steersman import api
from steersman.cluster.store import Expired, Store
from steersman.kube.observe import DecisionLog, DecisionRecord, beside_scheduling
from steersman.sandbox.web import EventRow, EventRows, WebApi, WebHost, WebRefusal
from steersman.sandbox.web.past import HistoryMark, HistoryPage, PastMoment, api_of_past, mark_of
from steersman.scheduler.assembly import AttemptObserver, Scheduler
from steersman.scheduler.cycle import Decision
from steersman.scheduler.queue import QueuedPodInfo

MAX_MOMENTS: Final = 50_000
MAX_MARKS: Final = 400
MARK_SECONDS: Final = 0.5
CLOSE_SECONDS: Final = 0.05
"""Maximum time between a decision and its record. With a paused clock many have the same time."""
MAX_KEPT: Final = 2
"""Maximum number of cached moments."""
IN_THE_FUTURE: Final = "that has not been yet"
TOO_LONG_AGO: Final = "that is too long ago: the sandbox remembers {} writes at least, from {:.3f} on"


class SandboxHistory(AttemptObserver):
    """The history of one sandbox, over all of its schedulers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Times, versions, and pods decided then ("" if none), oldest first.
        self._times: deque[float] = deque(maxlen=MAX_MOMENTS)
        self._versions: deque[int] = deque(maxlen=MAX_MOMENTS)
        self._pods: deque[str] = deque(maxlen=MAX_MOMENTS)
        self._marks: deque[HistoryMark] = deque(maxlen=MAX_MARKS)
        #: Moments by version and time; the least recently used one is evicted first.
        self._kept: OrderedDict[tuple[int, float], WebApi] = OrderedDict()

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """Record the version; the binding is not written yet."""
        self.note(queued.key)

    def note(self, pod: str = "") -> None:
        """Record the store's current version."""
        self._pods.append(pod)
        self._times.append(self._store.clock.now())
        self._versions.append(self._store.version)

    def mark(self, scheduler: Scheduler) -> None:
        """Add a mark for the slider, unless nothing was written since the last one."""
        if self._versions and self._versions[-1] == self._store.version:
            return
        self.note()
        self._marks.append(mark_of(scheduler, self._times[-1]))

    def page(self) -> HistoryPage:
        now, oldest = self._store.clock.now(), self._oldest()
        return HistoryPage(oldest, now, [mark for mark in self._marks if mark.at >= oldest])

    async def api_at(self, at: float, host: WebHost, pod: str = "") -> WebApi:
        """Return the API at a past time, before the decision on the pod if several have that time.
        Raise `WebRefusal` if it is not recorded."""
        if at > self._store.clock.now():
            raise WebRefusal(404, "NotFound", IN_THE_FUTURE)
        version = self._version_at(at, pod)
        known = self._kept.get((version, at))
        if known is None:
            objects = self._objects_at(version, host.scheduler)
            moment = PastMoment(at, objects, *_until(at, host.decisions, host.events), _chosen_at(at, host.decisions))
            known = (await beside_scheduling(api_of_past(host, moment)))[-1]
            assert known is not None, "the last part is the API"
            self._kept[version, at] = known
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end((version, at))
        return known

    def _version_at(self, at: float, pod: str) -> int:
        """Return the version right before the changes at that time, or before the decision on the
        pod."""
        times = list(self._times)
        place = bisect.bisect_right(times, at) - 1
        if place < 0 or at < self._oldest():
            raise WebRefusal(404, "NotFound", TOO_LONG_AGO.format(MAX_MOMENTS, self._oldest()))
        earlier = place
        while pod and earlier >= 0 and times[earlier] >= at - CLOSE_SECONDS:
            if self._pods[earlier] == pod:
                return self._versions[earlier]
            earlier -= 1
        return self._versions[place]

    def _oldest(self) -> float:
        """Return the first time since which the store has recorded every write."""
        while self._versions:
            try:
                self._store.commits_since(self._versions[0])
            except Expired:
                for remembered in (self._times, self._versions, self._pods):
                    remembered.popleft()
                continue
            return self._times[0]
        return self._store.clock.now()

    def _objects_at(self, version: int, scheduler: Scheduler) -> list[api.Object]:
        """Return the scheduler's objects at that version: the present ones with later writes
        undone."""
        kinds = scheduler.known_kinds
        objects = {kind: dict(self._store.objects(kind)) for kind in kinds}
        for commit in reversed(self._store.commits_since(version)):
            found = objects.get(commit.kind)
            obj = commit.old or commit.new
            if found is None or obj is None:
                continue
            if commit.old is None:
                found.pop(api.key(obj), None)
            else:
                found[api.key(obj)] = commit.old
        return [obj for kind in kinds for obj in objects[kind].values()]


def _until(at: float, decisions: DecisionLog, events: EventRows) -> tuple[list[DecisionRecord], list[EventRow]]:
    """Return the decisions before that time and the events up to it, oldest first."""
    known = [record for record in reversed(decisions.recent(len(decisions))) if record.at < at]
    return known, [event for event in reversed(events.recent(1_000_000)) if event.at <= at]


def _chosen_at(at: float, decisions: DecisionLog) -> dict[str, str]:
    """Return the nodes that pods got at that moment."""
    return {record.pod: record.node for record in decisions.recent(len(decisions)) if record.at == at}
