# SPDX-License-Identifier: Apache-2.0
"""Whole workloads, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.workload_texts import CREATE_NODES, MEASURED_PODS, outcome_of, pod, test_case, write

from steersman.base.errors import InputError
from steersman.testing.bench import WorkloadVerdict

pytestmark = pytest.mark.usefixtures("frozen_past")


def test_a_workload_is_measured_and_compared_with_its_threshold(tmp_path: Path) -> None:
    workloads = [{"name": "small", "threshold": 0.5, "params": {"n": 6}}]
    pods = {"opcode": "createPods", "countParam": "$n", "collectMetrics": True}
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, pods, workloads=workloads)))
    assert outcome.verdict is WorkloadVerdict.MEASURED
    (measurement,) = outcome.measurements
    assert (measurement.name, measurement.throughput.pods) == ("namespace-1", 6)
    comparison = outcome.compared(measurement)
    assert comparison is not None
    assert comparison.ratio == measurement.throughput.average / 0.5


def test_a_threshold_may_be_the_most_that_is_allowed(tmp_path: Path) -> None:
    selector = {
        "name": "scheduler_scheduling_attempt_duration_seconds",
        "labels": {"result": "scheduled"},
        "dataBucket": "Perc99",
        "expectLower": True,
    }
    workloads = [{"name": "small", "threshold": 1000, "thresholdMetricSelector": selector}]
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS, workloads=workloads)))
    comparison = outcome.compared(outcome.measurements[0])
    assert comparison is not None
    assert comparison.ratio == 1000 / comparison.value > 1


def test_without_a_threshold_there_is_nothing_to_compare(tmp_path: Path) -> None:
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS)))
    assert outcome.compared(outcome.measurements[0]) is None


def test_unread_kinds_are_unsupported_with_the_reason(tmp_path: Path) -> None:
    create = {"opcode": "createAny", "templatePath": "gadget.yaml", "namespace": "a"}
    file = write(tmp_path, test_case(create, MEASURED_PODS), gadget="apiVersion: v1\nkind: Gadget\n")
    outcome = outcome_of(file)
    assert outcome.verdict is WorkloadVerdict.UNSUPPORTED
    assert outcome.reason.startswith("createAny (operation 0): ")
    assert "gadget.yaml: kind: is not a kind that Steersman reads" in outcome.reason


def test_gates_that_depend_on_one_that_is_turned_off_follow_it(tmp_path: Path) -> None:
    gates = {"PodLevelResources": False}
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS, featureGates=gates)))
    assert any("InPlacePodLevelResourcesVerticalScaling is off too" in note for note in outcome.notes)


def test_locked_gates_are_reported_and_not_set(tmp_path: Path) -> None:
    gates = {"NodeDeclaredFeatures": False, "SchedulerAsyncAPICalls": True}
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS, featureGates=gates)))
    assert outcome.notes == ("NodeDeclaredFeatures=false is locked",)


def test_a_parameter_that_is_not_used_is_refused(tmp_path: Path) -> None:
    workloads = [{"name": "small", "params": {"typo": 1}}]
    with pytest.raises(InputError) as refusal:
        outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS, workloads=workloads)))
    message = str(refusal.value)
    assert "test case Case, workload small: params.typo: is used by no operation" in message


def test_a_parameter_that_upstream_reads_in_go_makes_a_workload_unsupported(tmp_path: Path) -> None:
    workloads = [{"name": "small", "params": {"numNodeDeclaredFeatures": 5}}]
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS, workloads=workloads)))
    assert outcome.verdict is WorkloadVerdict.UNSUPPORTED
    assert outcome.reason.startswith("params.numNodeDeclaredFeatures: upstream's harness reads it in Go")


def test_what_goes_wrong_while_it_runs_is_an_outcome(tmp_path: Path) -> None:
    barrier = {"opcode": "barrier", "namespaces": ["ghost"]}
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, barrier, MEASURED_PODS)))
    assert outcome.verdict is WorkloadVerdict.FAILED
    assert "namespaces: has no pods to wait for" in outcome.reason


def test_an_error_in_a_template_names_template_and_workload(tmp_path: Path) -> None:
    pods = {**MEASURED_PODS, "podTemplatePath": "pod.yaml"}
    file = write(tmp_path, test_case(CREATE_NODES, pods), pod=pod(metadata="name: {{ .Name }}"))
    with pytest.raises(InputError, match=r"pod\.yaml: test case Case, workload small: the template expression"):
        outcome_of(file)


def test_the_configuration_that_a_test_case_names_is_used(tmp_path: Path) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: 1\n"
    file = write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS, schedulerConfigPath="sched.yaml"), sched=config)
    with pytest.raises(Exception, match=r"sched\.yaml"):
        outcome_of(file)
