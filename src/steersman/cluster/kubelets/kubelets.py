# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: bound pods start on their node, run, finish or fail, and stop when they are
deleted.

They subscribe to the store and write to it; `timers` provide virtual or real time. A policy and
annotations define the behaviour of a pod (`policy`, `behaviour`).

Most pods of simulations start, run and perhaps succeed: their phase and a few conditions are
written at once. Pods whose containers fail, wait, are not ready or restart, and all pods of a store
that keeps documents, are simulated container by container (`pod_sync`, `reports`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final

import msgspec

from steersman.api import FINISHED_PHASES, Condition, CSINode, Node, Object, Pod, PodStatus, key, timestamps
from steersman.base import InputError
from steersman.cluster.kubelets import nodes as node_reports
from steersman.cluster.kubelets.behaviour import PodBehaviour, behaviour
from steersman.cluster.kubelets.containers import KILLED_CODE, REBOOTED_CODE, UNKNOWN
from steersman.cluster.kubelets.durations import parse_duration
from steersman.cluster.kubelets.fit import NodeRoom
from steersman.cluster.kubelets.pod_status import POD_COMPLETED, READY, RUNNING, SUCCEEDED
from steersman.cluster.kubelets.pod_sync import PodSync, is_replaced, killed_records, sync_pod
from steersman.cluster.kubelets.policy import DEFAULT_POLICY, KubeletPolicy, PodSettings
from steersman.cluster.kubelets.reports import UNUSABLE_ANNOTATION, PodReports
from steersman.cluster.store import DELETED, EventType, ObjectEventRecorder, Store, Timers
from steersman.cluster.store.heartbeats import resume_heartbeat, stop_heartbeat
from steersman.cluster.store.pods import with_condition

STARTED_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
"""Conditions that are true for running pods."""
_NOT_READY: Final = ("ContainersReady", "Ready")
_NO_SETTINGS: Final = PodSettings()

_replace = msgspec.structs.replace


class Kubelets:
    """The kubelets of all nodes in the store.

    `record` takes events. With `survives_bad_pods` a pod or node with an unusable annotation is
    rejected; otherwise the write of the object raises the error.
    """

    def __init__(
        self,
        store: Store,
        timers: Timers,
        policy: KubeletPolicy = DEFAULT_POLICY,
        *,
        record: ObjectEventRecorder | None = None,
        survives_bad_pods: bool = False,
    ) -> None:
        self._store = store
        self._timers = timers
        self._policy = policy
        self._survives_bad_pods = survives_bad_pods
        self._record = record
        self._writes_full = store.keeps_documents or policy.statuses == "Full"
        #: Whether only annotations and the pod's own spec define its behaviour.
        self._has_plain_policy = (
            not self._writes_full and policy.pods == _NO_SETTINGS and not (policy.rules or policy.stages)
        )
        rejects = policy.rejects_unfit_pods
        self._room = NodeRoom(store) if rejects or (rejects is None and store.keeps_documents) else None
        if self._room is not None:
            self._has_plain_policy = False
        self._reports = PodReports(store, record)
        self._nodes = store.objects(Node)
        self._pods = store.objects(Pod)
        #: Node name → keys of pods bound to this missing node, in order.
        self._without_node: dict[str, dict[str, None]] = {}
        #: Names of deleted nodes, whose pods are looked up only if the node is created again.
        self._deleted_nodes: set[str] = set()
        #: Names of nodes whose kubelet has crashed.
        self._silent: set[str] = set()
        #: Pod uid → time at which its containers may start.
        self._start_at: dict[str, float] = {}
        #: Pod uid → time of the next sync.
        self._wake_at: dict[str, float] = {}
        #: Pulled images, as (node, image).
        self._images: set[tuple[str, str]] = set()
        #: Executed annotations with node events: (node uid, name) → text.
        self._executed: dict[tuple[str, str], str] = {}
        self._registered = 0
        store.subscribe(self._on_node, (Node,))
        store.subscribe(self._on_pod, (Pod,))

    # -- nodes that fail ---------------------------------------------------------------------------

    def is_silent(self, node: str) -> bool:
        """Return whether the node's kubelet has stopped, and does not renew its Lease."""
        return node in self._silent

    def crash(self, node: str) -> None:
        """Stop the node's kubelet: pod statuses no longer change. Raise `NotFound`."""
        self._store.get(Node, node)
        if node not in self._silent:
            self._silent.add(node)
            stop_heartbeat(self._store, node)

    def recover(self, node: str) -> None:
        """Restart the node's kubelet, which reports past container changes. Raise `NotFound`."""
        current = self._store.get(Node, node)
        if node not in self._silent:
            return
        self._silent.discard(node)
        resume_heartbeat(self._store, node)
        self._rewrite_node(current, node_reports.ready_again(current, self._store.timestamp()))
        for pod in self._pods_on(node):
            self._take(self._reported_ready(pod))

    def _reported_ready(self, pod: Pod) -> Pod:
        """Return the pod, ready again if its status has no container statuses and it runs."""
        if pod.status.phase != RUNNING or pod.metadata.uid in self._start_at or self._writes_full:
            return pod
        statuses = {condition.type: condition.status for condition in pod.status.conditions}
        if statuses.get(READY) != "False":
            return pod
        return self._store.rewrite(pod, _replace(pod, status=_running(pod.status, self._store.timestamp())))

    def reseed(self, seed: int) -> None:
        """Draw random durations with another seed from now on."""
        self._policy = _replace(self._policy, seed=seed)

    def reboot(self, node: str) -> None:
        """Stop the node for `rebootSeconds`, then restart all containers. Raise `NotFound`."""
        self.crash(node)
        seconds = parse_duration(self._policy.reboot_seconds).seconds(f"{self._policy.seed}/{node}/reboot")
        self._call_after(seconds, partial(self._boot, node))

    def _boot(self, node: str) -> None:
        if node not in self._nodes:
            return
        for pod in self._pods_on(node):
            if pod.status.phase == RUNNING and pod.metadata.deletion_timestamp is None:
                self._restart(pod)
        current = self._nodes[node]
        if self._record is not None:
            self._record(current, "Rebooted", f"Node {node} has been rebooted", is_warning=True)
        self.recover(node)

    def _restart(self, pod: Pod) -> None:
        """End the containers of the pod by a reboot; the kubelet restarts them when it is back."""
        records = self._reports.records(pod)
        ended = killed_records(records, self._store.timestamp(), REBOOTED_CODE, UNKNOWN)
        self._start_at.setdefault(pod.metadata.uid, self._store.clock.now())
        self._reports.report(pod, PodSync(ended, RUNNING, None))

    def _pods_on(self, node: str) -> list[Pod]:
        return [pod for pod in self._pods.values() if pod.spec.node_name == node]

    # -- events ------------------------------------------------------------------------------------

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Node):
            current = self._nodes.get(new.metadata.name)
            if current is None:
                return
            if old is None or old.metadata.annotations != new.metadata.annotations:
                self._sync_node(current)
            if old is None:
                self._on_node_added(new.metadata.name)
        elif isinstance(old, Node):
            self._on_node_deleted(old.metadata.name)

    def _sync_node(self, node: Node) -> None:
        try:
            if node_reports.has_annotations(node):
                node_reports.check_node(node)
                self._execute_annotations(node)
        except InputError as error:
            if not self._survives_bad_pods:
                raise
            if self._record is not None:
                self._record(node, UNUSABLE_ANNOTATION, str(error), is_warning=True)
        if self._writes_full:
            self._registered += 1
            current = self._nodes[node.metadata.name]
            self._rewrite_node(current, node_reports.registered(current, self._registered, self._store.timestamp()))

    def _execute_annotations(self, node: Node) -> None:
        """Execute the annotations of the node, each once."""
        self._rewrite_node(node, node_reports.with_devices(node))
        drivers = node_reports.csi_node(node)
        if drivers is not None:
            self._write_csi_node(drivers)
        for name, seconds in node_reports.node_events(node):
            text = node.metadata.annotations[name]
            if self._executed.get((node.metadata.uid, name)) != text:
                self._executed[node.metadata.uid, name] = text
                self._call_after(seconds, partial(self._execute, node.metadata.name, node.metadata.uid, name))

    def _write_csi_node(self, wanted: CSINode) -> None:
        known = self._store.find(CSINode, wanted.metadata.name)
        if known is None:
            self._store.create(wanted)
        elif known.spec != wanted.spec:
            self._store.update(_replace(known, spec=wanted.spec))

    def _execute(self, node: str, uid: str, event: str) -> None:
        current = self._nodes.get(node)
        if current is not None and current.metadata.uid == uid:
            {
                node_reports.CRASH_AT: self.crash,
                node_reports.RECOVER_AT: self.recover,
                node_reports.REBOOT_AT: self.reboot,
            }[event](node)

    def _rewrite_node(self, old: Node, new: Node) -> None:
        if new is not old:
            self._store.rewrite(old, new)

    def _on_node_added(self, node: str) -> None:
        left = {key(pod): None for pod in self._pods_on(node)} if node in self._deleted_nodes else {}
        self._deleted_nodes.discard(node)
        for name in {**left, **self._without_node.pop(node, {})}:
            pod = self._pods.get(name)
            if pod is not None and pod.spec.node_name == node:
                self._take(pod)

    def _on_node_deleted(self, node: str) -> None:
        self._silent.discard(node)
        self._deleted_nodes.add(node)

    def _on_pod(self, what: EventType, old: Object | None, new: Object | None) -> None:
        if what is DELETED:
            if old is not None and old.metadata.uid in self._start_at:
                self._forget(old.metadata.uid)
            return
        if not isinstance(new, Pod) or not new.spec.node_name:
            return
        if not isinstance(old, Pod) or not old.spec.node_name or self._may_have_changed(old, new):
            current = self._pods.get(key(new))
            if current is not None and current.metadata.uid == new.metadata.uid:
                self._take(current)
        elif new.metadata.deletion_timestamp != old.metadata.deletion_timestamp:
            self._terminate(new)

    def _may_have_changed(self, old: Pod, new: Pod) -> bool:
        """Return whether the behaviour of a known pod may have changed."""
        if old.metadata.annotations is not new.metadata.annotations:
            return old.metadata.annotations != new.metadata.annotations
        if new.metadata.uid not in self._start_at:
            return False
        return old.spec.active_deadline_seconds != new.spec.active_deadline_seconds or bool(
            new.spec.readiness_gates and old.status.conditions != new.status.conditions
        )

    def _forget(self, uid: str) -> None:
        self._start_at.pop(uid, None)
        self._wake_at.pop(uid, None)
        self._reports.forget(uid)

    # -- taking pods -------------------------------------------------------------------------------

    def _take(self, pod: Pod) -> None:
        """Start to manage a pod: a new one, or one that was stored before the kubelet started."""
        node = pod.spec.node_name
        if node not in self._nodes:
            self._without_node.setdefault(node, {})[key(pod)] = None
        elif node in self._silent:
            return
        elif pod.metadata.deletion_timestamp is not None:
            self._terminate(pod)
        elif pod.status.phase in FINISHED_PHASES:
            return
        elif self._has_plain_policy and not pod.metadata.annotations and self._has_plain_spec(pod):
            if pod.status.phase != RUNNING:
                self._store.rewrite(pod, _replace(pod, status=_running(pod.status, self._store.timestamp())))
        else:
            self._start_by_behaviour(pod)

    def _start_by_behaviour(self, pod: Pod) -> None:
        expected = self._behaviour(pod)
        if expected is None:
            return
        if not self._is_plain(pod, expected):
            self._acknowledge(pod, expected)
        elif pod.status.phase == RUNNING:
            self._schedule_end(pod, expected)
        elif (seconds := expected.start_seconds()) > 0:
            self._after(seconds, self._start_late, pod)
        else:
            self._start(pod, expected)

    def _behaviour(self, pod: Pod) -> PodBehaviour | None:
        """Return the pod's behaviour; None if its settings are unreadable and it was rejected."""
        try:
            return behaviour(self._policy, pod)
        except InputError as error:
            if not self._survives_bad_pods:
                raise
            self._reports.reject(pod, UNUSABLE_ANNOTATION, str(error))
            return None

    def _is_plain(self, pod: Pod, expected: PodBehaviour) -> bool:
        """Return whether the status is written without container statuses."""
        return not self._writes_full and expected.is_plain and self._room is None and self._has_plain_spec(pod)

    def _has_plain_spec(self, pod: Pod) -> bool:
        """Return whether the spec has no deadline or gates and no container was simulated."""
        spec = pod.spec
        return (
            spec.active_deadline_seconds is None and not spec.readiness_gates and pod.metadata.uid not in self._start_at
        )

    # -- pods as a whole ---------------------------------------------------------------------------

    def _start_late(self, pod: Pod) -> None:
        if pod.metadata.deletion_timestamp is None and pod.status.phase not in (RUNNING, *FINISHED_PHASES):
            expected = self._behaviour(pod)
            if expected is not None:
                self._start(pod, expected)

    def _start(self, pod: Pod, expected: PodBehaviour) -> None:
        running = self._store.rewrite(pod, _replace(pod, status=_running(pod.status, self._store.timestamp())))
        self._schedule_end(running, expected)

    def _schedule_end(self, pod: Pod, expected: PodBehaviour) -> None:
        seconds = expected.run_seconds()
        if seconds is not None:
            begun = timestamps.parse(pod.status.start_time) if pod.status.start_time else self._store.clock.now()
            left = begun + seconds - self._store.clock.now()
            self._after(left, self._finish, pod, is_background=is_replaced(pod))

    def _finish(self, pod: Pod) -> None:
        if pod.status.phase == RUNNING and pod.metadata.uid not in self._start_at:
            self._store.rewrite(pod, _replace(pod, status=_completed(pod.status, self._store.timestamp())))

    # -- pods container by container ---------------------------------------------------------------

    def _acknowledge(self, pod: Pod, expected: PodBehaviour) -> None:
        uid = pod.metadata.uid
        if uid not in self._start_at:
            is_new = pod.status.start_time is None
            misfit = self._room.misfit(pod) if self._room is not None and is_new else None
            if misfit is not None:
                self._reports.reject(pod, misfit.reason, misfit.message)
                return
            begun = (
                self._store.clock.now() if pod.status.start_time is None else timestamps.parse(pod.status.start_time)
            )
            self._start_at[uid] = begun + expected.start_seconds() + sum(self._pull_times(pod, expected))
        self._sync(pod)

    def _pull_times(self, pod: Pod, expected: PodBehaviour) -> Iterator[float]:
        if expected.settings.image_pull_seconds is None or pod.status.phase == RUNNING:
            return
        node = pod.spec.node_name
        present = {name for image in self._nodes[node].status.images for name in image.names}
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            image = container.image
            if image not in present and (node, image) not in self._images:
                self._images.add((node, image))
                yield expected.pull_seconds(image)

    def _sync(self, pod: Pod) -> None:
        """Advance the pod to the current time, and set a timer for its next change."""
        uid, now = pod.metadata.uid, self._store.clock.now()
        expected = self._behaviour(pod)
        if expected is None or pod.metadata.deletion_timestamp is not None or pod.status.phase in FINISHED_PHASES:
            return
        start_at = self._start_at.get(uid, now)
        sync = sync_pod(pod, expected, self._reports.records(pod), start_at, now)
        self._reports.report(pod, sync, has_sandbox=now >= start_at)
        if sync.wake is not None and self._wake_at.get(uid) != sync.wake:
            self._wake_at[uid] = sync.wake
            self._after(sync.wake - now, partial(self._wake, sync.wake), pod, is_background=sync.is_background)

    def _wake(self, moment: float, pod: Pod) -> None:
        """Sync the pod when its timer fires; of several timers of a pod the last one applies."""
        if self._wake_at.get(pod.metadata.uid) == moment:
            del self._wake_at[pod.metadata.uid]
            self._sync(pod)

    # -- the end -----------------------------------------------------------------------------------

    def _terminate(self, pod: Pod) -> None:
        end = pod.metadata.deletion_timestamp
        if end is None or pod.spec.node_name not in self._nodes or pod.spec.node_name in self._silent:
            return
        moment = timestamps.parse(end)
        stop = self._stop_seconds(pod)
        if stop is not None:
            begun = moment - (pod.metadata.deletion_grace_period_seconds or 0)
            moment = min(moment, begun + stop)
        if self._writes_full:
            self._reports.record_killing(pod)
        self._after(moment - self._store.clock.now(), self._remove, pod)

    def _stop_seconds(self, pod: Pod) -> float | None:
        if self._has_plain_policy and not pod.metadata.annotations:
            return None
        try:
            return behaviour(self._policy, pod).stop_seconds()
        except InputError:
            return None

    def _remove(self, pod: Pod) -> None:
        """Delete the pod after its grace period, unless the timer of a shortened one did so."""
        has_finished = pod.status.phase in FINISHED_PHASES
        if not has_finished and (pod.metadata.uid in self._start_at or self._writes_full or pod.metadata.finalizers):
            end = timestamps.parse(pod.metadata.deletion_timestamp or self._store.timestamp())
            pod = self._reports.end(pod, KILLED_CODE if self._store.clock.now() >= end else 0)
        self._store.delete(Pod, key(pod))

    # -- timers ------------------------------------------------------------------------------------

    def _after(self, seconds: float, step: Callable[[Pod], None], pod: Pod, *, is_background: bool = False) -> None:
        callback = partial(self._if_still_there, key(pod), pod.metadata.uid, step)
        self._call_after(seconds, callback, is_background=is_background)

    def _call_after(self, seconds: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        time = self._store.clock.monotonic() + max(0.0, seconds)
        self._timers.call_at(time, callback, is_background=is_background)

    def _if_still_there(self, name: str, uid: str, step: Callable[[Pod], None]) -> None:
        pod = self._pods.get(name)
        if pod is not None and pod.metadata.uid == uid:
            node = pod.spec.node_name
            if node in self._nodes and node not in self._silent:
                step(pod)


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
