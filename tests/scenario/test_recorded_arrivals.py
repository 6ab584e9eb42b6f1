# SPDX-License-Identifier: Apache-2.0
"""Columns of a recorded trace: namespaces, labels, node selectors, priorities, replicas, units, and wrong cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.scenario.scenarios import Document, a_job, a_node, a_pod, a_scenario

from steersman import api
from steersman.base.errors import InputError
from steersman.simulation.scenario import Scenario, run_scenario
from steersman.simulation.scenario.generators import Made

TRACE = """submit_ms,took,cores,gib,user,team,zone,prio,count
0,60,0.5,4,alice,red,a,10,2
1500,30,1,0.5,bob,blue,,urgent,
"""
COLUMNS: dict[str, Any] = {
    "time": {"column": "submit_ms", "unit": "ms"},
    "runTime": "took",
    "requests": {"cpu": "cores", "memory": {"column": "gib", "unit": "Gi"}},
    "namespace": "user",
    "labels": {"example.com/team": "team"},
    "nodeSelector": {"zone": "zone"},
    "priority": "prio",
    "replicas": "count",
}


def scenario(folder: Path, text: str, columns: dict[str, Any], template: Document, **parts: Any) -> Scenario:
    (folder / "trace.csv").write_text(text)
    generator = {"name": "job", "arrivals": {"replay": {"file": "trace.csv", **columns}}, "template": template}
    return Scenario(a_scenario(generators=[generator], **parts), str(folder))


def replayed(folder: Path, text: str, columns: dict[str, Any], template: Document) -> list[tuple[float, Made]]:
    (generator,) = scenario(folder, text, columns, template).prepared().generators
    return list(generator.objects(0))


def test_pods_of_a_trace_have_what_its_columns_say(tmp_path: Path) -> None:
    found = replayed(tmp_path, TRACE, COLUMNS, a_pod())
    assert [(at, pod.metadata.namespace, pod.metadata.name) for at, pod in found] == [
        (0, "alice", "job-0-0"),
        (0, "alice", "job-0-1"),
        (1.5, "bob", "job-1"),
    ]
    first, _, last = (pod for _, pod in found if isinstance(pod, api.Pod))
    assert first.metadata.labels == {"example.com/team": "red"}
    assert (first.spec.node_selector, last.spec.node_selector) == ({"zone": "a"}, {})
    assert (first.spec.priority, last.spec.priority_class_name) == (10, "urgent")
    assert first.spec.containers[0].resources.requests == {"cpu": "0.5", "memory": "4Gi"}


def test_jobs_of_a_trace_have_what_its_columns_say(tmp_path: Path) -> None:
    (_, first), (_, last) = replayed(tmp_path, TRACE, COLUMNS, a_job())
    assert isinstance(first, api.Job)
    assert isinstance(last, api.Job)
    assert (first.spec.completions, first.spec.parallelism, first.metadata.namespace) == (2, 2, "alice")
    assert first.spec.template["metadata"]["labels"] == {"example.com/team": "red"}
    assert first.spec.template["spec"]["nodeSelector"] == {"zone": "a"}
    assert first.spec.template["spec"]["priority"] == 10
    assert last.spec.template["spec"]["priorityClassName"] == "urgent"
    assert last.spec.template["spec"]["containers"][0]["resources"]["requests"]["memory"] == "0.5Gi"


@pytest.mark.parametrize("template", [a_pod(), a_job()])
def test_a_trace_is_placed_by_its_selectors_and_priorities(tmp_path: Path, template: Document) -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 7}
    cluster = [a_node("n1", zone="a"), a_node("n2", zone="b"), urgent]
    result = run_scenario(scenario(tmp_path, TRACE, COLUMNS, template, cluster=cluster))
    placements = result.placements.values()
    assert sorted((each.pod.split("/")[0], each.priority) for each in placements) == [
        ("alice", 10),
        ("alice", 10),
        ("bob", 7),
    ]
    assert {each.node for each in placements if each.pod.startswith("alice/")} == {"n1"}
    assert {each.requests["memory"] for each in placements} == {4 * 2**30, 2**29}
    assert set(result.by_namespace) == {"alice", "bob"}


@pytest.mark.parametrize(
    ("columns", "cells", "expected"),
    [
        ({"requests": {"memory": "x"}}, "4", 'is an implausible amount of memory (got "4"); that is 4 bytes'),
        ({"requests": {"memory": "x"}}, "65536", 'is an implausible amount of memory (got "65536")'),
        ({"requests": {"cpu": "x"}}, "2000", "that is 2,000 cores; for millicores write cpu: {column: …, unit: m}"),
        ({"requests": {"cpu": "x"}}, "many", 'is not an amount of cpu (got "many")'),
        ({"requests": {"memory": {"column": "x", "unit": "Gi"}}}, "4Gi", 'is not an amount of memory (got "4Gi")'),
        ({"requests": {"cpu": "x"}}, "-1", 'is not an amount of cpu (got "-1"); write a number that is not negative'),
        ({"namespace": "x"}, "Team_A", 'cannot be the value of namespace (got "Team_A")'),
        ({"labels": {"team": "x"}}, "a b", 'cannot be the value of labels.team (got "a b")'),
        ({"nodeSelector": {"zone": "x"}}, "-", "cannot be the value of nodeSelector.zone"),
        ({"priority": "x"}, "99999999999", "is not a priority"),
        ({"priority": "x"}, "Very High", "cannot be the value of priority"),
        ({"replicas": "x"}, "1.5", 'is not a number of replicas (got "1.5")'),
    ],
)
def test_a_wrong_cell_is_named_with_its_line(tmp_path: Path, columns: Any, cells: str, expected: str) -> None:
    with pytest.raises(InputError) as refusal:
        replayed(tmp_path, f"time,x\n0,\n1,{cells}\n", columns, a_pod())
    assert "trace.csv, line 3: " in str(refusal.value)
    assert expected in str(refusal.value)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"requests": {"memory": {"column": "x", "unit": "GiB"}}},
            "replay.requests.memory.unit: is not a unit of an amount",
        ),
        ({"time": {"column": "x", "unit": "parsecs"}}, "replay.time.unit"),
        ({"labels": {"not a label": "x"}}, "is not a label name"),
        ({"namespace": "y"}, 'is not a column of the file (got "y")'),
    ],
)
def test_a_wrong_unit_or_column_is_named(tmp_path: Path, columns: Any, expected: str) -> None:
    with pytest.raises(InputError) as refusal:
        replayed(tmp_path, "time,x\n0,1\n", columns, a_pod())
    assert expected in str(refusal.value)


def test_amounts_with_a_unit_are_taken_as_they_are(tmp_path: Path) -> None:
    requests = {"cpu": {"column": "c", "unit": "m"}, "memory": {"column": "m", "unit": ""}}
    ((_, pod),) = replayed(tmp_path, "time,c,m\n0,2500,64\n", {"requests": requests}, a_pod())
    assert isinstance(pod, api.Pod)
    assert pod.spec.containers[0].resources.requests == {"cpu": "2500m", "memory": "64"}
