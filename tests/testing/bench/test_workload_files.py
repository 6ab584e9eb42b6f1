# SPDX-License-Identifier: Apache-2.0
"""Workload files: what they mean, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.testing.bench.workload_texts import CREATE_NODES, MEASURED_PODS, test_case, write

from steersman.base.errors import InputError
from steersman.testing.bench import load
from steersman.testing.bench.operations import CreatePods, CreatePodSets


def refusal(file: str) -> str:
    with pytest.raises(InputError) as refused:
        load(file)
    return str(refused.value)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    sets = {
        "opcode": "createPodSets",
        "count": 1,
        "createPodsOp": {"opcode": "createPods", "podTemplatePath": "a.yaml"},
    }
    pods = {**MEASURED_PODS, "podTemplatePath": "../b.yaml"}
    case = test_case(sets, pods, defaultPodTemplatePath="c.yaml", schedulerConfigPath="d.yaml")
    (loaded,) = load(write(tmp_path, case))
    first, second = loaded.operations
    assert isinstance(first, CreatePodSets)
    assert first.create_pods_op.pod_template_path == str(tmp_path / "a.yaml")
    assert isinstance(second, CreatePods)
    assert second.pod_template_path == str(tmp_path / "../b.yaml")
    assert loaded.pod_template_file == str(tmp_path / "c.yaml")
    assert loaded.scheduler_config_file == str(tmp_path / "d.yaml")


def test_gates_of_a_workload_override_those_of_the_test_case(tmp_path: Path) -> None:
    workloads = [{"name": "w", "featureGates": {"B": False}}]
    (case,) = load(write(tmp_path, test_case(MEASURED_PODS, featureGates={"A": True, "B": True}, workloads=workloads)))
    assert case.gates_of(case.workloads[0]) == {"A": True, "B": False}


def test_a_threshold_may_depend_on_the_topic_which_is_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "misc"
    folder.mkdir()
    workloads = [{"name": "one", "threshold": {"misc": 5, "dra": 7}}, {"name": "two", "threshold": 9}, {"name": "no"}]
    (case,) = load(write(folder, test_case(MEASURED_PODS, workloads=workloads)))
    assert case.topic == "misc"
    assert [case.threshold_of(workload) for workload in case.workloads] == [5, 9, 0]


def test_a_threshold_is_about_the_average_throughput_unless_something_else_is_reported(tmp_path: Path) -> None:
    own = {"name": "M", "dataBucket": "Perc99", "expectLower": True}
    workloads = [{"name": "one", "thresholdMetricSelector": own}, {"name": "two"}]
    (case,) = load(write(tmp_path, test_case(MEASURED_PODS, workloads=workloads)))
    first, second = (case.threshold_metric_of(workload) for workload in case.workloads)
    assert (first.name, first.data_bucket, first.expect_lower) == ("M", "Perc99", True)
    assert (second.name, second.data_bucket, second.expect_lower) == ("SchedulingThroughput", "Average", False)


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        (
            {"opcode": "createPod"},
            'workloadTemplate[1].opcode: is not an operation (got "createPod"); known are createNodes',
        ),
        ({}, "workloadTemplate[1].opcode: is not an operation; known are"),
        (
            {"opcode": "createPods", "pods": 1},
            "workloadTemplate[1].pods: is not a field here (got 1); ",
        ),
        ({"opcode": "createPods", "count": "many"}, 'workloadTemplate[1].count: must be an integer (got "many")'),
        (
            {"opcode": "createPodSets", "createPodsOp": {"opcode": "createPods", "x": 1}},
            "workloadTemplate[1].createPodsOp.x: is not a field here (got 1); there are opcode, count",
        ),
        (
            {"opcode": "createNodes", "labelNodePrepareStrategy": {"key": "zone"}},
            'labelNodePrepareStrategy.key: is not a field here (got "zone"); there are labelKey, labelValues',
        ),
        (
            {"opcode": "createNodes", "nodeAllocatableStrategy": {"csiNodeAllocatable": {"d": {"counts": 1}}}},
            'csiNodeAllocatable.d.counts: is not a field here (got 1); did you mean "count"?',
        ),
    ],
)
def test_what_is_wrong_with_an_operation_is_named_with_its_place(
    tmp_path: Path, operation: dict[str, Any], complaint: str
) -> None:
    message = refusal(write(tmp_path, test_case(CREATE_NODES, operation, MEASURED_PODS)))
    assert message.startswith(f"{tmp_path}/performance-config.yaml: test case Case: ")
    assert complaint in message


def test_an_unknown_field_of_a_test_case_or_workload_is_named(tmp_path: Path) -> None:
    assert "test case Case: feature: is not a field here" in refusal(
        write(tmp_path, test_case(MEASURED_PODS, feature=1))
    )
    workloads = [{"name": "w", "nodes": 5}]
    message = refusal(write(tmp_path, test_case(MEASURED_PODS, workloads=workloads)))
    assert "workloads[0].nodes: is not a field here (got 5); " in message


def test_a_test_case_that_measures_nothing_is_refused(tmp_path: Path) -> None:
    assert "no operation collects metrics" in refusal(write(tmp_path, test_case(CREATE_NODES)))


def test_names_must_be_unique(tmp_path: Path) -> None:
    case = test_case(MEASURED_PODS)
    assert "same name: test case Case" in refusal(write(tmp_path, case, case))
    twice = [{"name": "w"}, {"name": "w"}]
    assert "same name: workload w" in refusal(write(tmp_path, test_case(MEASURED_PODS, workloads=twice)))


def test_a_test_case_without_a_name_is_reported_by_its_place(tmp_path: Path) -> None:
    nameless = {"workloadTemplate": [MEASURED_PODS], "workloads": [{"name": "w"}]}
    assert "test case [1]" in refusal(write(tmp_path, test_case(MEASURED_PODS), nameless))


@pytest.mark.parametrize("text", ["", "a: 1", "[]", "- name: a\n---\n- name: b"])
def test_a_file_that_is_no_list_of_test_cases_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    assert "x.yaml: holds no test cases; a workload file is one list" in refusal(str(file))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "ghost.yaml: cannot be read" in refusal(str(tmp_path / "ghost.yaml"))
