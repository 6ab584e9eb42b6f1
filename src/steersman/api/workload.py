# SPDX-License-Identifier: Apache-2.0
"""Services and workload controllers. `batch` has Jobs and CronJobs.

Default topology spreading uses the selectors of the first four kinds; the embedded controllers run
all but services. Templates are kept as JSON, so that no fields are lost and every change is
detected; `controllers.pod_template` decodes them.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

from steersman.api.meta import Condition, Int32, Int64, LabelSelector, Object, Struct

IntOrPercent: TypeAlias = Int32 | str
"""A number, or a percentage such as "25%"."""


class ServiceSpec(Struct, frozen=True):
    selector: dict[str, str] = {}
    type: str = ""
    cluster_ip: str = ""


class Service(Object, frozen=True):
    KIND: ClassVar[str] = "Service"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "services"

    spec: ServiceSpec = ServiceSpec()


class ReplicaSetStatus(Struct, frozen=True):
    """Status of a ReplicaSet or ReplicationController; the latter ignores terminating pods."""

    replicas: Int32 = 0
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    observed_generation: Int64 = 0
    conditions: tuple[Condition, ...] = ()


class ReplicationControllerSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: dict[str, str] = {}
    template: dict[str, Any] | None = None


class ReplicationController(Object, frozen=True):
    KIND: ClassVar[str] = "ReplicationController"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "replicationcontrollers"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicaSetSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: dict[str, Any] = {}


class ReplicaSet(Object, frozen=True):
    KIND: ClassVar[str] = "ReplicaSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "replicasets"

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class RollingUpdateStatefulSetStrategy(Struct, frozen=True):
    partition: Int32 | None = None
    max_unavailable: IntOrPercent | None = None


class StatefulSetUpdateStrategy(Struct, frozen=True):
    type: str = ""
    rolling_update: RollingUpdateStatefulSetStrategy | None = None


class ClaimRetentionPolicy(Struct, frozen=True):
    """Whether claims of a StatefulSet are deleted with the set or replica: "Retain" or "Delete"."""

    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetOrdinals(Struct, frozen=True):
    start: Int32 = 0


class StatefulSetSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: dict[str, Any] = {}
    volume_claim_templates: tuple[dict[str, Any], ...] = ()
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    revision_history_limit: Int32 | None = None
    min_ready_seconds: Int32 = 0
    persistent_volume_claim_retention_policy: ClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSetStatus(Struct, frozen=True):
    observed_generation: Int64 = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    current_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: Int32 | None = None
    conditions: tuple[Condition, ...] = ()
    available_replicas: Int32 = 0


class StatefulSet(Object, frozen=True):
    KIND: ClassVar[str] = "StatefulSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "statefulsets"

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class RollingUpdateDeployment(Struct, frozen=True):
    max_unavailable: IntOrPercent | None = None
    max_surge: IntOrPercent | None = None


class DeploymentStrategy(Struct, frozen=True):
    type: str = ""
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: dict[str, Any] = {}
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    paused: bool = False
    progress_deadline_seconds: Int32 | None = None


class DeploymentCondition(Condition, frozen=True):
    last_update_time: str | None = None


class DeploymentStatus(Struct, frozen=True):
    observed_generation: Int64 = 0
    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    conditions: tuple[DeploymentCondition, ...] = ()
    collision_count: Int32 | None = None


class Deployment(Object, frozen=True):
    KIND: ClassVar[str] = "Deployment"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "deployments"

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class RollingUpdateDaemonSet(Struct, frozen=True):
    max_unavailable: IntOrPercent | None = None
    max_surge: IntOrPercent | None = None


class DaemonSetUpdateStrategy(Struct, frozen=True):
    type: str = ""
    rolling_update: RollingUpdateDaemonSet | None = None


class DaemonSetSpec(Struct, frozen=True):
    selector: LabelSelector | None = None
    template: dict[str, Any] = {}
    update_strategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None


class DaemonSetStatus(Struct, frozen=True):
    current_number_scheduled: Int32 = 0
    number_misscheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0
    number_ready: Int32 = 0
    observed_generation: Int64 = 0
    updated_number_scheduled: Int32 = 0
    number_available: Int32 = 0
    number_unavailable: Int32 = 0
    collision_count: Int32 | None = None
    conditions: tuple[Condition, ...] = ()


class DaemonSet(Object, frozen=True):
    KIND: ClassVar[str] = "DaemonSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "daemonsets"

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(Object, frozen=True):
    """Former or current template of a StatefulSet or DaemonSet."""

    KIND: ClassVar[str] = "ControllerRevision"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "controllerrevisions"

    #: Patch that restores the template.
    data: dict[str, Any] = {}
    revision: Int64 = 0
