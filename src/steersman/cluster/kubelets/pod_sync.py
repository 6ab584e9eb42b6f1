# SPDX-License-Identifier: Apache-2.0
"""The states of a pod's containers at a given time, and the time of their next change.

    waiting ─► running ─► terminated ─► running again: at once the first time, then with exponential backoff
                              └► final: exit code 0, or a container that is not restarted

A pure function of the pod, its `PodBehaviour`, the previous container states and the time, which
catches up with all changes since then. Init containers run one after the other, sidecars keep
running, and main containers start when init containers have succeeded and sidecars have started.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import msgspec

from steersman.api import Container, Pod, timestamps
from steersman.cluster.kubelets.behaviour import PodBehaviour
from steersman.cluster.kubelets.containers import (
    KILLED_CODE,
    ContainerRecord,
    PodRecords,
    backing_off,
    started,
    terminated,
)
from steersman.cluster.kubelets.pod_status import FAILED, PENDING, RUNNING, SUCCEEDED, has_begun, is_sidecar

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
NEVER_RESTART: Final = "Never"
_REPLACING_KINDS: Final = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")

_replace = msgspec.structs.replace


class PodSync(NamedTuple):
    """Containers and phase; `wake` is the time of the next sync, None if no change is pending."""

    records: PodRecords
    phase: str
    wake: float | None
    #: Whether changes may repeat endlessly, such as crashes.
    is_background: bool = False
    reason: str = ""
    message: str = ""


def sync_pod(pod: Pod, behaviour: PodBehaviour, records: PodRecords, start_at: float, now: float) -> PodSync:
    """Compute the container states. Containers may start at `start_at`, when images are pulled."""
    deadline = _deadline(pod, start_at)
    if now >= deadline:
        killed = killed_records(records, timestamps.render(now), KILLED_CODE)
        return PodSync(killed, FAILED, None, reason=DEADLINE_EXCEEDED, message=DEADLINE_MESSAGE)
    run = _Containers(pod, behaviour, records, now)
    if now >= start_at:
        run.advance()
    else:
        run.wait_until(start_at)
    run.wait_until(deadline, is_background=is_replaced(pod))
    return run.result()


def killed_records(records: PodRecords, now: str, exit_code: int, reason: str = "") -> PodRecords:
    """Terminate all containers that are running or waiting for a restart."""

    def killed(record: ContainerRecord) -> ContainerRecord:
        is_over = record.state.terminated is not None or not record.has_run
        return record if is_over else terminated(record, exit_code, now, reason=reason)

    return PodRecords(tuple(map(killed, records.init)), tuple(map(killed, records.main)))


def final_phase(records: PodRecords) -> str:
    """Return the phase of a pod whose containers have terminated for good."""
    return SUCCEEDED if records.main and all(record.exit_code == 0 for record in records.main) else FAILED


def is_replaced(pod: Pod) -> bool:
    """Return whether a controller replaces the ended pod, perhaps endlessly."""
    return any(owner.controller and owner.kind in _REPLACING_KINDS for owner in pod.metadata.owner_references)


def _deadline(pod: Pod, start_at: float) -> float:
    seconds, begun = pod.spec.active_deadline_seconds, pod.status.start_time
    if seconds is None:
        return math.inf
    return (timestamps.parse(begun) if begun else start_at) + seconds


class _Containers:
    """Containers of a pod during a sync. `advance` advances them to the current time."""

    def __init__(self, pod: Pod, behaviour: PodBehaviour, records: PodRecords, now: float) -> None:
        self._pod = pod
        self._behaviour = behaviour
        self._init = list(records.init)
        self._main = list(records.main)
        self._now = now
        self._timestamp = timestamps.render(now)
        self._wake = math.inf
        self._background_wake = math.inf
        self._has_initialized = False
        self._has_failed_to_initialize = False

    def wait_until(self, moment: float, *, is_background: bool = False) -> None:
        if is_background:
            self._background_wake = min(self._background_wake, moment)
        else:
            self._wake = min(self._wake, moment)

    def advance(self) -> None:
        self._has_initialized = self._initialize()
        if not self._has_initialized:
            return
        for index, container in enumerate(self._pod.spec.containers):
            self._main[index] = self._advanced(container, self._main[index])
        if self._is_done():
            self._stop_sidecars()

    def result(self) -> PodSync:
        records = PodRecords(tuple(self._init), tuple(self._main))
        phase = self._phase(records)
        if phase in (SUCCEEDED, FAILED):
            return PodSync(records, phase, None)
        wake = min(self._wake, self._background_wake)
        return PodSync(records, phase, wake if math.isfinite(wake) else None, self._background_wake < self._wake)

    # -- inside ------------------------------------------------------------------------------------

    def _initialize(self) -> bool:
        """Advance the init containers; return whether main containers may start."""
        has_begun_before = has_begun(PodRecords((), tuple(self._main)))
        for index, container in enumerate(self._pod.spec.init_containers):
            if is_sidecar(container):
                self._init[index] = record = self._advanced_sidecar(self._init[index])
                if not (record.started or has_begun_before):
                    return False
            elif not has_begun_before:
                self._init[index] = record = self._advanced(container, self._init[index], is_init=True)
                if record.exit_code != 0:
                    self._has_failed_to_initialize = self._is_over(container, record)
                    return False
        return True

    def _advanced(self, container: Container, record: ContainerRecord, *, is_init: bool = False) -> ContainerRecord:
        """Advance a container through all due steps."""
        while True:
            following = self._next(container, record, is_init)
            if following is record:
                return record
            record = following

    def _next(self, container: Container, record: ContainerRecord, is_init: bool) -> ContainerRecord:
        """Return the record after one step; the record itself if no step is due."""
        if record.state.running is not None:
            return self._running(record, is_init)
        if self._is_over(container, record):
            return record
        if not record.has_run:
            return started(self._pod, record, self._timestamp)
        return self._restarted(record, is_init)

    def _running(self, record: ContainerRecord, is_init: bool) -> ContainerRecord:
        assert record.state.running is not None
        begun = timestamps.parse(record.state.running.started_at)
        run = record.restart_count
        seconds = self._behaviour.run_seconds(record.name, run, is_init=is_init)
        if seconds is not None:
            end = begun + seconds
            if end <= self._now:
                code = self._behaviour.exit_code(record.name, run, is_init=is_init)
                return terminated(record, code, timestamps.render(max(begun, end)), is_init=is_init)
            goes_on_for_ever = run > 0 and self._always_fails(record, is_init)
            self.wait_until(end, is_background=goes_on_for_ever or is_replaced(self._pod))
        return record if is_init else self._probed(record, begun)

    def _probed(self, record: ContainerRecord, begun: float) -> ContainerRecord:
        ready_at = begun + self._behaviour.ready_seconds(record.name, record.restart_count)
        if ready_at > self._now:
            self.wait_until(ready_at)
        is_ready = ready_at <= self._now
        return record if record.ready == is_ready else _replace(record, ready=is_ready)

    def _restarted(self, record: ContainerRecord, is_init: bool) -> ContainerRecord:
        ended, pause = record.state.terminated or record.last_state.terminated, record.backoff_seconds()
        assert ended is not None
        moment = timestamps.parse(ended.finished_at) + pause
        if moment <= self._now:
            return started(self._pod, record, self._timestamp)
        self.wait_until(moment, is_background=self._always_fails(record, is_init))
        return record if record.state.terminated is None else backing_off(self._pod, record, pause)

    def _advanced_sidecar(self, record: ContainerRecord) -> ContainerRecord:
        if record.state.running is None:
            record = started(self._pod, record, self._timestamp)
        assert record.state.running is not None
        return self._probed(record, timestamps.parse(record.state.running.started_at))

    def _stop_sidecars(self) -> None:
        self._init = [
            record if record.state.running is None else terminated(record, 0, self._timestamp) for record in self._init
        ]

    def _always_fails(self, record: ContainerRecord, is_init: bool) -> bool:
        return self._behaviour.never_succeeds(record.name, is_init=is_init)

    def _is_over(self, container: Container, record: ContainerRecord) -> bool:
        """Return whether the container has terminated for good. Success is final for every restart
        policy, because a container with a run time is meant to end."""
        ended = record.state.terminated
        if ended is None:
            return False
        policy = container.restart_policy or self._pod.spec.restart_policy
        return ended.exit_code == 0 or policy == NEVER_RESTART

    def _phase(self, records: PodRecords) -> str:
        if self._has_failed_to_initialize:
            return FAILED
        if not (self._has_initialized or has_begun(records)):
            return PENDING
        return final_phase(records) if self._is_done() else RUNNING

    def _is_done(self) -> bool:
        """Return whether all containers have terminated for good; False without containers."""
        pairs = zip(self._pod.spec.containers, self._main, strict=True)
        return bool(self._main) and all(self._is_over(container, record) for container, record in pairs)
