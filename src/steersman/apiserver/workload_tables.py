# SPDX-License-Identifier: Apache-2.0
"""Tables of pods and of what makes them, with the cells of `kubectl get`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steersman.api import timestamps
from steersman.api.json_values import elements, part
from steersman.apiserver.table_layouts import layout
from steersman.apiserver.table_texts import NONE, UNSET, age, human_duration, labels_text, selector_text, with_more
from steersman.embedded.documents import Document
from steersman.errors import InputError


def _name(document: Document) -> str:
    return str(part(document, "metadata").get("name", ""))


def _age(document: Document, now: float) -> str:
    return age(part(document, "metadata").get("creationTimestamp"), now)


def _containers(*template: str) -> Any:
    """Names and images of the containers of a template, as the wide columns have them."""

    def cells(document: Document) -> list[str]:
        containers = elements(document, *template, "spec", "containers")
        return [
            ",".join(str(container.get("name", "")) for container in containers),
            ",".join(str(container.get("image", "")) for container in containers),
        ]

    return cells


_of_template = _containers("spec", "template")


def _has_condition(document: Document, kind: str, status: str = "True") -> bool:
    conditions = elements(document, "status", "conditions")
    return any(condition.get("type") == kind and condition.get("status") == status for condition in conditions)


# -- pods ----------------------------------------------------------------------------------------------------------------


@layout("", "Pod", "Name|Ready|Status|Restarts|Age|IP!|Node!|Nominated Node!|Readiness Gates!")
def _pod(pod: Document, now: float) -> Sequence[Any]:
    summary = _PodSummary(pod)
    spec, status = part(pod, "spec"), part(pod, "status")
    addresses = elements(pod, "status", "podIPs")
    return [
        _name(pod),
        f"{summary.ready}/{summary.total}",
        summary.text(),
        summary.restarts_text(now),
        _age(pod, now),
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
    """The statuses of a pod's containers, summed up: how many are ready, how often they restarted, and the word for it all."""

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
        is_initializing = self._look_at_init_containers()
        if not is_initializing or _has_condition(pod, "Initialized"):
            self._look_at_containers()

    def text(self) -> str:
        if part(self._pod, "metadata").get("deletionTimestamp"):
            if self._status.get("reason") == "NodeLost":
                return "Unknown"
            if self._status.get("phase") not in ("Succeeded", "Failed"):
                return "Terminating"
        return self._reason

    def restarts_text(self, now: float) -> str:
        if self._restarts and self._last_restart:
            return f"{self._restarts} ({age(self._last_restart, now)} ago)"
        return str(self._restarts)

    def _first_reason(self) -> str:
        is_gated = any(
            condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
            for condition in elements(self._pod, "status", "conditions")
        )
        phase = self._status.get("phase") or ""
        return "SchedulingGated" if is_gated else str(self._status.get("reason") or phase)

    def _look_at_init_containers(self) -> bool:
        """Whether an init container stands in the way of the others."""
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

    def _look_at_containers(self) -> None:
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
        """Some containers have completed; those that run or failed count for more."""
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


# -- workloads -----------------------------------------------------------------------------------------------------------


@layout("apps", "Deployment", "Name|Ready|Up-to-date|Available|Age|Containers!|Images!|Selector!")
def _deployment(document: Document, now: float) -> Sequence[Any]:
    status = part(document, "status")
    return [
        _name(document),
        f"{status.get('readyReplicas', 0)}/{_replicas(document)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(document, now),
        *_of_template(document),
        selector_text(part(document, "spec", "selector")),
    ]


@layout("apps", "ReplicaSet", "Name|Desired:integer|Current:integer|Ready:integer|Age|Containers!|Images!|Selector!")
def _replica_set(document: Document, now: float) -> Sequence[Any]:
    selector = selector_text(part(document, "spec", "selector")) or NONE
    return [*_replica_counts(document), _age(document, now), *_of_template(document), selector]


@layout(
    "", "ReplicationController", "Name|Desired:integer|Current:integer|Ready:integer|Age|Containers!|Images!|Selector!"
)
def _replication_controller(document: Document, now: float) -> Sequence[Any]:
    selector = labels_text(part(document, "spec", "selector"))
    return [*_replica_counts(document), _age(document, now), *_of_template(document), selector]


