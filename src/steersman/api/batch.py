# SPDX-License-Identifier: Apache-2.0
"""Jobs and CronJobs. Templates are JSON, as in `workload`."""

from __future__ import annotations

from typing import Any, ClassVar

from steersman.api.meta import Condition, Int32, Int64, LabelSelector, Object, ObjectMeta, ObjectReference, Struct


class OnExitCodes(Struct, frozen=True):
    """Exit codes that a pod failure policy rule matches, in any container if no name is given."""

    container_name: str | None = None
    operator: str = ""
    values: tuple[Int32, ...] = ()


class OnPodCondition(Struct, frozen=True):
    """Pod condition that a pod failure policy rule matches."""

    type: str = ""
    status: str = ""


class PodFailurePolicyRule(Struct, frozen=True):
    action: str = ""
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[OnPodCondition, ...] = ()


class PodFailurePolicy(Struct, frozen=True):
    rules: tuple[PodFailurePolicyRule, ...] = ()


class SuccessPolicyRule(Struct, frozen=True):
    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(Struct, frozen=True):
    rules: tuple[SuccessPolicyRule, ...] = ()


class JobSpec(Struct, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    template: dict[str, Any] = {}
    ttl_seconds_after_finished: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class JobCondition(Condition, frozen=True):
    last_probe_time: str | None = None


class UncountedTerminatedPods(Struct, frozen=True):
    """Uids of finished pods that are not in the counters yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Struct, frozen=True):
    conditions: tuple[JobCondition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None
    ready: Int32 | None = None


class Job(Object, frozen=True):
    KIND: ClassVar[str] = "Job"
    API_VERSION: ClassVar[str] = "batch/v1"
    PLURAL: ClassVar[str] = "jobs"

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Struct, frozen=True):
    """The `jobTemplate` of a CronJob: metadata and spec of its Jobs."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Struct, frozen=True):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    concurrency_policy: str = ""
    suspend: bool | None = None
    #: A `JobTemplateSpec`.
    job_template: dict[str, Any] = {}
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None


class CronJobStatus(Struct, frozen=True):
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Object, frozen=True):
    KIND: ClassVar[str] = "CronJob"
    API_VERSION: ClassVar[str] = "batch/v1"
    PLURAL: ClassVar[str] = "cronjobs"

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
