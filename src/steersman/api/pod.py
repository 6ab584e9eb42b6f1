# SPDX-License-Identifier: Apache-2.0
"""Pods: what is to be placed, with the fields of spec and status that placement depends on."""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Condition, Int32, Int64, Object, ObjectMeta, ResourceList, Struct
from steersman.api.scheduling import Affinity, Toleration, TopologySpreadConstraint
from steersman.api.volume import Volume


class ContainerResourceClaim(Struct, frozen=True):
    """A container's use of an entry of `spec.resourceClaims`."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Struct, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ContainerResourceClaim, ...] = ()


class ContainerPort(Struct, frozen=True):
    name: str = ""
    host_port: Int32 = 0
    container_port: Int32 = 0
    protocol: str = ""
    host_ip: str = ""


class ContainerResizePolicy(Struct, frozen=True):
    resource_name: str = ""
    restart_policy: str = ""


class ContainerRestartRule(Struct, frozen=True):
    action: str = ""


class Container(Struct, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    #: "Always" makes an init container a sidecar.
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class PodOS(Struct, frozen=True):
    name: str = ""


class PodReadinessGate(Struct, frozen=True):
    """A condition that must be true before the pod is ready."""

    condition_type: str = ""


class PodSchedulingGate(Struct, frozen=True):
    name: str = ""


class PodSchedulingGroup(Struct, frozen=True):
    pod_group_name: str | None = None


class PodResourceClaim(Struct, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Struct, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    #: Empty until defaulted: the pod then belongs to "default-scheduler".
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    os: PodOS | None = None
    restart_policy: str = ""
    runtime_class_name: str | None = None
    service_account_name: str = ""
    #: The old name of the field above. API servers write the same into both.
    service_account: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    readiness_gates: tuple[PodReadinessGate, ...] = ()


class ContainerStateTerminated(Struct, frozen=True):
    exit_code: Int32 = 0
    reason: str = ""


class ContainerState(Struct, frozen=True):
    """The state of a container: how it ended, if it has. Nobody here decides by other states."""

    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Struct, frozen=True):
    name: str = ""
    restart_count: Int32 = 0
    state: ContainerState | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(Struct, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Struct, frozen=True):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Struct, frozen=True):
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(Struct, frozen=True):
    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: ResourceList = {}


class PodStatus(Struct, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    observed_generation: Int64 = 0
    host_ip: str = ""
    pod_ip: str = ""
    qos_class: str = ""
    resize: str = ""
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(Object, frozen=True):
    KIND: ClassVar[str] = "Pod"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "pods"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(Struct, frozen=True):
    """The template that a workload creates its pods from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
