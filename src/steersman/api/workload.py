# SPDX-License-Identifier: Apache-2.0
"""What owns or selects pods: services and controllers.

Default topology spreading reads the selectors of the first four; the embedded controllers run all of them.
"""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Int32, Int64, LabelSelector, Object, Struct
from steersman.api.pod import PodTemplateSpec
from steersman.api.storage import PersistentVolumeClaim


class ServiceSpec(Struct, frozen=True):
    selector: dict[str, str] = {}
    type: str = ""
    cluster_ip: str = ""


class Service(Object, frozen=True):
    KIND: ClassVar[str] = "Service"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "services"

    spec: ServiceSpec = ServiceSpec()


class WorkloadStatus(Struct, frozen=True):
    """The counters that controllers of replicas keep."""

    observed_generation: Int64 = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    updated_replicas: Int32 = 0


class ReplicationControllerSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(Object, frozen=True):
    KIND: ClassVar[str] = "ReplicationController"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "replicationcontrollers"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: WorkloadStatus = WorkloadStatus()


class ReplicaSetSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(Object, frozen=True):
    KIND: ClassVar[str] = "ReplicaSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "replicasets"

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: WorkloadStatus = WorkloadStatus()


class StatefulSetSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    service_name: str = ""
    pod_management_policy: str = ""


class StatefulSet(Object, frozen=True):
    KIND: ClassVar[str] = "StatefulSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "statefulsets"

    spec: StatefulSetSpec = StatefulSetSpec()
    status: WorkloadStatus = WorkloadStatus()


class DeploymentSpec(Struct, frozen=True):
    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    paused: bool = False


class Deployment(Object, frozen=True):
    KIND: ClassVar[str] = "Deployment"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "deployments"

    spec: DeploymentSpec = DeploymentSpec()
    status: WorkloadStatus = WorkloadStatus()


class DaemonSetSpec(Struct, frozen=True):
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Object, frozen=True):
    KIND: ClassVar[str] = "DaemonSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "daemonsets"

    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(Struct, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobStatus(Struct, frozen=True):
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0


class Job(Object, frozen=True):
    KIND: ClassVar[str] = "Job"
    API_VERSION: ClassVar[str] = "batch/v1"
    PLURAL: ClassVar[str] = "jobs"

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
