# SPDX-License-Identifier: Apache-2.0
"""Admission of pods: the order of the rules, and the small rules.

The order is an API server's: field defaults, limit ranges, priority and tolerations, runtime class,
then what happens just before storage. A pod that another cluster admitted (it is on a node, or was
created earlier) is not completed as new. An API client may create a pod on a node, which is
admitted as new.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import (
    DEFAULT_SCHEDULER_NAME,
    NO_EXECUTE,
    POD_SCHEDULED,
    Condition,
    LimitRange,
    Object,
    Pod,
    PodSpec,
    PodStatus,
    PriorityClass,
    RuntimeClass,
    Toleration,
    Volume,
)
from steersman.api.defaults import NOT_READY, TOLERATION_SECONDS, UNREACHABLE
from steersman.base import LruCache
from steersman.cluster.store.admission import (
    label_keys,
    limit_ranges,
    pod_resources,
    priority,
    runtime_classes,
    storage,
)
from steersman.cluster.store.admission.containers import ContainerDefaults
from steersman.cluster.store.admission.pod_resources import qos_class
from steersman.cluster.store.store import ClusterView

PENDING: Final = "Pending"
RESTART_ALWAYS: Final = "Always"
DEFAULT_SERVICE_ACCOUNT: Final = "default"
GRACE_PERIOD_SECONDS: Final = 30
SCHEDULING_GATED: Final = "SchedulingGated"
GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"

DEFAULT_TOLERATIONS: Final = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=TOLERATION_SECONDS)
    for key in (NOT_READY, UNREACHABLE)
)
_MAX_REMEMBERED: Final = 1024
_COMPLETED_BY: Final[tuple[type[Object], ...]] = (PriorityClass, LimitRange, RuntimeClass)

_replace = msgspec.structs.replace


class PodAdmission:
    """Admission of pods. Containers and specs that pods share remain shared."""

    def __init__(self, *, enforces_classes: bool = False, assigns_service_accounts: bool = False) -> None:
        self._enforces_classes = enforces_classes
        self._assigns_service_accounts = assigns_service_accounts
        self._containers = ContainerDefaults()
        #: (spec id, namespace if limit ranges exist) → spec, completed spec, annotation; for specs
        #: that depend on nothing else but the objects in `_stamp`. The entries keep the ids valid.
        self._known: LruCache[tuple[int, str], tuple[PodSpec, PodSpec, str]] = LruCache(_MAX_REMEMBERED)
        #: Versions of the objects that `_known` depends on.
        self._stamp: tuple[str, ...] = ()
        #: Last completed status and its result.
        self._last_status = (PodStatus(), PodStatus(phase=PENDING))

    def admit(self, pod: Pod, old: Pod | None, view: ClusterView) -> Pod:
        if old is not None:
            spec = self._completed(pod, old, view)[0]
            return pod if spec is pod.spec else _replace(pod, spec=spec)
        is_new = comes_new(pod, view)
        self._forget_outdated(view)
        place = (id(pod.spec), pod.metadata.namespace if is_new and view.objects(LimitRange) else "")
        known = self._known.get(place)
        if known is None:
            completed, note = self._completed(pod, None, view, is_new=is_new)
            known = (pod.spec, completed, note)
            if not label_keys.depends_on_labels(pod.spec):
                self._known.put(place, known)
        _, spec, note = known
        if note:
            annotations = {**pod.metadata.annotations, limit_ranges.ANNOTATION: note}
            pod = _replace(pod, metadata=_replace(pod.metadata, annotations=annotations))
        return self._with_first_status(pod if spec is pod.spec else _replace(pod, spec=spec), view)

    def _completed(self, pod: Pod, old: Pod | None, view: ClusterView, *, is_new: bool = False) -> tuple[PodSpec, str]:
        """Return the completed spec, and the text of the LimitRanger annotation."""
        name, note = pod.metadata.name, ""
        spec = self._with_defaults(pod.spec)
        limits = limit_ranges.limits_of(pod.metadata.namespace, view) if is_new else ()
        if limits:
            spec, note = limit_ranges.with_default_resources(spec, limits)
        if is_new and self._enforces_classes:
            spec = priority.checked(name, spec, view)
        spec = priority.resolved(name, spec, old, view)
        spec = _with_default_tolerations(spec)
        if is_new and self._assigns_service_accounts:
            spec = _with_service_account(spec)
        if is_new:
            spec = runtime_classes.with_runtime_class(name, spec, view, is_required=self._enforces_classes)
        if limits:
            limit_ranges.check_pod(name, spec, limits)
        if old is None:
            spec = label_keys.merged(spec, pod.metadata.labels)
        return spec, note

    def _with_first_status(self, pod: Pod, view: ClusterView) -> Pod:
        """Set the phase Pending and, if the pod is gated, its condition; existing values are kept.
        With whole documents the pod gets a QoS class too; no decision depends on it."""
        status = pod.status
        qos = status.qos_class or (qos_class(pod) if view.keeps_documents else "")
        if not status.phase or qos != status.qos_class:
            if status is not self._last_status[0] or qos != self._last_status[1].qos_class:
                self._last_status = (status, _replace(status, phase=status.phase or PENDING, qos_class=qos))
            status = self._last_status[1]
        if pod.spec.scheduling_gates and not any(c.type == POD_SCHEDULED for c in status.conditions):
            status = _replace(status, conditions=(*status.conditions, _gated(view.timestamp())))
        return pod if status is pod.status else _replace(pod, status=status)

    def _forget_outdated(self, view: ClusterView) -> None:
        stamp = _stamp(view)
        if stamp != self._stamp:
            self._stamp = stamp
            self._known.clear()

    def _with_defaults(self, spec: PodSpec) -> PodSpec:
        spec = self._containers.applied(spec)
        spec = pod_resources.completed(spec)
        spec = _with_volume_defaults(spec)
        if spec.scheduler_name and spec.restart_policy and spec.termination_grace_period_seconds is not None:
            return spec
        period = spec.termination_grace_period_seconds
        return _replace(
            spec,
            scheduler_name=spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
            restart_policy=spec.restart_policy or RESTART_ALWAYS,
            termination_grace_period_seconds=GRACE_PERIOD_SECONDS if period is None else period,
        )


def _with_service_account(spec: PodSpec) -> PodSpec:
    """Set both service account fields to the same account."""
    account = spec.service_account_name or spec.service_account or DEFAULT_SERVICE_ACCOUNT
    if spec.service_account_name == spec.service_account == account:
        return spec
    return _replace(spec, service_account_name=account, service_account=account)


def comes_new(obj: Object, view: ClusterView) -> bool:
    """Return whether the object is created now, rather than loaded from another cluster."""
    if isinstance(obj, Pod) and obj.spec.node_name and not view.keeps_documents:
        return False
    created = obj.metadata.creation_timestamp
    return not created or created == view.timestamp()


def _stamp(view: ClusterView) -> tuple[str, ...]:
    """Return the versions of all objects that complete specs."""
    stamp: tuple[str, ...] = ()
    for kind in _COMPLETED_BY:
        known = view.objects(kind)
        if known:
            stamp += tuple(obj.metadata.resource_version for obj in known.values())
    return stamp


def _with_volume_defaults(spec: PodSpec) -> PodSpec:
    volumes = tuple(map(_volume, spec.volumes)) if spec.volumes else ()
    unchanged = all(new is old for new, old in zip(volumes, spec.volumes, strict=True))
    return spec if unchanged else _replace(spec, volumes=volumes)


def _volume(volume: Volume) -> Volume:
    if volume.rbd is not None:
        rbd = storage.with_rbd_defaults(volume.rbd)
        return volume if rbd is volume.rbd else _replace(volume, rbd=rbd)
    ephemeral = volume.ephemeral
    if ephemeral is None or ephemeral.volume_claim_template is None:
        return volume
    template = ephemeral.volume_claim_template
    spec = storage.with_volume_mode(template.spec)
    if spec is template.spec:
        return volume
    return _replace(volume, ephemeral=_replace(ephemeral, volume_claim_template=_replace(template, spec=spec)))


def _gated(now: str) -> Condition:
    return Condition(
        type=POD_SCHEDULED, status="False", reason=SCHEDULING_GATED, message=GATED_MESSAGE, last_transition_time=now
    )


def _with_default_tolerations(spec: PodSpec) -> PodSpec:
    """Add the default tolerations: five minutes on a node that is not ready or unreachable."""
    existing = spec.tolerations
    if not existing:
        return _replace(spec, tolerations=DEFAULT_TOLERATIONS)
    covered = {own.key for own in existing if own.effect in (NO_EXECUTE, "")}
    missing = () if "" in covered else tuple(each for each in DEFAULT_TOLERATIONS if each.key not in covered)
    return _replace(spec, tolerations=existing + missing) if missing else spec
