# SPDX-License-Identifier: Apache-2.0
"""The scheduler's metrics with kube-scheduler's names, labels and buckets, for dashboards.

`attempt_metrics` and `handled_events` update them; `Exposition` adds those read from the state, and
renders. Health checks (`/metrics/slis`) have a registry of their own. Not implemented, because
there is nothing to measure: batching of equal pods and its caches (upstream's own mechanism), pod
groups, device allocation, and asynchronous API calls, whose feature gate is off.
"""

from __future__ import annotations

import platform
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from steersman.base import KUBE_SCHEDULER_VERSION, InternalErrors, steersman_version
from steersman.config import FeatureGates, GateStage
from steersman.kube.client import InvalidObjects
from steersman.kube.observe.series import ExternalCounters, MetricSet, WithoutCreationTimes

#: Values of the label `result` of attempts.
SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
ERROR: Final = "error"
#: Values of the label `status` of health checks.
CHECK_SUCCEEDED: Final = "success"
CHECK_FAILED: Final = "error"


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bucket bounds by repeated multiplication, with upstream's rounding."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


_ATTEMPT_SECONDS: Final = exponential(0.001, 2, 15)
_POINT_SECONDS: Final = exponential(0.0001, 2, 12)
_PLUGIN_SECONDS: Final = exponential(0.00001, 1.5, 20)
_LONG_SECONDS: Final = exponential(0.01, 2, 20)
_DELAY_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Metrics(MetricSet):
    """Metrics of one scheduler and its process (CPU, memory, files), in their own registry."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self._attempt_metrics()
        self._pod_metrics()
        self._plugin_metrics()
        self._device_metrics()
        self._queue_metrics()
        self._preemption_metrics()
        self._state_metrics()
        self._fault_metrics()
        self._process_metrics()
        self._show_build()
        ProcessCollector(registry=self.registry)

    def _attempt_metrics(self) -> None:
        by_result = "result", "profile"
        self.attempts = self.tallies(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule a pod by result; 'error' is a problem of the scheduler, 'unschedulable' one of the pod.",
            *by_result,
        )
        self.attempt_seconds = self.histograms(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling cycle and binding.",
            _ATTEMPT_SECONDS,
            *by_result,
        )
        self.postponed_attempts = self.counter(
            "steersman_postponed_attempts_total",
            "Scheduling cycles that ended without a decision because they wait for a long search; each is tried again.",
        )
        self.algorithm_seconds = self.histogram(
            "scheduler_scheduling_algorithm_duration_seconds", "Filtering, scoring and making room.", _ATTEMPT_SECONDS
        )
        self.event_seconds = self.histograms(
            "scheduler_event_handling_duration_seconds", "Taking in an event of the cluster.", _POINT_SECONDS, "event"
        )

    def _pod_metrics(self) -> None:
        self.pod_seconds = self.histograms(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From the first time in the active queue to the binding, over all attempts.",
            _LONG_SECONDS,
            "attempts",
        )
        self.pod_attempts = self.histogram(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound.", exponential(1, 2, 5)
        )
        self.scheduled_after_flush = self.counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Pods that fitted after they had been unschedulable for too long without any event that promised to help.",
        )

    def _plugin_metrics(self) -> None:
        self.point_seconds = self.histograms(
            "scheduler_framework_extension_point_duration_seconds",
            "All plugins of an extension point.",
            _POINT_SECONDS,
            "extension_point",
            "status",
            "profile",
        )
        self.plugin_seconds = self.histograms(
            "scheduler_plugin_execution_duration_seconds",
            "One plugin at an extension point; a tenth of the calls.",
            _PLUGIN_SECONDS,
            "plugin",
            "extension_point",
            "status",
        )
        self.evaluations = self.counters(
            "scheduler_plugin_evaluation_total",
            "Number of plugin calls: PreFilter once per attempt, Filter once per attempt and node.",
            "plugin",
            "extension_point",
            "profile",
        )
        self.volume_stage_errors = self.counters(
            "scheduler_volume_scheduling_stage_error_total",
            "Faults of finding volumes (predicate), of reserving (assume) and of binding them (bind).",
            "operation",
        )
        self.permit_wait_seconds = self.histograms(
            "scheduler_permit_wait_duration_seconds", "Waiting for permission.", _ATTEMPT_SECONDS, "result"
        )

    def _device_metrics(self) -> None:
        self.prepared_devices = self.counters(
            "scheduler_dra_bindingconditions_allocations_total",
            "Allocated devices with binding conditions, by driver and the end of the wait for them.",
            "profile",
            "driver",
            "status",
        )
        self.device_wait_seconds = self.histograms(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            "Waiting in PreBind for devices with binding conditions.",
            exponential(0.1, 2, 14),
            "profile",
            "driver",
            "status",
        )
        self.created_claims = self.counters(
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "ResourceClaims created for extended resources of pods.",
            "status",
            "admin_access",
            "owner_api_group",
            "owner_api_kind",
        )

    def _queue_metrics(self) -> None:
        self.pending_pods = self.gauges("scheduler_pending_pods", "Pods that wait, by sub-queue.", "queue")
        self.pending_causes = self.gauges(
            "steersman_pending_pods",
            "Unschedulable and gated pods, by the reason code of `steersman explain`.",
            "cause",
        )
        self.incoming_pods = self.counters(
            "scheduler_queue_incoming_pods_total",
            "Pods that entered a sub-queue, by the event that brought them.",
            "queue",
            "event",
        )
        self.unschedulable_pods = self.gauges(
            "scheduler_unschedulable_pods",
            "Waiting pods that a plugin stands in the way of; a pod counts for each of them.",
            "plugin",
            "profile",
        )

        self.hint_seconds = self.histograms(
            "scheduler_queueing_hint_execution_duration_seconds",
            "One queueing hint of a plugin.",
            _PLUGIN_SECONDS,
            "plugin",
            "event",
            "hint",
        )
        self.in_flight_events = self.gauges(
            "scheduler_inflight_events", "Events, and pods, that the queue keeps for pods in flight.", "event"
        )

    def _preemption_metrics(self) -> None:
        self.preemption_victims = self.histogram(
            "scheduler_preemption_victims", "Pods chosen to make room for another one.", exponential(1, 2, 7)
        )
        self.preemption_tasks = self.counters(
            "scheduler_preemption_goroutines_execution_total", "Preemptions that were carried out.", "result"
        )
        self.preemption_task_seconds = self.histograms(
            "scheduler_preemption_goroutines_duration_seconds", "Carrying a preemption out.", _LONG_SECONDS, "result"
        )
        self.preemption_attempts = self.counter(
            "scheduler_preemption_attempts_total", "Attempts to make room by preemption."
        )

    def _state_metrics(self) -> None:
        self.tasks = self.gauges("scheduler_goroutines", "Concurrent tasks by the work they do.", "operation")
        self.cache_size = self.gauges("scheduler_cache_size", "Nodes, pods and assumed pods in the cache.", "type")
        self.kept_entries = self.gauges(
            "steersman_kept_entries", "Entries of the tables that are keyed by what users write; bounded.", "table"
        )

        hours, days = 3600.0, 86400.0
        self.certificate_seconds = self.histogram(
            "apiserver_client_certificate_expiration_seconds",
            "Remaining lifetime of certificates by which clients of this server were authenticated.",
            (
                *(0.0, 0.5 * hours, hours, 2 * hours, 6 * hours, 12 * hours),
                *(count * days for count in (1, 2, 4, 7, 30, 90, 180, 360)),
            ),
        )
        self.leading = self.gauges(
            "leader_election_master_status", "1 for the one who holds the lease of that name.", "name"
        )

    def _fault_metrics(self) -> None:
        """Create metrics of survived faults, which have no counterpart upstream."""
        self.objects_set_aside = self.gauges(
            "steersman_objects_set_aside", "Objects that cannot be used as the API server has them.", "kind"
        )
        self.unreadable_objects = self.counters(
            "steersman_unreadable_objects_total", "Versions of objects that could not be used.", "kind"
        )
        self.internal_errors = self.counters(
            "steersman_internal_errors_total", "Programming errors that were survived, by place.", "where"
        )
        self._unreadable_shown, self._errors_shown = (
            ExternalCounters(self.unreadable_objects),
            ExternalCounters(self.internal_errors),
        )

    def show_faults(self, invalid: InvalidObjects, internal_errors: InternalErrors) -> None:
        """Copy the counts of invalid objects and internal errors."""
        for kind, number in invalid.sizes().items():
            self.objects_set_aside[(kind,)].set(number)
        self._unreadable_shown.update(((kind,), number) for kind, number in invalid.counts.items())
        self._errors_shown.update(((where,), number) for where, number in internal_errors.counts.items())

    def _show_build(self) -> None:
        """Set build information as Kubernetes components do; commit, date and compiler are Go's."""
        labels = (
            "major",
            "minor",
            "git_version",
            "git_commit",
            "git_tree_state",
            "build_date",
            "go_version",
            "compiler",
        )
        build = self.gauges("kubernetes_build_info", "1, with the version in the labels.", *labels, "platform")
        major, minor, _ = KUBE_SCHEDULER_VERSION.removeprefix("v").split(".")
        version = f"{KUBE_SCHEDULER_VERSION}+steersman-{steersman_version()}"
        where = f"{platform.system().lower()}/{platform.machine()}"
        build[major, minor, version, "", "", "", "", platform.python_implementation(), where].set(1)

    def _process_metrics(self) -> None:
        """Create Steersman's metrics of loops, background work, and dropped writes."""
        self.loop_lag = self.gauge(
            "steersman_scheduling_loop_lag_seconds", "By how much the scheduling loop's last heartbeat was late."
        )
        self.loop_delay_seconds = self.histogram(
            "steersman_scheduling_loop_delay_seconds",
            "By how much heartbeats of the scheduling loop were late, four a second.",
            _DELAY_SECONDS,
        )
        self.background_failures = self.counters(
            "steersman_background_failures_total", "Work in the background that failed and was begun again.", "task"
        )
        self.writes_dropped = self.gauges(
            "steersman_writes_dropped", "Conditions and events that will never be written.", "kind"
        )
        self.writes_refused = self.gauge(
            "steersman_writes_without_lease", "Writes that were not sent because the lease did not hold."
        )
        self.is_recording = self.gauge(
            "steersman_recording", "1 while a record is written, 0 if recording is off or the disk fails."
        )
        self.recorded_bytes = self.gauge("steersman_recorded_bytes", "What was written to the record so far.")
        self.record_gaps = self.gauge("steersman_record_gaps", "How often the record was interrupted.")

    def show_gates(self, gates: FeatureGates) -> None:
        """Set the state of feature gates, with their stage, which upstream leaves empty for GA."""
        enabled = self.gauges("kubernetes_feature_enabled", "Whether a feature gate is on.", "name", "stage")
        for name, spec in gates.specs.items():
            stage = "" if spec.stage is GateStage.GA else spec.stage.name
            enabled[name, stage].set(gates.enabled(name))


# -- health checks -----------------------------------------------------------------------------------------------------


class HealthMetrics(MetricSet):
    """Metrics of health checks, as upstream; updated on every summary."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self.last = self.gauges("kubernetes_healthcheck", "1 if the check succeeded last.", "name", "type")
        self.results = self.counters("kubernetes_healthchecks_total", "Checks by result.", "name", "type", "status")

    def checked(self, path: str, name: str, failed: bool) -> None:
        """Count a check of `path`, which is `healthz`, `livez` or `readyz`."""
        self.last[name, path].set(not failed)
        self.results[name, path, CHECK_FAILED if failed else CHECK_SUCCEEDED].inc()

    def render(self) -> bytes:
        return generate_latest(WithoutCreationTimes(self.registry))
