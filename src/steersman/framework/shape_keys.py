# SPDX-License-Identifier: Apache-2.0
"""Keys of pod shapes, by which `pod_info` interns them.

The key contains everything of a pod except `FIELDS_NOT_IN_SHAPE_KEY`: what differs between pods of
one template (their names, the node that they are pinned to, the volume claims that they name), and
what changes while a pod runs. Code that needs one of those fields must read it from the pod itself,
never from values shared by a shape.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import (
    NAME_FIELD,
    POD_SCHEDULED,
    Affinity,
    Condition,
    ContainerStatus,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Operator,
    Pod,
    PodSpec,
    PodStatus,
    Volume,
)
from steersman.framework.significant_fields import IgnoredFields, field_getter

_IDENTITY: Final = "identifies one pod of a template"
_ITS_END: Final = "how the pod is ended, once it runs"
_PREEMPTION: Final = "read from the pod by the queue and by preemption"
_PROGRESS: Final = "how far the pod has come"
_CLAIMS: Final = "claims made for this pod, read from the pod by DynamicResources"

FIELDS_NOT_IN_SHAPE_KEY: Final[IgnoredFields] = {
    "metadata.name": _IDENTITY,
    "metadata.uid": _IDENTITY,
    "metadata.generate_name": _IDENTITY,
    "metadata.creation_timestamp": _IDENTITY,
    "metadata.resource_version": "counts writes",
    "metadata.generation": "counts changes of the spec",
    "metadata.labels": "part of the template and, as far as selectors use them, of the signature",
    "metadata.annotations": "read from the pod by plugins that declare them in a fragment",
    "metadata.owner_references": "the controller is part of the template",
    "metadata.finalizers": _ITS_END,
    "metadata.deletion_timestamp": "part of the label class",
    "metadata.deletion_grace_period_seconds": _ITS_END,
    "spec.node_name": "part of the signature",
    "spec.scheduling_gates": "read from the pod before it is queued; a pod with gates is not scheduled",
    "spec.scheduling_group.pod_group_name": "identifies the pods of one group; that a pod has one is in the key",
    "spec.scheduler_name": "chooses the profile, and each has signatures of its own",
    "spec.priority": _PREEMPTION,
    "spec.priority_class_name": "became the priority at admission",
    "spec.preemption_policy": _PREEMPTION,
    "spec.termination_grace_period_seconds": _ITS_END,
    "spec.active_deadline_seconds": _ITS_END,
    "spec.readiness_gates": "when the pod is ready, once it runs",
    "spec.volumes.persistent_volume_claim.claim_name": "plugins that look at claims have kernels for each pod",
    "status.phase": _PROGRESS,
    "status.message": _PROGRESS,
    "status.reason": _PROGRESS,
    "status.start_time": "read from the pod by preemption",
    "status.observed_generation": _PROGRESS,
    "status.host_ip": _PROGRESS,
    "status.pod_ip": _PROGRESS,
    "status.qos_class": "follows from requests and limits",
    "status.nominated_node_name": "read from the pod by the queue",
    "status.container_statuses.restart_count": _PROGRESS,
    "status.container_statuses.state": _PROGRESS,
    "status.init_container_statuses.restart_count": _PROGRESS,
    "status.init_container_statuses.state": _PROGRESS,
    "status.conditions.message": "for people",
    "status.conditions.observed_generation": _PROGRESS,
    "status.conditions.last_transition_time": _PROGRESS,
    "status.resource_claim_statuses": _CLAIMS,
    "status.extended_resource_claim_status": _CLAIMS,
    "status.node_allocatable_resource_claim_statuses": _CLAIMS,
}
#: Conditions that every pod goes through. Other conditions may affect decisions: an infeasible
#: resize does.
PROGRESS_CONDITIONS: Final = frozenset(
    {POD_SCHEDULED, "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "DisruptionTarget"}
)

_encoder = msgspec.json.Encoder()
_replace = msgspec.structs.replace

_IGNORED = FIELDS_NOT_IN_SHAPE_KEY
_of_metadata = field_getter(ObjectMeta, "metadata", _IGNORED)
_of_spec = field_getter(PodSpec, "spec", _IGNORED)
_of_most_of_spec = field_getter(PodSpec, "spec", _IGNORED, ("affinity", "scheduling_group", "volumes"))
_of_status = field_getter(
    PodStatus, "status", _IGNORED, ("conditions", "container_statuses", "init_container_statuses")
)
_of_container_status = field_getter(ContainerStatus, "status.container_statuses", _IGNORED)
_of_condition = field_getter(Condition, "status.conditions", _IGNORED)
# Getters for the siblings of each field on the path from an affinity to the name of the node that
# it pins a pod to.
_beside_node_affinity = field_getter(Affinity, "", {}, ("node_affinity",))
_beside_required = field_getter(NodeAffinity, "", {}, ("required_during_scheduling_ignored_during_execution",))
_beside_term = field_getter(NodeSelector, "", {}, ("node_selector_terms",))
_beside_name_requirement = field_getter(NodeSelectorTerm, "", {}, ("match_fields",))
_beside_name = field_getter(NodeSelectorRequirement, "", {}, ("values",))


def shape_key(pod: Pod) -> bytes:
    """Return the key of the pod's shape; equal keys mean equal shapes."""
    spec, status = pod.spec, pod.status
    affinity = spec.affinity
    is_pinned = affinity is not None and pinned_node(spec) != ""
    return _encoder.encode(
        (
            _of_metadata(pod.metadata),
            _of_most_of_spec(spec),
            spec.scheduling_group is not None,
            is_pinned,
            _unpinned(affinity) if affinity is not None and is_pinned else affinity,
            [_without_claim_name(volume) for volume in spec.volumes if _has_source(volume)] if spec.volumes else None,
            _of_status(status),
            _containers(status),
            (_conditions(status) or None) if status.conditions else None,
        )
    )


