# SPDX-License-Identifier: Apache-2.0
"""Tables of pods, workloads, budgets and autoscalers, with the cells of `kubectl get`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.api import FINISHED_PHASES, POD_SCHEDULED, elements, part, timestamps
from steersman.base import InputError
from steersman.cluster.apiserver.table_layouts import Cell, age_cell, field, layout, name_cell, table
from steersman.cluster.apiserver.table_texts import (
    NONE,
    UNSET,
    age,
    human_duration,
    labels_text,
    selector_text,
    with_more,
)
from steersman.cluster.store.documents import Document


def _has_condition(document: Document, kind: str, status: str = "True") -> bool:
    conditions = elements(document, "status", "conditions")
    return any(condition.get("type") == kind and condition.get("status") == status for condition in conditions)


# -- pods ------------------------------------------------------------------------------------------


@layout("", "Pod", "Name|Ready|Status|Restarts|Age|IP!|Node!|Nominated Node!|Readiness Gates!")
def _pod(pod: Document, now: float) -> Sequence[Any]:
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


def _template_cells(*template: str) -> dict[str, Cell]:
    """Return the wide columns for container names and images of a pod template."""

    def texts(name: str) -> Cell:
        return lambda document, _: ",".join(
            str(container.get(name, "")) for container in elements(document, *template, "spec", "containers")
        )

    return {"Containers!": texts("name"), "Images!": texts("image")}


def _selector(*path: str, default: str = NONE) -> Cell:
    return lambda document, _: selector_text(part(document, *path)) or default


def _replicas(document: Document, _: float) -> int:
    replicas: int | None = part(document, "spec").get("replicas")
    return 1 if replicas is None else replicas


def _ready_replicas(document: Document, now: float) -> str:
    return f"{part(document, 'status').get('readyReplicas', 0)}/{_replicas(document, now)}"


_TEMPLATE: Final = _template_cells("spec", "template")
_REPLICAS: Final[dict[str, Cell]] = {
    "Name": name_cell,
    "Desired:integer": _replicas,
    "Current:integer": field("status.replicas", 0),
    "Ready:integer": field("status.readyReplicas", 0),
    "Age": age_cell,
    **_TEMPLATE,
}

table("apps", "Deployment", {
    "Name": name_cell,
    "Ready": _ready_replicas,
    "Up-to-date": field("status.updatedReplicas", 0),
    "Available": field("status.availableReplicas", 0),
    "Age": age_cell,
    **_TEMPLATE,
    "Selector!": _selector("spec", "selector", default=""),
})  # fmt: skip
table("apps", "ReplicaSet", {**_REPLICAS, "Selector!": _selector("spec", "selector")})
table("", "ReplicationController", {
    **_REPLICAS,
    "Selector!": lambda document, _: labels_text(part(document, "spec", "selector")),
})  # fmt: skip
table("apps", "StatefulSet", {"Name": name_cell, "Ready": _ready_replicas, "Age": age_cell, **_TEMPLATE})
table("apps", "DaemonSet", {
    "Name": name_cell,
    "Desired:integer": field("status.desiredNumberScheduled", 0),
    "Current:integer": field("status.currentNumberScheduled", 0),
    "Ready:integer": field("status.numberReady", 0),
    "Up-to-date:integer": field("status.updatedNumberScheduled", 0),
    "Available:integer": field("status.numberAvailable", 0),
    "Node Selector": lambda document, _: labels_text(part(document, "spec", "template", "spec", "nodeSelector")),
    "Age": age_cell,
    **_TEMPLATE,
    "Selector!": _selector("spec", "selector"),
})  # fmt: skip


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


def _last_run(document: Document, now: float) -> str:
    last = part(document, "status").get("lastScheduleTime")
    return age(last, now) if last else NONE


table("batch", "Job", {
    "Name": name_cell,
    "Status": _job_status,
    "Completions": _completions,
    "Duration": _job_duration,
    "Age": age_cell,
    **_TEMPLATE,
    "Selector!": _selector("spec", "selector"),
})  # fmt: skip
table("batch", "CronJob", {
    "Name": name_cell,
    "Schedule": field("spec.schedule"),
    "Timezone": field("spec.timeZone", NONE),
    "Suspend:boolean": _suspended,
    "Active:integer": lambda document, _: len(elements(document, "status", "active")),
    "Last Schedule": _last_run,
    "Age": age_cell,
    **_template_cells("spec", "jobTemplate", "spec", "template"),
    "Selector!": _selector("spec", "jobTemplate", "spec", "selector"),
})  # fmt: skip

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


def _text_of(path: str, default: str) -> Cell:
    value = field(path, default)
    return lambda document, now: str(value(document, now))


def _scale_target(document: Document, _: float) -> str:
    target = part(document, "spec", "scaleTargetRef")
    return f"{target.get('kind', '')}/{target.get('name', '')}"


table("policy", "PodDisruptionBudget", {
    "Name": name_cell,
    "Min Available": _text_of("spec.minAvailable", "N/A"),
    "Max Unavailable": _text_of("spec.maxUnavailable", "N/A"),
    "Allowed Disruptions:integer": field("status.disruptionsAllowed", 0),
    "Age": age_cell,
})  # fmt: skip
table("autoscaling", "HorizontalPodAutoscaler", {
    "Name": name_cell,
    "Reference": _scale_target,
    "Targets": _metrics,
    "MinPods": _text_of("spec.minReplicas", UNSET),
    "MaxPods": field("spec.maxReplicas", 0),
    "Replicas": field("status.currentReplicas", 0),
    "Age": age_cell,
})  # fmt: skip
