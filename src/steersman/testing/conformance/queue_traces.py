# SPDX-License-Identifier: Apache-2.0
"""Replays recorded operations of kube-scheduler's queue and compares the state after each.

A trace (`FORMAT-queue-config.md`, part 1) has a queue configuration and timed operations, each with
its result, the complete queue state and the changes of pods. `run_trace` returns the differences of
the first operation that differs, where the replay ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman import api
from steersman.base import ManualClock
from steersman.config import FeatureGates, Rule
from steersman.framework import ASSIGNED_POD_ADD, ClusterEvent, node_update_events
from steersman.scheduler.plugins import PrioritySort
from steersman.scheduler.queue import (
    NEVER,
    CountingQueueMetrics,
    Place,
    PodAlreadyQueuedError,
    QueuedPodInfo,
    QueueSettings,
    RecordedEvent,
    SchedulingQueue,
)
from steersman.scheduler.runtime import pod_events_of
from steersman.testing.conformance.difference import GoldenDifference
from steersman.testing.conformance.queue_trace_profiles import (
    ACTIONS,
    TraceGates,
    assigned_pod_added,
    assigned_pod_updated,
    build_profile,
)
from steersman.testing.conformance.setting import gates_of_line

Json = dict[str, Any]

_MILLISECONDS: Final = 1000
_PLACE_NAMES: Final = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.ERROR_BACKOFF: "errorBackoff",
    Place.UNSCHEDULABLE: "unschedulable",
}
_KINDS: Final[Mapping[str, type[api.Object]]] = {"AssignedPod": api.Pod, "UnschedulablePod": api.Pod, "Node": api.Node}


def run_trace(trace: Json) -> list[GoldenDifference]:
    """Replay a trace and return the differences."""
    replay = _Replay(trace["config"], gates_of_line(trace))
    known: Json = {}
    for index, operation in enumerate(trace["ops"]):
        known = _apply_changes(known, operation["changed"])
        expected = {"result": operation["result"], "state": operation["state"], "pods": known}
        actual = {"result": replay.execute(operation), "state": replay.state(), "pods": replay.pods()}
        differences = list(_compare(f"ops[{index}]({operation['op']})", expected, actual))
        if differences:
            return differences
    return list(_compare("metrics", trace["metrics"], replay.metrics()))


def _apply_changes(known: Json, changes: Json) -> Json:
    return {key: info for key, info in {**known, **changes}.items() if info is not None}


def _compare(path: str, expected: Any, actual: Any) -> Iterator[GoldenDifference]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            yield from _compare(f"{path}.{key}", expected.get(key), actual.get(key))
    elif expected != actual:
        yield GoldenDifference(path, expected, actual)


class _Replay:
    """A queue with its environment: the API server's pods, and the popped pods."""

    def __init__(self, config: Json, gates: FeatureGates) -> None:
        self._pod_events = pod_events_of(gates)
        self._clock = ManualClock(config["startMs"] / _MILLISECONDS)
        self._gates = TraceGates()
        self._metrics = CountingQueueMetrics()
        self._store: dict[str, api.Pod] = {}
        self._held: dict[str, QueuedPodInfo] = {}
        self._done: dict[str, QueuedPodInfo] = {}
        #: Whether a queued pod was put back again, which changed its rejectors in place.
        self._tampered = False
        self._namespaces: Mapping[str, Mapping[str, str] | None] = config["namespaces"]
        self._queue = SchedulingQueue(
            {name: build_profile(profile, self._gates) for name, profile in config["profiles"].items()},
            PrioritySort().sort_key,
            self._clock,
            QueueSettings(
                initial_backoff=config["initialBackoffMs"] / _MILLISECONDS,
                max_backoff=config["maxBackoffMs"] / _MILLISECONDS,
                max_in_unschedulable=config["maxUnschedulableMs"] / _MILLISECONDS,
                pod_events=self._pod_events,
                nominates_on_add=gates.has_rule(Rule.GATED_PODS_KEEP_NOMINATIONS),
                uncounts_deleted_pods=gates.has_rule(Rule.DELETED_PODS_ARE_UNCOUNTED),
            ),
            pod_lookup=self._store.get,
            metrics=self._metrics,
        )

    def execute(self, operation: Json) -> Json:
        """Execute an operation and return its result."""
        self._clock.set(operation["t"] / _MILLISECONDS)
        perform: Callable[[Json], Json | None] = getattr(self, f"_do_{operation['op']}")
        result = perform(operation) or {}
        if not self._tampered:
            self._queue.validate_state()
        return result

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self._namespaces.get(namespace) or {}

    def _do_add(self, operation: Json) -> None:
        pod = _pod(operation["pod"])
        self._store[api.key(pod)] = pod
        self._queue.add(pod)

    def _do_update(self, operation: Json) -> Json:
        new = _pod(operation["pod"])
        old = self._store[api.key(new)]
        self._store[api.key(new)] = new
        self._queue.update(old, new)
        return _labels(self._pod_events.of_update(old, new))

    def _do_delete(self, operation: Json) -> None:
        self._queue.delete(self._store.pop(operation["key"]))

    def _do_bind(self, operation: Json) -> None:
        old = self._store[operation["key"]]
        new = msgspec.structs.replace(
            old,
            metadata=msgspec.structs.replace(old.metadata, resource_version=old.metadata.resource_version + "b"),
            spec=msgspec.structs.replace(old.spec, node_name=operation["node"]),
        )
        self._store[operation["key"]] = new
        self._queue.move_all(ASSIGNED_POD_ADD, None, new)
        self._queue.delete(old)

    def _do_pop(self, operation: Json) -> Json:
        queued = self._queue.pop_nowait()
        return self._hand_out(queued if isinstance(queued, QueuedPodInfo) else None)

    def _do_pop_specific(self, operation: Json) -> Json:
        return self._hand_out(self._queue.pop_specific(self._store[operation["key"]]))

    def _hand_out(self, queued: QueuedPodInfo | None) -> Json:
        if queued is None:
            return {"popped": None}
        self._held[queued.uid] = queued
        return {"popped": queued.key, "info": _info(queued)}

    def _do_done(self, operation: Json) -> None:
        uid = operation["uid"]
        if uid in self._held:
            self._done[uid] = self._held.pop(uid)
        self._queue.done(uid)

    def _do_fail(self, operation: Json) -> Json:
        uid = operation["uid"]
        queued = self._held.pop(uid, None) or self._done[uid]
        queued.record_attempt(operation["unschedulablePlugins"] or (), operation["pendingPlugins"] or ())
        if operation.get("raw"):
            self._tampered |= queued.place in _PLACE_NAMES
            return self._put_back(queued)
        current = self._store.get(queued.key)
        path = _path_of_failure(queued, current)
        if current is None or path != "requeue":
            self._queue.done(uid)
            result: Json = {"path": path}
        else:
            queued.replace_pod(current)
            result = self._put_back(queued)
        if "nominate" in operation and path != "recreated":
            self._queue.add_nominated_pod(queued.pod, _nominated_node(operation["nominate"]))
        return result

    def _put_back(self, queued: QueuedPodInfo) -> Json:
        try:
            self._queue.add_unschedulable_if_not_present(queued)
        except PodAlreadyQueuedError as error:
            return {"path": "requeue", "error": str(error)}
        return {"path": "requeue"}

    def _do_activate(self, operation: Json) -> None:
        self._queue.activate([self._store[key] for key in operation["keys"] if key in self._store])

    def _do_event(self, operation: Json) -> None:
        event = ClusterEvent(operation["resource"], ACTIONS[operation["action"]])
        old, new = (_object(event.resource, operation[which]) for which in ("old", "new"))
        limit = operation.get("maxPriority")
        pre_check = None if limit is None else lambda pod: (pod.spec.priority or 0) <= limit
        self._queue.move_all(event, old, new, pre_check)

    def _do_node_update(self, operation: Json) -> Json:
        old, new = (msgspec.convert(operation[which], api.Node) for which in ("old", "new"))
        events = node_update_events(old, new)
        for event in events:
            self._queue.move_all(event, old, new)
        return _labels(events)

    def _do_assigned_pod_update(self, operation: Json) -> Json:
        old, new = _pod(operation["oldPod"]), _pod(operation["pod"])
        events = self._pod_events.of_update(old, new)
        for event in events:
            self._queue.move_all(event, old, new)
        return _labels(events)

    def _do_assigned_pod_added_prefiltered(self, operation: Json) -> None:
        assigned_pod_added(self._queue, _pod(operation["pod"]), self._namespace_labels)

    def _do_assigned_pod_updated_prefiltered(self, operation: Json) -> Json:
        old, new = _pod(operation["oldPod"]), _pod(operation["pod"])
        events = self._pod_events.of_update(old, new)
        for event in events:
            assigned_pod_updated(self._queue, old, new, event, self._namespace_labels)
        return _labels(events)

    def _do_flush_backoff(self, operation: Json) -> None:
        self._queue.flush_backoff()

    def _do_flush_unschedulable(self, operation: Json) -> None:
        self._queue.flush_unschedulable()

    def _do_nominate(self, operation: Json) -> None:
        self._queue.add_nominated_pod(self._store[operation["key"]], _nominated_node(operation["nominate"]))

    def _do_denominate(self, operation: Json) -> None:
        self._queue.delete_nominated_pod_if_exists(self._store[operation["key"]])

    def _do_nominated_for_node(self, operation: Json) -> Json:
        pods = self._queue.nominated_pods_for_node(operation["node"])
        described = [
            {"key": api.key(pod), "uid": pod.metadata.uid, "rv": pod.metadata.resource_version} for pod in pods
        ]
        return {"pods": described}

    def _do_open_gate(self, operation: Json) -> None:
        (self._gates.open_values.add if operation["open"] else self._gates.open_values.discard)(operation["value"])

    def _do_close(self, operation: Json) -> None:
        self._queue.close()

    def state(self) -> Json:
        """Return the complete state in the format of the traces."""
        contents = self._queue.contents()
        return {
            "active": [queued.key for queued in contents.active],
            "backoff": [queued.key for queued in contents.backoff],
            "errorBackoff": [
                queued.key for queued in sorted(contents.error_backoff, key=lambda pod: (pod.backoff_until, pod.key))
            ],
            "unschedulable": sorted(queued.key for queued in contents.unschedulable),
            "gated": sorted(queued.key for queued in contents.unschedulable if queued.is_gated),
            "inFlight": [_in_flight_entry(entry) for entry in contents.in_flight],
            "nominated": {
                node: [ref.uid for ref in self._queue.nominator.for_node(node)]
                for node in self._queue.nominator.nodes()
            },
            "cycle": self._queue.scheduling_cycle,
        }

    def pods(self) -> Json:
        """Return the details of every queued pod by key."""
        contents = self._queue.contents()
        queued_pods = (*contents.active, *contents.backoff, *contents.error_backoff, *contents.unschedulable)
        return {queued.key: {"q": _PLACE_NAMES[queued.place], **_info(queued)} for queued in queued_pods}

    def metrics(self) -> dict[str, int]:
        """Return the non-zero counts of the queue under upstream's names."""
        sizes = self._queue.statistics()
        pending = {
            "active": sizes.active,
            "backoff": sizes.backoff + sizes.error_backoff,
            "unschedulable": sizes.unschedulable,
            "gated": sizes.gated,
        }
        counts = {f"scheduler_pending_pods,queue={queue}": size for queue, size in pending.items()}
        for (queue, event), count in self._metrics.entered.items():
            counts[f"scheduler_queue_incoming_pods_total,event={event},queue={queue}"] = count
        for (plugin, profile), count in self._metrics.rejections.items():
            counts[f"scheduler_unschedulable_pods,plugin={plugin},profile={profile}"] = count
        return {name: count for name, count in counts.items() if count}


