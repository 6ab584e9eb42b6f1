# SPDX-License-Identifier: Apache-2.0
"""The unschedulable pods: rejected or gated, waiting for an event.

Pods are indexed by the plugins that rejected them, because an event concerns only a few plugins: a
new label of a node need not be compared with ten thousand pods that wait for memory. Pods gated by
a plugin that implements `ungated_pods` are indexed by that gate alone: if one victim of a thousand
preemptors is deleted, one of them is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from steersman.scheduler.queue.heap import QueuedPodHeap
from steersman.scheduler.queue.queued_pod import Place
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedPodGroup
from steersman.scheduler.queue.settings import QueueMetrics

_ANY_EVENT: Final = ""
"""Index entry of pods that every event concerns: those of profiles without registrations."""
_ALL: Final[Mapping[str, Collection[str]]] = {}


class UnschedulablePods:
    """Waiting pods by key, by rejecting plugin, and by the time at which waiting becomes too
    long."""

    def __init__(
        self, max_stay: int, profiles: Collection[str], releasing_gates: Collection[str], metrics: QueueMetrics
    ) -> None:
        """`releasing_gates` are the PreEnqueue plugins that implement `ungated_pods`."""
        self._max_stay = max_stay
        self._profiles = profiles
        self._releasing_gates = releasing_gates
        self._metrics = metrics
        #: All pods here, ordered by deadline.
        self.pods = QueuedPodHeap(lambda queued: (self.deadline(queued),))
        #: Plugin → pods here that it rejected, by key. No empty values.
        self._by_rejector: dict[str, dict[str, Queued]] = {}
        #: Plugin of `releasing_gates` → pods here that it gates, by uid. These are not in
        #: `_by_rejector`. No empty values.
        self._by_gate: dict[str, dict[str, Queued]] = {}
        #: Pod key → its gate and uid in `_by_gate`.
        self._gate_entries: dict[str, tuple[str, str]] = {}
        #: Pod key → its entries in `_by_rejector`. Together with `_gate_entries` these are the keys
        #: of `pods`.
        self._listed_under: dict[str, frozenset[str]] = {}
        #: Keys of the pods here that are gated.
        self.gated: set[str] = set()
        #: The groups here by key.
        self._groups: dict[str, QueuedPodGroup] = {}

    def deadline(self, queued: Queued) -> int:
        """Return the last time, in microseconds, at which the pod has not waited for too long."""
        return max(queued.timestamp, queued.flushed_at) + self._max_stay

    def add(self, queued: Queued, event: str) -> None:
        """Add a pod, or update the index after the gate or the rejectors of a pod here have
        changed."""
        key = queued.key
        resident = self.pods.get(key)
        if resident is not queued:
            if resident is None:
                self.count_entry(queued, event)
            else:
                self.remove(key)
                resident.move_to(Place.OUTSIDE, event)
        queued.move_to(Place.UNSCHEDULABLE, event)
        if isinstance(queued, QueuedPodGroup):
            self._groups[key] = queued
        self.pods.add(queued)
        self._list(queued)
        (self.gated.add if queued.is_gated else self.gated.discard)(key)

    def update_group(self, group: QueuedPodGroup, event: str) -> None:
        """Update the index for a group here that has a new member. The group is counted as if it
        had left and come back; its deadline and its gate are the same."""
        self.count_entry(group, event)
        group.move_to(Place.UNSCHEDULABLE, event)
        self._list(group)

    def count_entry(self, queued: Queued, event: str) -> None:
        """Count a pod that enters, or that is counted as if it had left and come back."""
        self._metrics.pod_entered(queued, "unschedulable", event)

    def remove(self, key: str) -> Queued | None:
        queued = self.pods.remove(key)
        if queued is not None:
            self._unlist(key)
            self.gated.discard(key)
            self._groups.pop(key, None)
        return queued

    def overdue(self, now: int) -> list[Queued]:
        """Return the pods that have waited for too long; the caller moves them."""
        first = self.pods.peek()
        if first is None or self.deadline(first) >= now:
            return []
        return [queued for queued in self.pods if self.deadline(queued) < now]

    def next_overdue(self) -> int | None:
        """Return the first time at which a pod has waited for too long."""
        first = self.pods.peek()
        return None if first is None else self.deadline(first) + 1

    def rejected_by(self, plugins: Iterable[str], helped: Mapping[str, Collection[str]] = _ALL) -> list[Queued]:
        """Return the pods that an event may move for which only these plugins are registered. For a
        plugin in `helped` only the groups with these keys are considered."""
        found: dict[str, Queued] = {}
        for plugin in (*plugins, _ANY_EVENT):
            listed, keys = self._by_rejector.get(plugin, {}), helped.get(plugin)
            found.update(listed if keys is None else {key: listed[key] for key in keys if key in listed})
        return list(found.values())

    def is_any_rejected_by(self, plugins: Iterable[str]) -> bool:
        """Return whether there are such pods."""
        return any(self._by_rejector.get(plugin) for plugin in (*plugins, _ANY_EVENT))

    def rejections(self) -> dict[str, int]:
        """Return the number of pods by the plugin that rejected or gates them; a pod counts for
        each of them."""
        counts = {plugin: len(pods) for plugin, pods in self._by_rejector.items() if plugin != _ANY_EVENT}
        for group in self._groups.values():
            for plugin in group.rejectors:
                counts[plugin] += group.rejections_by(plugin) - 1
        for plugin, pods in self._by_gate.items():
            counts[plugin] = counts.get(plugin, 0) + len(pods)
        return counts

    def gated_by(self, plugin: str, uids: Collection[str] | None) -> list[Queued]:
        """Return the pods with these uids that the plugin gates; all of its pods if `uids` is
        None."""
        gated = self._by_gate.get(plugin, {})
        if uids is None:
            return list(gated.values())
        if len(gated) < len(uids):
            return [queued for uid, queued in gated.items() if uid in uids]
        return [gated[uid] for uid in uids if uid in gated]

    def _list(self, queued: Queued) -> None:
        key = queued.key
        is_group = isinstance(queued, QueuedPodGroup)
        if queued.gating_plugin in self._releasing_gates and queued.profile in self._profiles and not is_group:
            entry = queued.gating_plugin, queued.uid
            if self._gate_entries.get(key) != entry:
                self._unlist(key)
                self._gate_entries[key] = entry
            self._by_gate.setdefault(entry[0], {})[entry[1]] = queued
            return
        names = queued.rejectors
        if queued.profile not in self._profiles or queued.has_unrejected_pods:
            names |= {_ANY_EVENT}
        if self._listed_under.get(key) == names:
            return
        self._unlist(key)
        self._listed_under[key] = names
        for name in names:
            self._by_rejector.setdefault(name, {})[key] = queued

    def _unlist(self, key: str) -> None:
        if key in self._gate_entries:
            gate, uid = self._gate_entries.pop(key)
            gated = self._by_gate[gate]
            del gated[uid]
            if not gated:
                del self._by_gate[gate]
        for name in self._listed_under.pop(key, ()):
            listed = self._by_rejector[name]
            del listed[key]
            if not listed:
                del self._by_rejector[name]

    def problems(self) -> Iterator[str]:
        yield from self.pods.problems()
        for queued in self.pods:
            if queued.place is not Place.UNSCHEDULABLE:
                yield f"{queued} is among the unschedulable pods"
            if queued.is_gated is not (queued.key in self.gated):
                yield f"{queued} is gated by {queued.gating_plugin!r}, but counted otherwise"
            if not queued.rejectors and not queued.has_unrejected_pods:
                yield f"{queued} waits although nothing rejected it"
            if not self._is_listed(queued):
                yield f"{queued} is listed neither under its gate nor under what rejected it, {sorted(queued.rejectors)}"
        listed = {(name, key) for name, pods in self._by_rejector.items() for key in pods}
        if listed != {(name, key) for key, names in self._listed_under.items() for name in names}:
            yield "the index by plugin does not agree with the list of its entries"
        if self._listed_under.keys() & self._gate_entries.keys():
            yield "a pod is listed under its gate and under what rejected it"
        if (
            not self._listed_under.keys() | self._gate_entries.keys()
            == {queued.key for queued in self.pods}
            >= self.gated
        ):
            yield "the indices by plugin, or the set of gated pods, name pods that are not here"

    def _is_listed(self, queued: Queued) -> bool:
        if queued.key in self._gate_entries:
            gate, uid = self._gate_entries[queued.key]
            return (gate, uid) == (queued.gating_plugin, queued.uid) and self._by_gate[gate][uid] is queued
        return self._listed_under.get(queued.key, frozenset()) - {_ANY_EVENT} == queued.rejectors
