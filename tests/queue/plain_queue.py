# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue as one would explain it: no heaps, no indexes, every question answered by looking at every pod.

The slow twin of `steersman.scheduler.queue` for `test_queue_against_plain_model`. Every pod in flight keeps its own list of the
events it missed, instead of all of them sharing a log.
"""

from __future__ import annotations

from dataclasses import dataclass, field

INITIAL_BACKOFF, MAX_BACKOFF, MAX_STAY = 1.0, 10.0, 60.0

NODE_ADD, NODE_LABEL, POD_LABEL, POD_UPDATE, ANYTHING = "NodeAdd", "NodeLabel", "PodLabel", "PodUpdate", "*"

REGISTERED = {
    "Fit": {NODE_ADD},
    "Claims": {NODE_ADD, NODE_LABEL},
    "Affinity": {NODE_LABEL, POD_LABEL},
    "Stubborn": set(),
    "Gate": {NODE_LABEL},
}
"""Plugin → events that it registered for; its hint function always consents."""


@dataclass
class PlainPod:
    name: str
    uid: str
    priority: int
    since: float
    place: str = "outside"
    rejected_by: set[str] = field(default_factory=set)
    pending_on: set[str] = field(default_factory=set)
    is_gated: bool = False
    rejections: int = 0
    errors: int = 0
    flushed_at: float = -1.0
    missed: list[tuple[str, str | None]] = field(default_factory=list)
    """Events since the pop, each with the UID of the pod it is meant for, if it is meant for one."""

    @property
    def backoff_until(self) -> float:
        failures = self.errors or self.rejections
        return (self.since + min(INITIAL_BACKOFF * 2 ** (failures - 1), MAX_BACKOFF)) // 1 if failures else -1.0


class PlainQueue:
    def __init__(self) -> None:
        self.now = 0.0
        self.queued: dict[str, PlainPod] = {}
        self.in_flight: dict[str, PlainPod] = {}
        self.held_back: set[str] = set()

    def in_place(self, place: str) -> list[PlainPod]:
        return [pod for pod in self.queued.values() if pod.place == place]

    def active_order(self) -> list[PlainPod]:
        return sorted(self.in_place("active"), key=lambda pod: (-pod.priority, pod.since))

    def backoff_order(self) -> list[PlainPod]:
        return sorted(self.in_place("backoff"), key=lambda pod: (pod.backoff_until, -pod.priority, pod.since))

    def add(self, name: str, uid: str, priority: int) -> None:
        self._enter(PlainPod(name, uid, priority, self.now), "active")

    def update(self, name: str, uid: str, priority: int, event: str) -> None:
        pod = self.queued[name]
        pod.uid, pod.priority = uid, priority
        if pod.place == "unschedulable":
            self._act(pod, self._answer(pod, event, None))

    def delete(self, name: str) -> None:
        self.queued.pop(name, None)

    def pop(self) -> PlainPod | None:
        candidates = self.active_order() or self.backoff_order()
        if not candidates:
            return None
        pod = candidates[0]
        del self.queued[pod.name]
        pod.place = "in flight"
        pod.missed = []
        self.in_flight[pod.uid] = pod
        return pod

    def done(self, uid: str) -> None:
        self.in_flight.pop(uid, None)

    def fail(self, uid: str, rejected_by: set[str], pending_on: set[str]) -> bool:
        """False if another pod of that name is queued."""
        pod = self.in_flight.pop(uid)
        if pod.name in self.queued:
            return False
        pod.rejected_by, pod.pending_on = set(rejected_by), set(pending_on)
        if rejected_by or pending_on:
            pod.rejections, pod.errors = pod.rejections + 1, 0
        else:
            pod.errors += 1
        pod.since, pod.flushed_at = self.now, -1.0
        answers = [self._answer(pod, event, target) for event, target in pod.missed]
        self._act(pod, max(answers, default=0) if rejected_by or pending_on else 1)
        return True

    def event(self, event: str) -> None:
        if not any(event in events for events in REGISTERED.values()):
            return
        for pod in self.in_place("unschedulable"):
            if not pod.is_gated or event in REGISTERED["Gate"]:
                self._act(pod, self._answer(pod, event, None))
        self.miss(event, None)

    def activate(self, name: str, uid: str) -> None:
        pod = self.queued.get(name)
        if pod is not None and pod.place == "unschedulable":
            if self._enter(pod, "active"):
                return
        elif pod is not None and pod.place in ("backoff", "error backoff"):
            pod.place = "active"
            return
        if uid in self.in_flight:
            self.miss(ANYTHING, uid)

    def flush_backoff(self) -> None:
        for pod in self.in_place("backoff") + self.in_place("error backoff"):
            if pod.backoff_until < self.now // 1:
                pod.place = "active"

    def flush_unschedulable(self) -> None:
        overdue = [p for p in self.in_place("unschedulable") if self.now - max(p.since, p.flushed_at) > MAX_STAY]
        for pod in overdue:
            pod.flushed_at = self.now
            self._act(pod, self._answer(pod, ANYTHING, None))
        if overdue:
            self.miss(ANYTHING, None)

    def miss(self, event: str, target: str | None) -> None:
        for pod in self.in_flight.values():
            pod.missed.append((event, target))

    def _answer(self, pod: PlainPod, event: str, target: str | None) -> int:
        """0: stay. 1: try again after the backoff. 2: try again at once."""
        if event == ANYTHING:
            return int(target in (None, pod.uid))
        consenting = {plugin for plugin in pod.rejected_by | pod.pending_on if event in REGISTERED[plugin]}
        return 2 if consenting & pod.pending_on else int(bool(consenting))

    def _act(self, pod: PlainPod, answer: int) -> None:
        if answer == 0:
            pod.place = "unschedulable"
            self.queued[pod.name] = pod
        elif answer == 1 and pod.backoff_until >= self.now // 1:
            self._enter(pod, "backoff" if pod.rejected_by or pod.pending_on else "error backoff")
        else:
            self._enter(pod, "active")

    def _enter(self, pod: PlainPod, place: str) -> bool:
        pod.is_gated = pod.name in self.held_back
        if pod.is_gated:
            pod.rejected_by.add("Gate")
            resident = self.queued.get(pod.name)
            if resident is not None and resident.place not in ("outside", "unschedulable"):
                return False
        pod.place = "unschedulable" if pod.is_gated else place
        self.queued[pod.name] = pod
        return not pod.is_gated
