# SPDX-License-Identifier: Apache-2.0
"""Pod groups of `scheduling.k8s.io`: PodGroup, CompositePodGroup and Workload.

A pod names its group in `spec.schedulingGroup.podGroupName`. A group may name a parent
CompositePodGroup; groups with a common root form a hierarchy that is scheduled as one.
"""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Condition, Int32, Object, Struct
from steersman.api.pod import PodResourceClaim

#: Condition of a PodGroup that says whether it was ever scheduled.
INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"


class BasicSchedulingPolicy(Struct, frozen=True):
    """Members are scheduled independently of each other."""


class GangSchedulingPolicy(Struct, frozen=True):
    min_count: Int32 = 0


class CompositeGangSchedulingPolicy(Struct, frozen=True):
    min_group_count: Int32 = 0


class PodGroupSchedulingPolicy(Struct, frozen=True):
    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class CompositePodGroupSchedulingPolicy(Struct, frozen=True):
    basic: BasicSchedulingPolicy | None = None
    gang: CompositeGangSchedulingPolicy | None = None


class TopologyConstraint(Struct, frozen=True):
    key: str = ""


class PodGroupSchedulingConstraints(Struct, frozen=True):
    topology: tuple[TopologyConstraint, ...] = ()


class SingleDisruptionMode(Struct, frozen=True):
    """Members may be disrupted one by one."""


class AllDisruptionMode(Struct, frozen=True):
    """All members are disrupted together."""


class DisruptionMode(Struct, frozen=True):
    single: SingleDisruptionMode | None = None
    all: AllDisruptionMode | None = None


class WorkloadReference(Struct, frozen=True):
    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(Struct, frozen=True):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class CompositePodGroupSpec(Struct, frozen=True):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class PodGroupResourceClaimStatus(Struct, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None


class PodGroupStatus(Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class CompositePodGroupStatus(Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class PodGroup(Object, frozen=True):
    KIND: ClassVar[str] = "PodGroup"
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    PLURAL: ClassVar[str] = "podgroups"

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class CompositePodGroup(Object, frozen=True):
    KIND: ClassVar[str] = "CompositePodGroup"
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1alpha3"
    PLURAL: ClassVar[str] = "compositepodgroups"

    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: CompositePodGroupStatus = CompositePodGroupStatus()


class TypedLocalObjectReference(Struct, frozen=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class PodGroupTemplate(Struct, frozen=True):
    name: str = ""
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class CompositePodGroupTemplate(Struct, frozen=True):
    name: str = ""
    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] = ()


class WorkloadSpec(Struct, frozen=True):
    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] = ()


class Workload(Object, frozen=True):
    KIND: ClassVar[str] = "Workload"
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    PLURAL: ClassVar[str] = "workloads"

    spec: WorkloadSpec = WorkloadSpec()


AnyPodGroup = PodGroup | CompositePodGroup


def topology_key(group: AnyPodGroup) -> str | None:
    """Return the node label by whose value all members must agree, or None without a constraint."""
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else None


def is_disrupted_as_one(group: AnyPodGroup) -> bool:
    """Return whether preemption removes all running members together."""
    mode = group.spec.disruption_mode
    return mode is not None and mode.all is not None


def group_priority(group: AnyPodGroup) -> int:
    return group.spec.priority or 0
