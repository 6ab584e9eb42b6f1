# SPDX-License-Identifier: Apache-2.0
"""What makes the shape of a pod: `pod_info` interns shapes by these keys.

Everything that decides where pods of a template may go is in the key, and nothing that only tells one of them from another: its
labels, the node that it is pinned to, the volume claims that it names.
"""

from __future__ import annotations

from operator import attrgetter, is_

import msgspec

from steersman.api import Affinity, Pod, PodSpec, PodStatus, Volume
from steersman.api.node_selectors import NAME_FIELD
from steersman.api.selectors import Operator

_encoder = msgspec.json.Encoder()


def shape_key(pod: Pod) -> bytes:
    """Equal for pods whose shapes are equal: the namespace and every field of the spec that the scheduler reads,
    without what differs from replica to replica: what decides nothing, the node that a pod is pinned to, its claims."""
    spec = pod.spec
    status = pod.status
    resized = status.container_statuses or status.init_container_statuses or status.resources
    return _encoder.encode(
        (
            pod.metadata.namespace,
            spec.containers,
            spec.init_containers,
            spec.node_selector,
            _unpinned(spec.affinity) if pinned_node(spec) else spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.overhead,
            spec.resources,
            spec.host_network,
            spec.host_users,
            [_without_claim(v) for v in spec.volumes if _decides(v)],
            spec.resource_claims,
            spec.os,
            (status.container_statuses, status.init_container_statuses, status.resources, status.allocated_resources)
            if resized
            else None,
            status.conditions if resized else None,
        )
    )


_shaping = attrgetter(
    "containers",
    "init_containers",
    "node_selector",
    "affinity",
    "tolerations",
    "topology_spread_constraints",
    "overhead",
    "resources",
    "host_network",
    "host_users",
    "volumes",
    "resource_claims",
    "os",
)


def keeps_shape(old: Pod, new: Pod) -> bool:
    """Whether `shape_key` would surely find no difference; False where it has to look closer."""
    if old.spec is not new.spec and not all(map(is_, _shaping(old.spec), _shaping(new.spec))):
        return False
    return not (_tells_resources(old.status) or _tells_resources(new.status))


def _tells_resources(status: PodStatus) -> bool:
    """Whether the status has a say in what the pod requests."""
    return bool(
        status.container_statuses or status.init_container_statuses or status.resources or status.allocated_resources
    )


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


def _unpinned(affinity: Affinity | None) -> tuple[object, ...]:
    """What pods that are pinned to different nodes have in common."""
    assert affinity is not None
    assert affinity.node_affinity is not None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    return (
        "pinned",
        required.node_selector_terms[0].match_expressions,
        affinity.node_affinity.preferred_during_scheduling_ignored_during_execution,
        affinity.pod_affinity,
        affinity.pod_anti_affinity,
    )


def _decides(volume: Volume) -> bool:
    """Volumes whose source the scheduler looks at; config maps, secrets and projections never decide anything."""
    return volume != Volume(name=volume.name)


def _without_claim(volume: Volume) -> Volume | str:
    if volume.persistent_volume_claim is not None:
        return "claim"
    return "claim made for the pod" if volume.ephemeral is not None else volume
