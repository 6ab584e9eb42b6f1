# SPDX-License-Identifier: Apache-2.0
"""Pods, with the spec and status fields relevant for scheduling."""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Condition, Int32, Int64, Object, ObjectMeta, ResourceList, Struct
from steersman.api.scheduling import Affinity, Toleration, TopologySpreadConstraint
from steersman.api.volume import Volume
from steersman.api.wellknown import DEFAULT_SCHEDULER_NAME


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
    """Condition that must be true for the pod to be ready."""

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
    #: Empty until defaulted; see `Pod.scheduler_name`.
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
    #: Old name of the field above; API servers set both.
    service_account: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    readiness_gates: tuple[PodReadinessGate, ...] = ()


class ContainerStateTerminated(Struct, frozen=True):
    exit_code: Int32 = 0
    reason: str = ""


class ContainerState(Struct, frozen=True):
    """State of a container, reduced to its termination."""

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

    @property
    def scheduler_name(self) -> str:
        """Name of the scheduler that is responsible for the pod.

        Hot paths inline this expression, because a property takes three times as long.
        """
        return self.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


class PodTemplateSpec(Struct, frozen=True):
    """Pod template of a workload."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
