# SPDX-License-Identifier: Apache-2.0
"""Keys of the shape of a pod: `pod_info` interns shapes by these keys.

Everything of a pod is in the key but what `POD_FIELDS_THAT_DECIDE_NOTHING` names: what tells pods of one template from each
other (their names, the node that they are pinned to, the volume claims that they name), and what changes while a pod runs.
Whoever reads one of those fields reads it from the pod itself, never from what pods of a shape share.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import (
    Affinity,
    Condition,
    ContainerStatus,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    Volume,
)
from steersman.api.node_selectors import NAME_FIELD
from steersman.api.selectors import Operator
from steersman.framework.deciding_fields import LeftOut, deciding_fields

_IDENTITY: Final = "tells one pod of a template from another"
_ITS_END: Final = "how the pod is ended, once it runs"
_PREEMPTION: Final = "read from the pod by the queue and by preemption"
_PROGRESS: Final = "how far the pod has come"
_CLAIMS: Final = "claims made for this pod, read from the pod by DynamicResources"

POD_FIELDS_THAT_DECIDE_NOTHING: Final[LeftOut] = {
    "metadata.name": _IDENTITY,
    "metadata.uid": _IDENTITY,
    "metadata.generate_name": _IDENTITY,
    "metadata.creation_timestamp": _IDENTITY,
    "metadata.resource_version": "counts writes",
    "metadata.generation": "counts changes of the spec",
    "metadata.labels": "part of the template and, as far as selectors ask for them, of the signature",
    "metadata.annotations": "read from the pod by plugins that want them, which say so by a fragment",
    "metadata.owner_references": "the controller is part of the template",
    "metadata.finalizers": _ITS_END,
    "metadata.deletion_timestamp": "part of the label class",
    "metadata.deletion_grace_period_seconds": _ITS_END,
    "spec.node_name": "part of the signature",
    "spec.scheduling_gates": "read from the pod before it is queued; a pod with gates is not scheduled",
    "spec.scheduling_group": "tells the pods of one group from those of the next; no plugin reads it",
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
#: Conditions that every pod goes through. What others say may decide: that a resize is infeasible does.
PROGRESS_CONDITIONS: Final = frozenset(
    {"PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "DisruptionTarget"}
)

_encoder = msgspec.json.Encoder()
_replace = msgspec.structs.replace

_LEFT_OUT = POD_FIELDS_THAT_DECIDE_NOTHING
_of_metadata = deciding_fields(ObjectMeta, "metadata", _LEFT_OUT)
_of_spec = deciding_fields(PodSpec, "spec", _LEFT_OUT)
_of_spec_as_it_is = deciding_fields(PodSpec, "spec", _LEFT_OUT, ("affinity", "volumes"))
_of_status = deciding_fields(
    PodStatus, "status", _LEFT_OUT, ("conditions", "container_statuses", "init_container_statuses")
)
_of_container_status = deciding_fields(ContainerStatus, "status.container_statuses", _LEFT_OUT)
_of_condition = deciding_fields(Condition, "status.conditions", _LEFT_OUT)
# The way from an affinity to the name of the node that it pins a pod to: what is beside it at each turn.
_beside_node_affinity = deciding_fields(Affinity, "", {}, ("node_affinity",))
_beside_required = deciding_fields(NodeAffinity, "", {}, ("required_during_scheduling_ignored_during_execution",))
_beside_term = deciding_fields(NodeSelector, "", {}, ("node_selector_terms",))
_beside_name_requirement = deciding_fields(NodeSelectorTerm, "", {}, ("match_fields",))
_beside_name = deciding_fields(NodeSelectorRequirement, "", {}, ("values",))


def shape_key(pod: Pod) -> bytes:
    """Equal for pods whose shapes are equal."""
    spec, status = pod.spec, pod.status
    affinity = spec.affinity
    is_pinned = affinity is not None and pinned_node(spec) != ""
    return _encoder.encode(
        (
            _of_metadata(pod.metadata),
            _of_spec_as_it_is(spec),
            is_pinned,
            _unpinned(affinity) if affinity is not None and is_pinned else affinity,
            [_without_claim_name(volume) for volume in spec.volumes if _has_source(volume)] if spec.volumes else None,
            _of_status(status),
            _containers(status),
            (_conditions(status) or None) if status.conditions else None,
        )
    )


def keeps_shape(old: Pod, new: Pod) -> bool:
    """Whether `shape_key` would surely find no difference; False where it has to look closer."""
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
    """The node that the pod is pinned to as pods of a DaemonSet are: by the one term of its node affinity, which names it.
    "" for all others. With spread constraints the node affinity says more than where the pod may run: which nodes count."""
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
    """Everything that the affinity of a pinned pod says but for the name of the node."""
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
    """Whether anything but a name is known of the volume; nothing is of config maps, secrets and projections."""
    return volume != Volume(name=volume.name)


def _without_claim_name(volume: Volume) -> Volume:
    claim = volume.persistent_volume_claim
    return volume if claim is None else _replace(volume, persistent_volume_claim=_replace(claim, claim_name=""))
