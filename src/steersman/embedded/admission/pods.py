# SPDX-License-Identifier: Apache-2.0
"""Admission of pods: the order of the rules, and the small ones.

The order is that of an API server: defaults of fields, then priority and tolerations, then what happens just before the pod
is stored.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Condition, Pod, PodSpec, PodStatus, PriorityClass, Volume
from steersman.embedded.admission import label_keys, pod_resources, priority, storage, tolerations
from steersman.embedded.admission.containers import ContainerDefaults
from steersman.embedded.pods import POD_SCHEDULED
from steersman.embedded.store import ClusterView
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME

PENDING: Final = "Pending"
RESTART_ALWAYS: Final = "Always"
GRACE_PERIOD_SECONDS: Final = 30
SCHEDULING_GATED: Final = "SchedulingGated"
GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"
_MOST_REMEMBERED: Final = 1024

_replace = msgspec.structs.replace


class PodAdmission:
    """Completes pods. What several pods share, containers or the whole spec, is shared by the completed pods too."""

    def __init__(self) -> None:
        self._containers = ContainerDefaults()
        #: By identity: specs that depend on nothing but themselves, completed. They are kept, so that their identity
        #: stays theirs.
        self._known: dict[int, tuple[PodSpec, PodSpec]] = {}
        #: The last status without a phase, and the pending one that it became.
        self._last_status = (PodStatus(), PodStatus(phase=PENDING))

    def admit(self, pod: Pod, old: Pod | None, view: ClusterView) -> Pod:
        known = self._known.get(id(pod.spec)) if old is None else None
        if known is not None and not view.objects(PriorityClass):
            return self._with_first_status(_replace(pod, spec=known[1]), view)
        admitted = self._completed(pod, old, view)
        if old is None and _depends_on_nothing(pod.spec, view):
            self._remember(pod.spec, admitted.spec)
        return self._with_first_status(admitted, view) if old is None else admitted

    def _completed(self, pod: Pod, old: Pod | None, view: ClusterView) -> Pod:
        spec = self._with_defaults(pod.spec)
        spec = priority.resolved(pod.metadata.name, spec, old, view)
        spec = tolerations.with_default_tolerations(spec)
        if old is None:
            spec = label_keys.merged(spec, pod.metadata.labels)
        return pod if spec is pod.spec else _replace(pod, spec=spec)

    def _with_first_status(self, pod: Pod, view: ClusterView) -> Pod:
        """Pending, and if the pod is gated, the condition that says so; a status that the pod brings along stays."""
        status = pod.status
        if not status.phase:
            if status is not self._last_status[0]:
                self._last_status = (status, _replace(status, phase=PENDING))
            status = self._last_status[1]
        if pod.spec.scheduling_gates and not any(c.type == POD_SCHEDULED for c in status.conditions):
            status = _replace(status, conditions=(*status.conditions, _gated(view.timestamp())))
        return pod if status is pod.status else _replace(pod, status=status)

    def _remember(self, spec: PodSpec, completed: PodSpec) -> None:
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[id(spec)] = (spec, completed)

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


def _depends_on_nothing(spec: PodSpec, view: ClusterView) -> bool:
    """Whether neither a priority class nor the pod's own labels have a say in the completed spec."""
    return not (spec.priority_class_name or view.objects(PriorityClass) or label_keys.depends_on_labels(spec))


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
