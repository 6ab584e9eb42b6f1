# SPDX-License-Identifier: Apache-2.0
"""Pod statuses as written by a kubelet v1.36: conditions with reasons and messages, from container
records.

`pod_sync` determines container states and the phase; `Kubelets` writes the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from steersman.api import FINISHED_PHASES, POD_SCHEDULED, Condition, Container, Pod, PodStatus, go_list
from steersman.cluster.kubelets.containers import ContainerRecord, PodRecords
from steersman.cluster.store.admission.pod_resources import qos_class

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
POD_COMPLETED: Final = "PodCompleted"
POD_FAILED: Final = "PodFailed"
CONTAINERS_NOT_READY: Final = "ContainersNotReady"
CONTAINERS_NOT_INITIALIZED: Final = "ContainersNotInitialized"
READINESS_GATES_NOT_READY: Final = "ReadinessGatesNotReady"
READY_TO_START: Final = "PodReadyToStartContainers"
INITIALIZED: Final = "Initialized"
CONTAINERS_READY: Final = "ContainersReady"
READY: Final = "Ready"
KUBELET_CONDITIONS: Final = (READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, POD_SCHEDULED)
"""Conditions of the kubelet in its order, which follow those of other writers."""

_replace = msgspec.structs.replace


def reported_status(
    pod: Pod,
    records: PodRecords,
    phase: str,
    now: str,
    *,
    reason: str = "",
    message: str = "",
    has_sandbox: bool = True,
) -> PodStatus:
    """Return the status of the pod with these containers, without new addresses. Fields of other
    writers are kept.

    `reason` and `message` explain a failure; they are kept while the phase is unchanged.
    """
    status = pod.status
    if phase == status.phase and not reason:
        reason, message = status.reason, status.message
    return _replace(
        status,
        phase=phase,
        reason=reason,
        message=message,
        start_time=status.start_time or now,
        observed_generation=pod.metadata.generation,
        qos_class=status.qos_class or qos_class(pod),
        conditions=_conditions(pod, records, phase, now, has_sandbox),
        init_container_statuses=tuple(record.plain() for record in records.init),
        container_statuses=tuple(record.plain() for record in records.main),
    )


def rejected_status(pod: Pod, reason: str, message: str, now: str) -> PodStatus:
    """Return the status of a pod that its kubelet rejects."""
    status = pod.status
    return _replace(
        status,
        phase=FAILED,
        reason=reason,
        message=f"Pod was rejected: {message}",
        start_time=status.start_time or now,
        observed_generation=pod.metadata.generation,
        qos_class=status.qos_class or qos_class(pod),
    )


# -- conditions ------------------------------------------------------------------------------------


def _conditions(pod: Pod, records: PodRecords, phase: str, now: str, has_sandbox: bool) -> tuple[Condition, ...]:
    before = {condition.type: condition for condition in pod.status.conditions}
    others = tuple(condition for condition in pod.status.conditions if condition.type not in KUBELET_CONDITIONS)
    containers_ready = _containers_ready(pod, records, phase)
    written = (
        Condition(type=READY_TO_START, status=_truth(has_sandbox and phase not in FINISHED_PHASES)),
        _initialized(pod, records, phase),
        _ready(pod, containers_ready),
        containers_ready,
        Condition(type=POD_SCHEDULED, status="True"),
    )
    return others + tuple(_dated(condition, before, pod.metadata.generation, now) for condition in written)


def _dated(condition: Condition, before: dict[str, Condition], generation: int, now: str) -> Condition:
    old = before.get(condition.type)
    since = old.last_transition_time if old is not None and old.status == condition.status else now
    return _replace(condition, last_transition_time=since or now, observed_generation=generation)


def _initialized(pod: Pod, records: PodRecords, phase: str) -> Condition:
    if phase == SUCCEEDED:
        return Condition(type=INITIALIZED, status="True", reason=POD_COMPLETED)
    incomplete = [
        record.name
        for container, record in zip(pod.spec.init_containers, records.init, strict=True)
        if not (record.started if is_sidecar(container) else record.ready)
    ]
    if not incomplete or has_begun(records):
        return Condition(type=INITIALIZED, status="True")
    message = f"containers with incomplete status: {go_list(incomplete)}"
    return Condition(type=INITIALIZED, status="False", reason=CONTAINERS_NOT_INITIALIZED, message=message)


def _containers_ready(pod: Pod, records: PodRecords, phase: str) -> Condition:
    if phase in FINISHED_PHASES:
        reason = POD_COMPLETED if phase == SUCCEEDED else POD_FAILED
        return Condition(type=CONTAINERS_READY, status="False", reason=reason)
    sidecars = sidecar_records(pod, records)
    unready = [record.name for record in (*sidecars, *records.main) if not record.ready]
    if not unready:
        return Condition(type=CONTAINERS_READY, status="True")
    message = f"containers with unready status: {go_list(unready)}"
    return Condition(type=CONTAINERS_READY, status="False", reason=CONTAINERS_NOT_READY, message=message)


def _ready(pod: Pod, containers_ready: Condition) -> Condition:
    if containers_ready.status != "True":
        return _replace(containers_ready, type=READY)
    complaints = list(_closed_gates(pod))
    if not complaints:
        return Condition(type=READY, status="True")
    return Condition(type=READY, status="False", reason=READINESS_GATES_NOT_READY, message=", ".join(complaints))


def _closed_gates(pod: Pod) -> Iterable[str]:
    statuses = {condition.type: condition.status for condition in pod.status.conditions}
    for gate in pod.spec.readiness_gates:
        name = gate.condition_type
        if name not in statuses:
            yield f'corresponding condition of pod readiness gate "{name}" does not exist.'
        elif statuses[name] != "True":
            yield f'the status of pod readiness gate "{name}" is not "True", but {statuses[name]}'


# -- containers ------------------------------------------------------------------------------------


def is_sidecar(container: Container) -> bool:
    """Return whether an init container runs alongside the main containers."""
    return container.restart_policy == "Always"


def sidecar_records(pod: Pod, records: PodRecords) -> Sequence[ContainerRecord]:
    pairs = zip(pod.spec.init_containers, records.init, strict=True)
    return [record for container, record in pairs if is_sidecar(container)]


def has_begun(records: PodRecords) -> bool:
    """Return whether a main container has been started."""
    return any(record.has_run for record in records.main)


def _truth(value: bool) -> str:
    return "True" if value else "False"
