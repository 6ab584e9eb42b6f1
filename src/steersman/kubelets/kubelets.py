# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: pods that are bound to a node run there, finish, and go when they are deleted.

Listens to the store and writes back to it. Time passes elsewhere (`timers`).

A pod with the annotation `steersman.dev/run-seconds: "30"` succeeds thirty seconds after its start; others run for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

import msgspec

from steersman.api import Condition, Node, Object, Pod, PodStatus, key, timestamps
from steersman.embedded import DELETED, EventType, Store, Timers
from steersman.embedded.pods import FINISHED_PHASES, with_condition
from steersman.errors import InputError

RUN_SECONDS: Final = "steersman.dev/run-seconds"
NOT_SECONDS: Final = "is not a number of seconds"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
POD_COMPLETED: Final = "PodCompleted"
STARTED_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
"""The conditions that are true of a running pod, in the kubelet's order."""
_NOT_READY: Final = ("ContainersReady", "Ready")

_replace = msgspec.structs.replace


class Kubelets:
    """The kubelets of all nodes in the store. Pods start `start_seconds` after they are bound, 0 is at once."""

    def __init__(self, store: Store, timers: Timers, *, start_seconds: float = 0.0) -> None:
        self._store = store
        self._timers = timers
        self._start_seconds = start_seconds
        self._nodes = store.objects(Node)
        self._pods = store.objects(Pod)
        #: Keys of the pods that are bound to a node that does not exist (yet or any more), by its name, in order.
        self._without_node: dict[str, dict[str, None]] = {}
        store.subscribe(self._on_node, (Node,))
        store.subscribe(self._on_pod, (Pod,))

    # -- events ------------------------------------------------------------------------------------------------------

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Node) and old is None:
            self._node_came(new.metadata.name)
        elif isinstance(old, Node) and new is None:
            self._node_went(old.metadata.name)

    def _node_came(self, node: str) -> None:
        for name in self._without_node.pop(node, ()):
            pod = self._pods.get(name)
            if pod is not None and pod.spec.node_name == node:
                self._take(pod)

    def _node_went(self, node: str) -> None:
        left = {name: None for name, pod in self._pods.items() if pod.spec.node_name == node}
        if left:
            self._without_node[node] = left

    def _on_pod(self, what: EventType, old: Object | None, new: Object | None) -> None:
        if what is DELETED or not isinstance(new, Pod) or not new.spec.node_name:
            return
        if not isinstance(old, Pod) or not old.spec.node_name:
            self._take(new)
        elif new.metadata.deletion_timestamp != old.metadata.deletion_timestamp:
            self._terminate(new)

    def _take(self, pod: Pod) -> None:
        """The pod is on the node from now on, as a new pod or one that the store had when the kubelet came."""
        if pod.spec.node_name not in self._nodes:
            self._without_node.setdefault(pod.spec.node_name, {})[key(pod)] = None
        elif pod.metadata.deletion_timestamp is not None:
            self._terminate(pod)
        elif pod.status.phase == RUNNING:
            self._schedule_end(pod)
        elif pod.status.phase not in FINISHED_PHASES:
            self._schedule_start(pod)

    # -- what is to happen when --------------------------------------------------------------------------------------

    def _schedule_start(self, pod: Pod) -> None:
        if self._start_seconds > 0:
            self._after(self._start_seconds, self._start, pod)
        else:
            self._start(pod)

    def _schedule_end(self, pod: Pod) -> None:
        seconds = run_seconds(pod)
        if seconds is not None:
            started = timestamps.parse(pod.status.start_time) if pod.status.start_time else self._store.clock.now()
            self._after(started + seconds - self._store.clock.now(), self._finish, pod)

    def _terminate(self, pod: Pod) -> None:
        end = pod.metadata.deletion_timestamp
        if end is not None and pod.spec.node_name in self._nodes:
            self._after(timestamps.parse(end) - self._store.clock.now(), self._remove, pod)

    def _after(self, seconds: float, step: Callable[[Pod], None], pod: Pod) -> None:
        time = self._store.clock.monotonic() + max(0.0, seconds)
        self._timers.call_at(time, partial(self._if_still_there, key(pod), pod.metadata.uid, step))

    def _if_still_there(self, name: str, uid: str, step: Callable[[Pod], None]) -> None:
        pod = self._pods.get(name)
        if pod is not None and pod.metadata.uid == uid and pod.spec.node_name in self._nodes:
            step(pod)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _start(self, pod: Pod) -> None:
        if pod.metadata.deletion_timestamp is None and pod.status.phase not in (RUNNING, *FINISHED_PHASES):
            now = self._store.timestamp()
            running = self._store.rewrite(pod, _replace(pod, status=_running(pod.status, now)))
            self._schedule_end(running)

    def _finish(self, pod: Pod) -> None:
        if pod.status.phase == RUNNING:
            status = _completed(pod.status, self._store.timestamp())
            self._store.rewrite(pod, _replace(pod, status=status))

    def _remove(self, pod: Pod) -> None:
        """The end of a grace period can only come earlier, and then the pod is gone before this timer."""
        self._store.delete(Pod, key(pod))


def run_seconds(pod: Pod) -> float | None:
    """How long the pod runs before it succeeds, None for ever; raises `InputError` for an annotation that is no number."""
    text = pod.metadata.annotations.get(RUN_SECONDS)
    if text is None:
        return None
    seconds = _seconds(text)
    if seconds is None:
        place = f"metadata.annotations[{RUN_SECONDS}]"
        raise InputError(
            NOT_SECONDS, object=f"Pod {key(pod)}", field=place, value=text, hint='use a number such as "30"'
        )
    return seconds


@lru_cache(maxsize=1024)
def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _running(status: PodStatus, now: str) -> PodStatus:
    kept = tuple(condition for condition in status.conditions if condition.type not in STARTED_CONDITIONS)
    conditions = kept + _started_conditions(now)
    return _replace(status, phase=RUNNING, start_time=status.start_time or now, conditions=conditions)


@lru_cache(maxsize=8)
def _started_conditions(now: str) -> tuple[Condition, ...]:
    return tuple(Condition(type=kind, status="True", last_transition_time=now) for kind in STARTED_CONDITIONS)


def _completed(status: PodStatus, now: str) -> PodStatus:
    conditions = status.conditions
    for kind in _NOT_READY:
        conditions = with_condition(conditions, Condition(type=kind, status="False", reason=POD_COMPLETED), now)
    return _replace(status, phase=SUCCEEDED, conditions=conditions)
