# SPDX-License-Identifier: Apache-2.0
"""A side of the comparison with our controllers: a store that keeps documents, and time that passes when it is told to."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, cast

from tests.controllers.comparison.running import Refused
from tests.controllers.comparison.scenario import Document, Scenario

from steersman import api
from steersman.api import codec
from steersman.base.clock import ManualClock
from steersman.cluster.controllers import Cluster, start
from steersman.cluster.store import KubeAdmission, NotFound, Pods, Propagation, StatusError, Store, delete

START: Final = 1926000000.0
"""2031-01-12T16:00:00Z"""
SIMILAR_EVENTS: Final = 10
"""From so many on, events of one object and reason are one, which client-go says in the message."""
COMBINED: Final = "(combined from similar events): "


class PatientTimers:
    """Implements `embedded.Timers`; runs what is due when asked to."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, callback))

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def run_next(self) -> None:
        time, _, callback = heapq.heappop(self._heap)
        self._clock.set(max(time, self._clock.now()))
        callback()


class EmbeddedSide:
    """Implements `running.Side`."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._clock = ManualClock(START)
        self._store = Store(
            self._clock,
            admission=KubeAdmission(enforces_classes=True),
            keeps_documents=True,
            awaited_finalizers=None,
        )
        self._timers = PatientTimers(self._clock)
        self._events: list[Document] = []
        self._similar: Counter[tuple[str, str, str]] = Counter()
        self._last_write = START
        self._store.subscribe(lambda *_: self._wrote(), None)
        start(Cluster(self._store, self._timers, self._record))

    def create(self, document: Document) -> Document:
        try:
            return self._document(self._store.create(codec.convert_object(document), document), document)
        except StatusError as refusal:
            raise Refused(refusal.message) from None

    def replace(self, document: Document, subresource: str = "") -> Document:
        metadata = {name: value for name, value in document["metadata"].items() if name != "resourceVersion"}
        document = {**document, "metadata": metadata}
        write = self._store.update_status if subresource else self._store.update
        return self._document(write(codec.convert_object(document), document), document)

    def delete(self, kind: str, name: str, propagation: str | None, grace_seconds: int | None = None) -> None:
        cls, policy = api.KINDS[kind], cast("Propagation | None", propagation)
        place = f"{self._scenario.namespace}/{name}" if cls.NAMESPACED else name
        try:
            delete(self._store, cls, place, propagation=policy, grace_period_seconds=grace_seconds)
        except NotFound:
            if grace_seconds != 0:
                raise

    def bind(self, pod: str, node: str) -> None:
        Pods(self._store).bind(self._scenario.namespace, pod, "", node)

    def objects(self, kind: str) -> Sequence[Document]:
        cls = api.KINDS[kind]
        found = [obj for obj in self._store.objects(cls).values() if self._is_ours(obj)]
        return [{"spec": {}, "status": {}, **self._store.document(cls, api.key(obj))} for obj in found]

    def events(self) -> Sequence[Document]:
        """Those of a namespace that is gone have gone with it."""
        is_there = self._store.find(api.Namespace, self._scenario.namespace) is not None
        return [event for event in self._events if is_there or not api.KINDS[event["kind"]].NAMESPACED]

    def now(self) -> float:
        return self._clock.now()

    def rest(self, seconds: float) -> None:
        while (time := self._timers.next_time()) is not None and time <= self._last_write + seconds:
            self._timers.run_next()
        self._clock.set(max(self._clock.now(), self._last_write + seconds))

    def pass_time(self) -> None:
        """To the next timer, at most a second."""
        end = self._clock.now() + 1.0
        time = self._timers.next_time()
        self._clock.set(max(self._clock.now(), end if time is None else min(time, end)))
        while (time := self._timers.next_time()) is not None and time <= self._clock.now():
            self._timers.run_next()

    def _document(self, stored: api.Object, sent: Document) -> Document:
        """The object as stored; what was sent if that was its end."""
        kind, place = type(stored), api.key(stored)
        return sent if self._store.find(kind, place) is None else self._store.document(kind, place)

    def _is_ours(self, obj: api.Object) -> bool:
        if isinstance(obj, api.Namespace):
            return obj.metadata.name == self._scenario.namespace
        return not obj.NAMESPACED or obj.metadata.namespace == self._scenario.namespace

    def _wrote(self) -> None:
        self._last_write = self._clock.now()

    def _record(self, obj: api.Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        similar = (obj.KIND, obj.metadata.name, reason)
        self._similar[similar] += 1
        if self._similar[similar] >= SIMILAR_EVENTS:
            message = f"{COMBINED}{message}"
        kind = "Warning" if is_warning else "Normal"
        name = obj.metadata.name
        self._events.append({"type": kind, "reason": reason, "message": message, "kind": obj.KIND, "name": name})
