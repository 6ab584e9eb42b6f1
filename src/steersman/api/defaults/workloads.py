# SPDX-License-Identifier: Apache-2.0
"""Defaults of workloads, Jobs and CronJobs in JSON form: `apps/v1/defaults.go`,
`batch/v1/defaults.go`.

`kinds` applies these functions before validation, `cluster.store.admission.workloads` to structs,
for simulations without documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from steersman.api.defaults.pod_template import with_pod_spec_defaults
from steersman.api.json_values import Document, elements, part

_Part: TypeAlias = dict[str, Any]
ROLLING_UPDATE: Final = "RollingUpdate"
REVISION_HISTORY_LIMIT: Final = 10
PROGRESS_DEADLINE_SECONDS: Final = 600
BACKOFF_LIMIT: Final = 6
JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
JOB_UID_LABELS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
MAX_INT32: Final = 2**31 - 1


def with_claim_template_defaults(template: dict[str, Any]) -> dict[str, Any]:
    """Return a claim template of a StatefulSet with the defaults that the API server stores."""
    spec, status = template.get("spec") or {}, template.get("status") or {}
    return {
        **template,
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {**spec, "volumeMode": spec.get("volumeMode") or "Filesystem"},
        "status": {**status, "phase": status.get("phase") or "Pending"},
    }


def _filled(values: Mapping[str, Any], **defaults: Any) -> _Part:
    """Return a copy with a default for each absent field."""
    missing = {name: value for name, value in defaults.items() if values.get(name) is None}
    return {**values, **missing}


def _with_template(spec: _Part) -> _Part:
    template = part(spec, "template")
    return {**spec, "template": {**template, "spec": with_pod_spec_defaults(part(template, "spec"))}}


def _with_spec(document: Document, complete: Callable[[_Part], _Part]) -> Document:
    return {**document, "spec": complete(part(document, "spec"))}


def _rolling(strategy: _Part, **bounds: Any) -> _Part:
    filled = _filled(strategy, type=ROLLING_UPDATE)
    if filled["type"] == ROLLING_UPDATE:
        filled["rollingUpdate"] = _filled(part(filled, "rollingUpdate"), **bounds)
    return filled


def _deployment(spec: _Part) -> _Part:
    filled = _filled(
        _with_template(spec),
        replicas=1,
        revisionHistoryLimit=REVISION_HISTORY_LIMIT,
        progressDeadlineSeconds=PROGRESS_DEADLINE_SECONDS,
    )
    return {**filled, "strategy": _rolling(part(spec, "strategy"), maxUnavailable="25%", maxSurge="25%")}


def _replica_set(spec: _Part) -> _Part:
    return _filled(_with_template(spec), replicas=1)


def _daemon_set(spec: _Part) -> _Part:
    filled = _filled(_with_template(spec), revisionHistoryLimit=REVISION_HISTORY_LIMIT)
    return {**filled, "updateStrategy": _rolling(part(spec, "updateStrategy"), maxUnavailable=1, maxSurge=0)}


def _stateful_set(spec: _Part) -> _Part:
    policy, strategy = part(spec, "persistentVolumeClaimRetentionPolicy"), part(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy = {"rollingUpdate": {}, **strategy, "type": ROLLING_UPDATE}
    if strategy["type"] == ROLLING_UPDATE and strategy.get("rollingUpdate") is not None:
        # The gate MaxUnavailableStatefulSet is off by default: `maxUnavailable` is dropped.
        strategy = {**strategy, "rollingUpdate": {"partition": part(strategy, "rollingUpdate").get("partition") or 0}}
    filled = _filled(
        _with_template(spec),
        replicas=1,
        podManagementPolicy="OrderedReady",
        revisionHistoryLimit=REVISION_HISTORY_LIMIT,
    )
    filled["updateStrategy"] = strategy
    filled["persistentVolumeClaimRetentionPolicy"] = _filled(policy, whenDeleted="Retain", whenScaled="Retain")
    if claims := elements(spec, "volumeClaimTemplates"):
        filled["volumeClaimTemplates"] = [with_claim_template_defaults(claim) for claim in claims]
    return filled


def _replication_controller(document: Document) -> Document:
    """Return the controller with defaults: its selector and labels are those of its template."""
    spec, metadata = part(document, "spec"), part(document, "metadata")
    if isinstance(spec.get("template"), dict):
        spec = _with_template(spec)
    labels = part(spec, "template", "metadata", "labels")
    if labels:
        spec = {**spec, "selector": spec.get("selector") or labels}
        metadata = {**metadata, "labels": metadata.get("labels") or labels}
    return {**document, "metadata": metadata, "spec": _filled(spec, replicas=1)}


# -- batch -----------------------------------------------------------------------------------------


def _job_template(spec: _Part) -> _Part:
    """Return a Job spec with the defaults of its pod template and failure policy."""
    filled = _with_template(spec)
    if isinstance(spec.get("podFailurePolicy"), dict):
        rules = [_with_condition_status(rule) for rule in elements(spec, "podFailurePolicy", "rules")]
        filled["podFailurePolicy"] = {**spec["podFailurePolicy"], "rules": rules}
    return filled


def _with_condition_status(rule: _Part) -> _Part:
    conditions = elements(rule, "onPodConditions")
    if not conditions:
        return rule
    return {**rule, "onPodConditions": [{**found, "status": found.get("status") or "True"} for found in conditions]}


def _job(document: Document, *, is_new: bool) -> Document:
    spec, metadata = _job_template(part(document, "spec")), part(document, "metadata")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec = _filled(
        spec,
        parallelism=1,
        backoffLimit=BACKOFF_LIMIT if spec.get("backoffLimitPerIndex") is None else MAX_INT32,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
        manualSelector=False,
    )
    if is_new and not spec["manualSelector"] and metadata.get("uid"):
        spec = _with_generated_selector(spec, metadata)
    labels = metadata.get("labels") or part(spec, "template", "metadata", "labels")
    return {**document, "metadata": {**metadata, "labels": labels} if labels else metadata, "spec": spec}


def _with_generated_selector(spec: _Part, metadata: _Part) -> _Part:
    """Return the Job spec with the generated labels and selector; explicit ones take precedence."""
    names, uids = dict.fromkeys(JOB_LABELS, metadata.get("name") or ""), dict.fromkeys(JOB_UID_LABELS, metadata["uid"])
    template, selector = part(spec, "template"), part(spec, "selector")
    labels = {**uids, **names, **part(template, "metadata", "labels")}
    matched = {JOB_UID_LABELS[0]: metadata["uid"], **part(selector, "matchLabels")}
    return {
        **spec,
        "template": {**template, "metadata": {**part(template, "metadata"), "labels": labels}},
        "selector": {**selector, "matchLabels": matched},
    }


def _cron_job(spec: _Part) -> _Part:
    filled = _filled(
        spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1
    )
    job = part(spec, "jobTemplate")
    return {**filled, "jobTemplate": {"metadata": {}, **job, "spec": _job_template(part(job, "spec"))}}


_OF_SPEC: Final[Mapping[tuple[str, str], Callable[[_Part], _Part]]] = {
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _cron_job,
}


def with_workload_defaults(document: Document, kind: tuple[str, str], *, is_new: bool) -> Document:
    """Return the document with the defaults of a workload kind. New Jobs get a selector too."""
    if kind in _OF_SPEC:
        return _with_spec(document, _OF_SPEC[kind])
    if kind == ("batch", "Job"):
        return _job(document, is_new=is_new)
    return _replication_controller(document) if kind == ("", "ReplicationController") else document
