# SPDX-License-Identifier: Apache-2.0
"""Cells of `kubectl get` for pods, workloads, budgets, autoscalers and pod groups; `tables.json`
names the functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.api import FINISHED_PHASES, INITIALLY_SCHEDULED, POD_SCHEDULED, elements, part, timestamps
from steersman.base import InputError
from steersman.cluster.apiserver.table_layouts import age_cell, name_cell
from steersman.cluster.apiserver.table_texts import (
    NONE,
    UNSET,
    age,
    human_duration,
    with_more,
)
from steersman.cluster.store.documents import Document


def _has_condition(document: Document, kind: str, status: str = "True") -> bool:
    conditions = elements(document, "status", "conditions")
    return any(condition.get("type") == kind and condition.get("status") == status for condition in conditions)


# -- pods ------------------------------------------------------------------------------------------


POD_COLUMNS: Final = "Name|Ready|Status|Restarts|Age|IP!|Node!|Nominated Node!|Readiness Gates!"


def pod_cells(pod: Document, now: float) -> Sequence[Any]:
    summary = _PodSummary(pod)
    spec, status = part(pod, "spec"), part(pod, "status")
    addresses = elements(pod, "status", "podIPs")
    return [
        name_cell(pod, now),
        f"{summary.ready}/{summary.total}",
        summary.text(),
        summary.restarts_text(now),
        age_cell(pod, now),
        (addresses[0].get("ip") if addresses else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(pod),
    ]


def _readiness_gates(pod: Document) -> str:
    gates = elements(pod, "spec", "readinessGates")
    met = sum(_has_condition(pod, gate.get("conditionType", "")) for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


class _PodSummary:
    """Summary of container statuses: ready containers, restarts, text of the column Status."""

    def __init__(self, pod: Document) -> None:
        self._pod = pod
        self._status = part(pod, "status")
        self._init = elements(pod, "spec", "initContainers")
        self._sidecars = {c.get("name") for c in self._init if c.get("restartPolicy") == "Always"}
        self.total = len(elements(pod, "spec", "containers")) + len(self._sidecars)
        self.ready = 0
        self._restarts = 0
        self._last_restart = ""
        self._reason = self._first_reason()
        is_initializing = self._check_init_containers()
        if not is_initializing or _has_condition(pod, "Initialized"):
            self._check_containers()

    def text(self) -> str:
        if part(self._pod, "metadata").get("deletionTimestamp"):
            if self._status.get("reason") == "NodeLost":
                return "Unknown"
            if self._status.get("phase") not in FINISHED_PHASES:
                return "Terminating"
        return self._reason

    def restarts_text(self, now: float) -> str:
        if self._restarts and self._last_restart:
            return f"{self._restarts} ({age(self._last_restart, now)} ago)"
        return str(self._restarts)

    def _first_reason(self) -> str:
        is_gated = any(
            condition.get("type") == POD_SCHEDULED and condition.get("reason") == "SchedulingGated"
            for condition in elements(self._pod, "status", "conditions")
        )
        phase = self._status.get("phase") or ""
        return "SchedulingGated" if is_gated else str(self._status.get("reason") or phase)

    def _check_init_containers(self) -> bool:
        """Return whether an init container blocks the containers of the pod."""
        for index, status in enumerate(elements(self._pod, "status", "initContainerStatuses")):
            self._count_restarts(status)
            terminated = status.get("state", {}).get("terminated")
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if status.get("name") in self._sidecars and status.get("started"):
                self.ready += bool(status.get("ready"))
                continue
            waiting = status.get("state", {}).get("waiting") or {}
            if terminated is not None:
                self._reason = f"Init:{_end(terminated)}"
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self._reason = f"Init:{waiting['reason']}"
            else:
                self._reason = f"Init:{index}/{len(self._init)}"
            return True
        return False

    def _check_containers(self) -> None:
        self._restarts, self._last_restart = 0, ""
        for status in elements(self._pod, "status", "initContainerStatuses"):
            if status.get("name") in self._sidecars:
                self._count_restarts(status)
        is_running = False
        failure = ""
        for status in reversed(elements(self._pod, "status", "containerStatuses")):
            self._count_restarts(status)
            state = status.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting") or {}
            if waiting.get("reason"):
                self._reason = waiting["reason"]
            elif terminated is not None:
                self._reason = _end(terminated)
                failure = self._reason if terminated.get("exitCode") else failure
            elif status.get("ready") and "running" in state:
                is_running = True
                self.ready += 1
        if self._reason == "Completed":
            self._reason = self._reason_of_completed(is_running, failure)

    def _reason_of_completed(self, is_running: bool, failure: str) -> str:
        """Return a pod's status with completed containers; running and failed ones come first."""
        if is_running and _has_condition(self._pod, "Ready"):
            return "Running"
        return failure or ("NotReady" if is_running else "Completed")

    def _count_restarts(self, status: Mapping[str, Any]) -> None:
        self._restarts += int(status.get("restartCount") or 0)
        finished = part(status, "lastState", "terminated").get("finishedAt") or ""
        self._last_restart = max(self._last_restart, str(finished))


