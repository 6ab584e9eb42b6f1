# SPDX-License-Identifier: Apache-2.0
"""Tables for `kubectl get`: columns, cells, ages, printer columns of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.api import timestamps
from steersman.api.json_paths import find_values
from steersman.base.errors import InputError
from steersman.cluster.apiserver.table_texts import human_duration, selector_text
from steersman.cluster.apiserver.tables import table_of

CREATED = "2026-01-01T00:00:00Z"
NOW = timestamps.parse(CREATED) + 300


def cells(document: dict[str, Any], api_version: str = "v1", kind: str = "Pod", **options: Any) -> dict[str, Any]:
    """By the name of the column."""
    document = {**document, "metadata": {"name": "x", "creationTimestamp": CREATED, **document.get("metadata", {})}}
    table = table_of([document], api_version, kind, NOW, **options)
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


def pod(status: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "a"}, {"name": "b"}], **parts.pop("spec", {})}, "status": status, **parts}


def container(state: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "a", "state": state, **fields}


RUNNING = container({"running": {}}, ready=True)


def test_a_running_pod_tells_how_many_containers_are_ready() -> None:
    found = cells(pod({"phase": "Running", "containerStatuses": [RUNNING, container({"running": {}}, ready=False)]}))
    assert (found["Ready"], found["Status"], found["Restarts"], found["Age"]) == ("1/2", "Running", "0", "5m")
    assert (found["IP"], found["Node"], found["Nominated Node"], found["Readiness Gates"]) == ("<none>",) * 4


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        ([container({"waiting": {"reason": "CrashLoopBackOff"}})], "CrashLoopBackOff"),
        ([container({"terminated": {"exitCode": 0, "reason": "Completed"}})], "Completed"),
        ([container({"terminated": {"exitCode": 3}})], "ExitCode:3"),
        ([container({"terminated": {"exitCode": 137, "signal": 9}})], "Signal:9"),
        ([container({"terminated": {"exitCode": 0, "reason": "Completed"}}), RUNNING], "NotReady"),
    ],
)
def test_the_status_of_a_pod_is_that_of_its_containers(statuses: list[dict[str, Any]], text: str) -> None:
    assert cells(pod({"phase": "Running", "containerStatuses": statuses}))["Status"] == text


def test_a_pod_with_a_completed_container_is_running_while_it_is_ready() -> None:
    statuses = [container({"terminated": {"exitCode": 0, "reason": "Completed"}}), RUNNING]
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"phase": "Running", "containerStatuses": statuses, "conditions": conditions}
    assert cells(pod(status))["Status"] == "Running"


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"running": {}}, "Init:0/1"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "Init:ImagePullBackOff"),
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/1"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
        ({"terminated": {"exitCode": 2}}, "Init:ExitCode:2"),
    ],
)
def test_an_init_container_in_the_way_is_reported(state: dict[str, Any], text: str) -> None:
    status = {"phase": "Pending", "initContainerStatuses": [container(state)]}
    assert cells(pod(status, spec={"initContainers": [{"name": "a"}]}))["Status"] == text


def test_sidecars_count_as_containers() -> None:
    sidecar = {"name": "s", "restartPolicy": "Always"}
    status = {
        "phase": "Running",
        "initContainerStatuses": [
            {"name": "s", "started": True, "ready": True, "restartCount": 2, "state": {"running": {}}}
        ],
        "containerStatuses": [RUNNING],
    }
    found = cells(pod(status, spec={"initContainers": [sidecar]}))
    assert (found["Ready"], found["Restarts"], found["Status"]) == ("2/3", "2", "Running")


def test_restarts_say_when_the_last_one_was() -> None:
    last = {"terminated": {"finishedAt": "2026-01-01T00:04:00Z"}}
    status = {"phase": "Running", "containerStatuses": [{**RUNNING, "restartCount": 4, "lastState": last}]}
    assert cells(pod(status))["Restarts"] == "4 (60s ago)"


def test_gates_deletion_and_reasons_take_precedence_over_the_phase() -> None:
    gated = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert cells(pod({"phase": "Pending", "conditions": gated}))["Status"] == "SchedulingGated"
    assert cells(pod({"phase": "Failed", "reason": "Evicted"}))["Status"] == "Evicted"
    deleted = {"deletionTimestamp": CREATED}
    assert cells(pod({"phase": "Running"}, metadata=deleted))["Status"] == "Terminating"
    assert cells(pod({"phase": "Succeeded"}, metadata=deleted))["Status"] == "Succeeded"


def test_a_node_tells_its_readiness_and_its_roles() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/a": ""}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    }
    node = {"metadata": {"labels": labels}, "spec": {"unschedulable": True}, "status": status}
    found = cells(node, kind="Node")
    assert (found["Status"], found["Roles"], found["Internal-IP"]) == (
        "Ready,SchedulingDisabled",
        "a,worker",
        "10.0.0.1",
    )


@pytest.mark.parametrize(
    ("spec", "status", "text"),
    [
        ({"completions": 5}, {"succeeded": 2}, "2/5"),
        ({"parallelism": 3}, {}, "0/1 of 3"),
        ({}, {"succeeded": 1}, "1/1"),
    ],
)
def test_a_job_tells_its_completions(spec: dict[str, Any], status: dict[str, Any], text: str) -> None:
    assert cells({"spec": spec, "status": status}, "batch/v1", "Job")["Completions"] == text


def test_a_job_tells_its_duration_and_condition() -> None:
    status = {
        "startTime": CREATED,
        "completionTime": "2026-01-01T00:01:30Z",
        "conditions": [{"type": "Complete", "status": "True"}],
    }
    found = cells({"spec": {}, "status": status}, "batch/v1", "Job")
    assert (found["Status"], found["Duration"]) == ("Complete", "90s")


def test_kinds_without_a_printer_have_name_and_age() -> None:
    assert cells({}, "example.com/v1", "Thing") == {"Name": "x", "Age": "5m"}


def test_custom_resources_are_printed_by_their_columns() -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status', "priority": 1},
        {"name": "Hosts", "type": "string", "jsonPath": ".spec.hosts"},
        {"name": "Since", "type": "date", "jsonPath": ".status.since"},
        {"name": "Wrong", "type": "integer", "jsonPath": ".spec.hosts"},
        {"name": "Missing", "type": "string", "jsonPath": ".spec.nothing"},
    ]
    document = {
        "spec": {"size": 3, "hosts": ["a", "b"]},
        "status": {
            "conditions": [{"type": "X", "status": "False"}, {"type": "Ready", "status": "True"}],
            "since": CREATED,
        },
    }
    found = cells(document, "example.com/v1", "Database", printer_columns=columns)
    expected = {
        "Name": "x",
        "Size": 3,
        "Ready": "True",
        "Hosts": '["a","b"]',
        "Since": "5m",
        "Wrong": None,
        "Missing": None,
    }
    assert found == expected


def test_rows_carry_what_was_requested() -> None:
    document = {"metadata": {"name": "x"}, "spec": {"nodeName": "n"}}
    rows = {
        include: table_of([document], "v1", "Pod", NOW, include_object=include)["rows"][0]
        for include in ("Metadata", "Object", "None")
    }
    assert rows["Metadata"]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "x"},
    }
    assert rows["Object"]["object"] is document
    assert "object" not in rows["None"]


def test_a_header_can_be_left_out() -> None:
    assert table_of([], "v1", "Pod", NOW, has_header=False)["columnDefinitions"] == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (3600, "60m"),
        (3 * 3600, "3h"),
        (5 * 3600 + 120, "5h2m"),
        (30 * 3600, "30h"),
        (3 * 86400 + 4 * 3600, "3d4h"),
        (300 * 86400, "300d"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_selectors_are_written_as_on_the_command_line() -> None:
    terms = [
        {"key": "d", "operator": "In", "values": ["y", "x"]},
        {"key": "c", "operator": "NotIn", "values": ["z"]},
        {"key": "b", "operator": "Exists"},
        {"key": "a", "operator": "DoesNotExist"},
    ]
    assert selector_text({"matchLabels": {"m": "n"}, "matchExpressions": terms}) == "!a,b,c notin (z),d in (x,y),m=n"


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        ("$.a['c.d']", [2]),
        (r".a.c\.d", [2]),
        (".l[0].n", ["x"]),
        (".l[-1].n", ["y"]),
        (".l[5]", []),
        (".l[*].n", ["x", "y"]),
        (".a.*", [1, 2]),
        (".l[?(@.v>1)].n", ["y"]),
        (".l[?(@.n!='x')].n", ["y"]),
        (".l[?(@.w)].n", ["y"]),
        (".nothing.at.all", []),
    ],
)
def test_simple_paths_lead_to_values(path: str, values: list[Any]) -> None:
    document = {"a": {"b": 1, "c.d": 2}, "l": [{"n": "x", "v": 1}, {"n": "y", "v": 2, "w": True}]}
    assert find_values(path, document) == values


@pytest.mark.parametrize("path", ["..a", ".a[", ".a[(@.length-1)]"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(InputError, match="is not a simple JSONPath"):
        find_values(path, {})
