# SPDX-License-Identifier: Apache-2.0
"""Names, labels and buckets are kube-scheduler's."""

from __future__ import annotations

import pytest

from steersman.config import FeatureGates
from steersman.kube.observe import Metrics
from steersman.kube.observe.metrics import exponential
from steersman.kube.observe.series import Children

UPSTREAM_LABELS = {
    "scheduler_schedule_attempts": ("result", "profile"),
    "scheduler_scheduling_attempt_duration_seconds": ("result", "profile"),
    "scheduler_scheduling_algorithm_duration_seconds": (),
    "scheduler_event_handling_duration_seconds": ("event",),
    "scheduler_pod_scheduling_sli_duration_seconds": ("attempts",),
    "scheduler_pod_scheduling_attempts": (),
    "scheduler_pod_scheduled_after_flush": (),
    "scheduler_framework_extension_point_duration_seconds": ("extension_point", "status", "profile"),
    "scheduler_plugin_execution_duration_seconds": ("plugin", "extension_point", "status"),
    "scheduler_plugin_evaluation": ("plugin", "extension_point", "profile"),
    "scheduler_permit_wait_duration_seconds": ("result",),
    "scheduler_dra_bindingconditions_allocations": ("profile", "driver", "status"),
    "scheduler_dra_bindingconditions_wait_duration_seconds": ("profile", "driver", "status"),
    "dynamic_resource_allocation_resourceclaim_creates": (
        "status",
        "admin_access",
        "owner_api_group",
        "owner_api_kind",
    ),
    "scheduler_pending_pods": ("queue",),
    "scheduler_queue_incoming_pods": ("queue", "event"),
    "scheduler_unschedulable_pods": ("plugin", "profile"),
    "scheduler_queueing_hint_execution_duration_seconds": ("plugin", "event", "hint"),
    "scheduler_inflight_events": ("event",),
    "scheduler_preemption_victims": (),
    "scheduler_preemption_goroutines_execution": ("result",),
    "scheduler_preemption_goroutines_duration_seconds": ("result",),
    "scheduler_preemption_attempts": (),
    "scheduler_goroutines": ("operation",),
    "scheduler_volume_scheduling_stage_error": ("operation",),
    "kubernetes_build_info": (
        "major",
        "minor",
        "git_version",
        "git_commit",
        "git_tree_state",
        "build_date",
        "go_version",
        "compiler",
        "platform",
    ),
    "scheduler_cache_size": ("type",),
    "leader_election_master_status": ("name",),
    "apiserver_client_certificate_expiration_seconds": (),
}
"""Counters without the `_total` that Prometheus' client adds."""

OWN_LABELS = {
    "steersman_background_failures": ("task",),
    "steersman_internal_errors": ("where",),
    "steersman_kept_entries": ("table",),
    "steersman_objects_set_aside": ("kind",),
    "steersman_pending_pods": ("cause",),
    "steersman_postponed_attempts": (),
    "steersman_record_gaps": (),
    "steersman_recorded_bytes": (),
    "steersman_recording": (),
    "steersman_scheduling_loop_delay_seconds": (),
    "steersman_scheduling_loop_lag_seconds": (),
    "steersman_unreadable_objects": ("kind",),
    "steersman_writes_dropped": ("kind",),
    "steersman_writes_without_lease": (),
}
LABELS = {**UPSTREAM_LABELS, **OWN_LABELS}


def test_every_metric_has_the_name_and_the_labels_of_upstream_or_is_called_our_own() -> None:
    metrics = Metrics()
    declared = {family.name for family in metrics.registry.collect()}
    assert {name for name in declared if not name.startswith("process_")} == LABELS.keys()
    assert all(name.startswith("steersman_") for name in OWN_LABELS)
    for held in vars(metrics).values():
        if isinstance(held, Children):
            assert held.labels == LABELS[held.name.removesuffix("_total")]


@pytest.mark.parametrize(
    ("buckets", "first", "last", "count"),
    [
        (exponential(0.001, 2, 15), 0.001, 16.384, 15),
        (exponential(0.0001, 2, 12), 0.0001, 0.2048, 12),
        (exponential(0.01, 2, 20), 0.01, 5242.88, 20),
        (exponential(1, 2, 7), 1, 64, 7),
    ],
)
def test_buckets_grow_by_their_factor(buckets: tuple[float, ...], first: float, last: float, count: int) -> None:
    assert (buckets[0], buckets[-1], len(buckets)) == (first, last, count)


def test_two_sets_of_metrics_do_not_know_each_other() -> None:
    one, other = Metrics(), Metrics()
    one.preemption_attempts.inc()
    assert other.registry.get_sample_value("scheduler_preemption_attempts_total") == 0


def test_feature_gates_are_shown_with_their_stage() -> None:
    metrics = Metrics()
    metrics.show_gates(FeatureGates({"SchedulerAsyncPreemption": False}))
    labels = {"name": "SchedulerAsyncPreemption", "stage": "BETA"}
    assert metrics.registry.get_sample_value("kubernetes_feature_enabled", labels) == 0
    settled = {"name": "NodeDeclaredFeatures", "stage": ""}
    assert metrics.registry.get_sample_value("kubernetes_feature_enabled", settled) == 1