def _end(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


# -- workloads -------------------------------------------------------------------------------------


def _replicas(document: Document, _: float) -> int:
    replicas: int | None = part(document, "spec").get("replicas")
    return 1 if replicas is None else replicas


def _ready_replicas(document: Document, now: float) -> str:
    return f"{part(document, 'status').get('readyReplicas', 0)}/{_replicas(document, now)}"


# -- jobs ------------------------------------------------------------------------------------------


def _job_status(job: Document, _: float) -> str:
    for condition, text in (("Complete", "Complete"), ("Failed", "Failed")):
        if _has_condition(job, condition):
            return text
    if part(job, "metadata").get("deletionTimestamp"):
        return "Terminating"
    for condition, text in (("Suspended", "Suspended"), ("FailureTarget",) * 2, ("SuccessCriteriaMet",) * 2):
        if _has_condition(job, condition):
            return text
    return "Running"


def _completions(job: Document, _: float) -> str:
    spec, succeeded = part(job, "spec"), part(job, "status").get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Document, now: float) -> str:
    status = part(job, "status")
    if not status.get("startTime"):
        return ""
    try:
        start = timestamps.parse(status["startTime"])
        end = timestamps.parse(status["completionTime"]) if status.get("completionTime") else now
    except InputError:
        return ""
    return human_duration(end - start)


def _suspended(document: Document, _: float) -> str:
    suspend = part(document, "spec").get("suspend")
    return UNSET if suspend is None else str(bool(suspend))


# -- budgets and autoscalers -----------------------------------------------------------------------


def _metrics(document: Document, _: float) -> str:
    specs, statuses = elements(document, "spec", "metrics"), elements(document, "status", "currentMetrics")
    if not specs:
        return NONE
    texts = [_metric(spec, statuses[index] if index < len(statuses) else {}) for index, spec in enumerate(specs)]
    return with_more(texts, 2, ", ")


def _metric(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    kind = str(spec.get("type", ""))
    source = kind[:1].lower() + kind[1:]
    if source not in ("external", "pods", "object", "resource", "containerResource"):
        return "<unknown type>"
    target, current = part(spec, source, "target"), part(status, source, "current")
    is_resource = source in ("resource", "containerResource")
    prefix = f"{part(spec, source).get('name', '')}: " if is_resource else ""
    if target.get("averageValue") is not None:
        suffix = " (avg)" if source in ("external", "object") else ""
        return f"{prefix}{current.get('averageValue') or '<unknown>'}/{target['averageValue']}{suffix}"
    if is_resource:
        wanted = target.get("averageUtilization")
        used = current.get("averageUtilization")
        return f"{prefix}{_percent(used, '<unknown>')}/{_percent(wanted, '<auto>')}"
    return f"{current.get('value') or '<unknown>'}/{target.get('value', '')}"


def _percent(value: Any, otherwise: str) -> str:
    return otherwise if value is None else f"{value}%"


def _scale_target(document: Document, _: float) -> str:
    target = part(document, "spec", "scaleTargetRef")
    return f"{target.get('kind', '')}/{target.get('name', '')}"


# -- pod groups --------------------------------------------------------------------------------------


def _group_policy(group: Document, _: float) -> str:
    return "Basic" if part(group, "spec", "schedulingPolicy").get("gang") is None else "Gang"


def _group_workload(group: Document, _: float) -> str:
    reference = part(group, "spec").get("workloadRef")
    return NONE if reference is None else str(reference.get("workloadName") or "")


def _group_status(group: Document, _: float) -> str:
    conditions = {condition.get("type"): condition for condition in elements(group, "status", "conditions")}
    if (target := conditions.get("DisruptionTarget")) is not None:
        return str(target.get("reason") or "")
    scheduled = conditions.get(INITIALLY_SCHEDULED)
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