@layout("apps", "StatefulSet", "Name|Ready|Age|Containers!|Images!")
def _stateful_set(document: Document, now: float) -> Sequence[Any]:
    ready = part(document, "status").get("readyReplicas", 0)
    return [_name(document), f"{ready}/{_replicas(document)}", _age(document, now), *_of_template(document)]


@layout(
    "apps",
    "DaemonSet",
    "Name|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:integer|Node Selector|Age"
    "|Containers!|Images!|Selector!",
)
def _daemon_set(document: Document, now: float) -> Sequence[Any]:
    status = part(document, "status")
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        _name(document),
        *(status.get(name, 0) for name in counts),
        labels_text(part(document, "spec", "template", "spec", "nodeSelector")),
        _age(document, now),
        *_of_template(document),
        selector_text(part(document, "spec", "selector")) or NONE,
    ]


@layout("batch", "Job", "Name|Status|Completions|Duration|Age|Containers!|Images!|Selector!")
def _job(document: Document, now: float) -> Sequence[Any]:
    return [
        _name(document),
        _job_status(document),
        _completions(document),
        _job_duration(part(document, "status"), now),
        _age(document, now),
        *_of_template(document),
        selector_text(part(document, "spec", "selector")) or NONE,
    ]


def _job_status(job: Document) -> str:
    for condition, text in (("Complete", "Complete"), ("Failed", "Failed")):
        if _has_condition(job, condition):
            return text
    if part(job, "metadata").get("deletionTimestamp"):
        return "Terminating"
    for condition, text in (("Suspended", "Suspended"), ("FailureTarget",) * 2, ("SuccessCriteriaMet",) * 2):
        if _has_condition(job, condition):
            return text
    return "Running"


def _completions(job: Document) -> str:
    spec, succeeded = part(job, "spec"), part(job, "status").get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Mapping[str, Any], now: float) -> str:
    if not status.get("startTime"):
        return ""
    try:
        start = timestamps.parse(status["startTime"])
        end = timestamps.parse(status["completionTime"]) if status.get("completionTime") else now
    except InputError:
        return ""
    return human_duration(end - start)


@layout(
    "batch",
    "CronJob",
    "Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|Containers!|Images!|Selector!",
)
def _cron_job(document: Document, now: float) -> Sequence[Any]:
    spec, status = part(document, "spec"), part(document, "status")
    last = status.get("lastScheduleTime")
    suspend = spec.get("suspend")
    return [
        _name(document),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if suspend is None else str(bool(suspend)),
        len(elements(document, "status", "active")),
        age(last, now) if last else NONE,
        _age(document, now),
        *_containers("spec", "jobTemplate", "spec", "template")(document),
        selector_text(part(document, "spec", "jobTemplate", "spec", "selector")) or NONE,
    ]


@layout("policy", "PodDisruptionBudget", "Name|Min Available|Max Unavailable|Allowed Disruptions:integer|Age")
def _budget(document: Document, now: float) -> Sequence[Any]:
    spec = part(document, "spec")
    bounds = (spec.get("minAvailable"), spec.get("maxUnavailable"))
    return [
        _name(document),
        *("N/A" if bound is None else str(bound) for bound in bounds),
        part(document, "status").get("disruptionsAllowed", 0),
        _age(document, now),
    ]


@layout("autoscaling", "HorizontalPodAutoscaler", "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age")
def _autoscaler(document: Document, now: float) -> Sequence[Any]:
    spec, target = part(document, "spec"), part(document, "spec", "scaleTargetRef")
    least = spec.get("minReplicas")
    return [
        _name(document),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(document),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        part(document, "status").get("currentReplicas", 0),
        _age(document, now),
    ]


def _metrics(document: Document) -> str:
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


def _replicas(document: Document) -> int:
    replicas: int | None = part(document, "spec").get("replicas")
    return 1 if replicas is None else replicas


def _replica_counts(document: Document) -> list[Any]:
    status = part(document, "status")
    return [_name(document), _replicas(document), status.get("replicas", 0), status.get("readyReplicas", 0)]
