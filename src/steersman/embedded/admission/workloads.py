# SPDX-License-Identifier: Apache-2.0
"""Defaults of controllers, as a kube-apiserver fills them in, pod templates included."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from steersman.api import (
    ClaimRetentionPolicy,
    CronJob,
    DaemonSet,
    DaemonSetUpdateStrategy,
    Deployment,
    DeploymentStrategy,
    Job,
    LabelSelector,
    ReplicaSet,
    ReplicationController,
    RollingUpdateDaemonSet,
    RollingUpdateDeployment,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetUpdateStrategy,
)
from steersman.embedded.admission.pod_template import with_template_defaults
from steersman.embedded.store import ClusterView

ROLLING_UPDATE: Final = "RollingUpdate"
REVISION_HISTORY_LIMIT: Final = 10
PROGRESS_DEADLINE_SECONDS: Final = 600
BACKOFF_LIMIT: Final = 6
_LARGEST: Final = 2**31 - 1
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"

JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
JOB_UID_LABELS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")

S = TypeVar("S", bound=msgspec.Struct)

_replace = msgspec.structs.replace


def admit_replica_set(replica_set: ReplicaSet, _: ReplicaSet | None, __: ClusterView) -> ReplicaSet:
    spec = _filled(replica_set.spec, replicas=1)
    return _with(replica_set, spec=_replace(spec, template=with_template_defaults(spec.template)))


def admit_replication_controller(
    controller: ReplicationController, _: ReplicationController | None, __: ClusterView
) -> ReplicationController:
    """A controller selects, and is labelled with, the labels of its pods if it does not say otherwise."""
    spec = _filled(controller.spec, replicas=1)
    meta, labels = controller.metadata, template_labels(spec.template or {})
    if labels:
        meta = _replace(meta, labels=meta.labels or labels)
        spec = _replace(spec, selector=spec.selector or labels)
    if spec.template is not None:
        spec = _replace(spec, template=with_template_defaults(spec.template))
    return _with(controller, metadata=meta, spec=spec)


def admit_deployment(deployment: Deployment, _: Deployment | None, __: ClusterView) -> Deployment:
    spec = _filled(
        deployment.spec,
        replicas=1,
        revision_history_limit=REVISION_HISTORY_LIMIT,
        progress_deadline_seconds=PROGRESS_DEADLINE_SECONDS,
    )
    template = with_template_defaults(spec.template)
    return _with(deployment, spec=_replace(spec, strategy=_deployment_strategy(spec.strategy), template=template))


def _deployment_strategy(strategy: DeploymentStrategy) -> DeploymentStrategy:
    kind = strategy.type or ROLLING_UPDATE
    if kind != ROLLING_UPDATE:
        return strategy
    rolling = strategy.rolling_update or RollingUpdateDeployment()
    return DeploymentStrategy(kind, _filled(rolling, max_unavailable="25%", max_surge="25%"))


def admit_daemon_set(daemon_set: DaemonSet, old: DaemonSet | None, _: ClusterView) -> DaemonSet:
    """Changes of the template are counted in an annotation, which clients cannot change."""
    spec = _filled(daemon_set.spec, revision_history_limit=REVISION_HISTORY_LIMIT)
    strategy, template = spec.update_strategy, with_template_defaults(spec.template)
    if (strategy.type or ROLLING_UPDATE) == ROLLING_UPDATE:
        rolling = strategy.rolling_update or RollingUpdateDaemonSet()
        strategy = DaemonSetUpdateStrategy(ROLLING_UPDATE, _filled(rolling, max_unavailable=1, max_surge=0))
    annotations = {
        **daemon_set.metadata.annotations,
        TEMPLATE_GENERATION: _template_generation(daemon_set, old, template),
    }
    return _with(
        daemon_set,
        metadata=_replace(daemon_set.metadata, annotations=annotations),
        spec=_replace(spec, update_strategy=strategy, template=template),
    )


def _template_generation(daemon_set: DaemonSet, old: DaemonSet | None, template: dict[str, Any]) -> str:
    if old is None:
        given = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION, "")
        return given if given.isdecimal() else "1"
    before = old.metadata.annotations.get(TEMPLATE_GENERATION, "")
    number = int(before) if before.isdecimal() else 1
    return str(number + (template != old.spec.template))


def admit_stateful_set(stateful_set: StatefulSet, _: StatefulSet | None, __: ClusterView) -> StatefulSet:
    spec = _filled(
        stateful_set.spec,
        replicas=1,
        pod_management_policy="OrderedReady",
        revision_history_limit=REVISION_HISTORY_LIMIT,
    )
    policy = spec.persistent_volume_claim_retention_policy or ClaimRetentionPolicy()
    policy = _filled(policy, when_deleted="Retain", when_scaled="Retain")
    return _with(
        stateful_set,
        spec=_replace(
            spec,
            persistent_volume_claim_retention_policy=policy,
            update_strategy=_stateful_strategy(spec.update_strategy),
            template=with_template_defaults(spec.template),
            volume_claim_templates=tuple(map(_claim_template, spec.volume_claim_templates)),
        ),
    )


def _stateful_strategy(strategy: StatefulSetUpdateStrategy) -> StatefulSetUpdateStrategy:
    """`maxUnavailable` is dropped: the gate MaxUnavailableStatefulSet is off by default."""
    rolling = strategy.rolling_update
    if not strategy.type:
        rolling = rolling or RollingUpdateStatefulSetStrategy()
    kind = strategy.type or ROLLING_UPDATE
    if kind != ROLLING_UPDATE or rolling is None:
        return strategy
    return StatefulSetUpdateStrategy(kind, RollingUpdateStatefulSetStrategy(partition=rolling.partition or 0))


def _claim_template(template: dict[str, Any]) -> dict[str, Any]:
    spec = template.get("spec") or {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **template,
        "spec": {**spec, "volumeMode": spec.get("volumeMode") or "Filesystem"},
        "status": {"phase": "Pending"},
    }


def admit_job(job: Job, _: Job | None, __: ClusterView) -> Job:
    """Without any numbers one pod is to complete, at a time and in all."""
    spec, meta = job.spec, job.metadata
    if spec.parallelism is None and spec.completions is None:
        spec = _replace(spec, completions=1)
    spec = _filled(
        spec,
        parallelism=1,
        backoff_limit=BACKOFF_LIMIT if spec.backoff_limit_per_index is None else _LARGEST,
        completion_mode="NonIndexed",
        suspend=False,
        pod_replacement_policy="TerminatingOrFailed" if spec.pod_failure_policy is None else "Failed",
        manual_selector=False,
    )
    spec = _replace(spec, template=with_template_defaults(spec.template))
    if spec.selector is None and not spec.manual_selector and meta.uid:
        names, uids = dict.fromkeys(JOB_LABELS, meta.name), dict.fromkeys(JOB_UID_LABELS, meta.uid)
        template = _labelled(spec.template, {**uids, **names})
        selector = LabelSelector(match_labels={JOB_UID_LABELS[0]: meta.uid})
        spec = _replace(spec, selector=selector, template=template)
    labels = meta.labels or template_labels(spec.template)
    return _with(job, metadata=_replace(meta, labels=labels), spec=spec)


def admit_cron_job(cron_job: CronJob, _: CronJob | None, __: ClusterView) -> CronJob:
    spec = _filled(
        cron_job.spec,
        concurrency_policy="Allow",
        suspend=False,
        successful_jobs_history_limit=3,
        failed_jobs_history_limit=1,
    )
    job, job_spec = spec.job_template, spec.job_template.get("spec") or {}
    template = with_template_defaults(job_spec.get("template") or {})
    return _with(cron_job, spec=_replace(spec, job_template={**job, "spec": {**job_spec, "template": template}}))


def template_labels(template: dict[str, Any]) -> dict[str, str]:
    """The labels that pods of the template get."""
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def _labelled(template: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {**metadata, "labels": {**template_labels(template), **labels}}}


def _filled(part: S, **defaults: Any) -> S:
    """The struct with a value for each of the fields that say nothing."""
    missing = {name: value for name, value in defaults.items() if getattr(part, name) in (None, "")}
    return _replace(part, **missing) if missing else part


T = TypeVar("T", bound=msgspec.Struct)


def _with(obj: T, **parts: Any) -> T:
    """The object with other parts; itself if they are equal to its own, so that a writer sees that nothing changed."""
    changed = {name: value for name, value in parts.items() if getattr(obj, name) != value}
    return _replace(obj, **changed) if changed else obj