def _pod(manifest: Json) -> api.Pod:
    return msgspec.convert(manifest, api.Pod)


def _object(resource: str, manifest: Json | None) -> object:
    if manifest is None:
        return None
    kind = _KINDS.get(resource, api.Object)
    if "containers" in manifest.get("spec", {}):
        kind = api.Pod
    return msgspec.convert(manifest, kind)


def _labels(events: tuple[ClusterEvent, ...]) -> Json:
    return {"events": [event.label for event in events]}


def _nominated_node(nominate: Json) -> str | None:
    return nominate.get("node", "") if nominate["mode"] == "override" else None


def _path_of_failure(queued: QueuedPodInfo, current: api.Pod | None) -> str:
    if current is None:
        return "missing"
    if current.spec.node_name:
        return "assigned"
    return "requeue" if current.metadata.uid == queued.uid else "recreated"


def _in_flight_entry(entry: QueuedPodInfo | RecordedEvent) -> str:
    return f"pod:{entry.uid}" if isinstance(entry, QueuedPodInfo) else f"event:{entry.event.label}"


def _info(queued: QueuedPodInfo) -> Json:
    info: Json = {
        "uid": queued.uid,
        "rv": queued.pod.metadata.resource_version,
        "ts": _milliseconds(queued.timestamp),
        "init": _milliseconds(queued.initial_attempt),
        "attempts": queued.attempts,
        "unschedulableCount": queued.unschedulable_count,
        "errorCount": queued.consecutive_errors,
        "until": _milliseconds(queued.backoff_until),
        "unschedulablePlugins": sorted(queued.unschedulable_plugins) or None,
        "pendingPlugins": sorted(queued.pending_plugins) or None,
        "gate": queued.gating_plugin or None,
        "flushed": queued.was_flushed or None,
        "flushTs": _milliseconds(queued.flushed_at),
    }
    return {name: value for name, value in info.items() if value is not None}


def _milliseconds(moment: int) -> int | None:
    return None if moment == NEVER else moment // _MILLISECONDS