def is_shape_unchanged(old: Pod, new: Pod) -> bool:
    """Return True if both versions certainly have the same `shape_key`; False if the keys must be
    compared."""
    return (
        (old.spec is new.spec or _of_spec(old.spec) == _of_spec(new.spec))
        and _of_metadata(old.metadata) == _of_metadata(new.metadata)
        and (
            old.status is new.status
            or (
                _of_status(old.status) == _of_status(new.status)
                and _containers(old.status) == _containers(new.status)
                and _conditions(old.status) == _conditions(new.status)
            )
        )
    )


def _containers(status: PodStatus) -> list[list[object]] | None:
    containers, init_containers = status.container_statuses, status.init_container_statuses
    if not containers and not init_containers:
        return None
    return [[_of_container_status(container) for container in some] for some in (containers, init_containers)]


def _conditions(status: PodStatus) -> list[object]:
    return [_of_condition(condition) for condition in status.conditions if condition.type not in PROGRESS_CONDITIONS]


def pinned_node(spec: PodSpec) -> str:
    """Return the node that the pod is pinned to as pods of a DaemonSet are, by the single term of
    its node affinity, or "". Pods with spread constraints are excluded, because their node affinity
    also determines which nodes count."""
    affinity = spec.affinity
    if affinity is None or affinity.node_affinity is None or spec.topology_spread_constraints:
        return ""
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if required is None or len(required.node_selector_terms) != 1:
        return ""
    fields = required.node_selector_terms[0].match_fields
    if (
        len(fields) != 1
        or fields[0].key != NAME_FIELD
        or fields[0].operator != Operator.IN
        or len(fields[0].values) != 1
    ):
        return ""
    return fields[0].values[0]


def _unpinned(affinity: Affinity) -> tuple[object, ...]:
    """Return all fields of the affinity of a pinned pod except the node name."""
    node_affinity = affinity.node_affinity
    assert node_affinity is not None
    required = node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    term = required.node_selector_terms[0]
    return (
        _beside_name(term.match_fields[0]),
        _beside_name_requirement(term),
        _beside_term(required),
        _beside_required(node_affinity),
        _beside_node_affinity(affinity),
    )


def _has_source(volume: Volume) -> bool:
    """Return whether the volume has any modelled source; config maps, secrets and projections are
    not modelled."""
    return volume != Volume(name=volume.name)


def _without_claim_name(volume: Volume) -> Volume:
    claim = volume.persistent_volume_claim
    return volume if claim is None else _replace(volume, persistent_volume_claim=_replace(claim, claim_name=""))
