# SPDX-License-Identifier: Apache-2.0
"""An extender over HTTP: it filters, scores, binds and chooses victims for both schedulers, and is sent the same by both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.comparing import Both, assert_same, run_both
from tests.e2e.extender_server import Answer, ExtenderServer
from tests.e2e.objects import create_priority_classes, prioritised

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, manifest

BOUND_ELSEWHERE = "example.com/bound-elsewhere"
UNREACHABLE = "example.com/unreachable"
NODES = ("x1", "x2", "x3")
PER_OBJECT = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
"""Differ between any two objects; who wrote which field is of no use to an extender, and we do not pass it on."""


def filtered(args: JsonObject) -> Answer:
    wish, names = args["Pod"]["metadata"].get("labels", {}).get("ask"), args["NodeNames"]
    match wish:
        case "none":
            return {"NodeNames": [], "FailedNodes": dict.fromkeys(names, "no licence")}
        case "none-ever":
            return {"NodeNames": [], "FailedAndUnresolvableNodes": dict.fromkeys(names, "never licensed")}
        case "error":
            return {"Error": "the licence server is on fire"}
        case "x2":
            return {"NodeNames": ["x2"], "FailedNodes": {name: "no licence" for name in names if name != "x2"}}
    return {"NodeNames": names}


def prioritised_nodes(args: JsonObject) -> Answer:
    liked = args["Pod"]["metadata"].get("labels", {}).get("like")
    return [{"Host": name, "Score": 10 if name == liked else 0} for name in args["NodeNames"]]


def config(url: str) -> dict[str, Any]:
    return {
        "extenders": [
            {
                "urlPrefix": url,
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "weight": 10,
                "nodeCacheCapable": True,
            },
            {"urlPrefix": url, "bindVerb": "bind", "managedResources": [managed(BOUND_ELSEWHERE)]},
            {
                "urlPrefix": "http://127.0.0.1:1",
                "filterVerb": "filter",
                "ignorable": True,
                "managedResources": [managed(UNREACHABLE)],
            },
        ]
    }


def managed(resource: str) -> dict[str, object]:
    return {"name": resource, "ignoredByScheduler": True}


PODS = [
    make_pod("only-x2").label("ask", "x2").annotation("example.com/licence", "gold"),
    make_pod("likes-x3").label("like", "x3"),
    make_pod("refused").label("ask", "none"),
    make_pod("refused-for-good").label("ask", "none-ever"),
    make_pod("broken").label("ask", "error"),
    make_pod("bound-elsewhere").req(**{BOUND_ELSEWHERE: 1}).label("ask", "x2"),
    make_pod("ignores-the-unreachable").req(**{UNREACHABLE: 1}).label("ask", "x2"),
]


def prepare(admin: KubeClient) -> None:
    admin.create_nodes(*(manifest(make_node(name).capacity(cpu="8", memory="16Gi")) for name in NODES))
    pods = [manifest(pod) for pod in PODS]
    for pod in pods:
        # Nothing of the scheduler's business, but perhaps of an extender's.
        pod["spec"]["containers"][0]["env"] = [{"name": "LICENCE", "value": "gold"}]
        pod["spec"]["serviceAccountName"] = "licensed"
    admin.create_many(pods)


@pytest.fixture(scope="module")
def extender(shared_plane: ControlPlane) -> Iterator[ExtenderServer]:
    def bound(args: JsonObject) -> Answer:
        shared_plane.admin.bind(args["PodName"], args["Node"], args["PodNamespace"])
        return {}

    with ExtenderServer({"/filter": filtered, "/prioritize": prioritised_nodes, "/bind": bound}) as server:
        yield server


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane, extender: ExtenderServer) -> Both:
    return run_both(shared_plane, prepare, config=config(extender.url))


@pytest.mark.parametrize("pod", [pod.obj().metadata.name for pod in PODS])
def test_conditions_and_events_are_those_of_kube_scheduler(both: Both, pod: str) -> None:
    assert_same(both, pod)


@pytest.mark.parametrize(
    ("pod", "node"),
    [("only-x2", "x2"), ("likes-x3", "x3"), ("bound-elsewhere", "x2"), ("ignores-the-unreachable", "x2")],
)
def test_the_pod_goes_where_the_extender_sends_it(both: Both, pod: str, node: str) -> None:
    assert both.steersman.node(pod) == node


@pytest.mark.parametrize(
    ("pod", "reason", "message"),
    [
        ("refused", "Unschedulable", "3 no licence"),
        ("refused-for-good", "Unschedulable", "3 never licensed"),
        ("broken", "SchedulerError", "the licence server is on fire"),
    ],
)
def test_the_pod_waits_and_its_condition_repeats_the_extender(both: Both, pod: str, reason: str, message: str) -> None:
    assert both.steersman.scheduled(pod)["reason"] == reason
    assert message in both.steersman.message(pod)


def test_the_extender_is_sent_what_kube_scheduler_sends(both: Both, extender: ExtenderServer) -> None:
    """Of the nodes it has names only; of the pods everything, whether the scheduler reads it or not."""
    asked = [body for path, body in extender.requests if path == "/filter" and name_of(body) == "only-x2"]
    assert comparable(asked[-1]) == comparable(asked[0])
    assert asked[-1]["Pod"]["spec"]["containers"][0]["env"] == [{"name": "LICENCE", "value": "gold"}]


def name_of(args: JsonObject) -> str:
    name: str = args["Pod"]["metadata"]["name"]
    return name


def comparable(args: JsonObject) -> JsonObject:
    """Without what differs between any two pods of the same text."""
    pod = args["Pod"]
    meta = {field: value for field, value in pod["metadata"].items() if field not in PER_OBJECT}
    return {**args, "Pod": {**pod, "metadata": meta}, "NodeNames": sorted(args["NodeNames"])}


def test_the_extender_binds_in_place_of_the_scheduler(both: Both, extender: ExtenderServer) -> None:
    bound = [(body["PodName"], body["Node"]) for path, body in extender.requests if path == "/bind"]
    assert bound == [("bound-elsewhere", "x2")] * 2


def spare_the_first(args: JsonObject) -> Answer:
    """Keeps the candidate x2 only, whatever the scheduler would have chosen."""
    return {"NodeNameToMetaVictims": {"x2": args["NodeNameToMetaVictims"]["x2"]}}


def full_nodes(admin: KubeClient) -> None:
    create_priority_classes(admin)
    admin.create_nodes(*(manifest(make_node(name).capacity(cpu="2", memory="16Gi")) for name in NODES))
    for name, victims in zip(NODES, (1, 2, 1), strict=True):
        share = str(2 // victims)
        admin.create_many(
            [prioritised(make_pod(f"{name}-{i}").node(name).req(cpu=share), "low") for i in range(victims)]
        )
    admin.create(prioritised(make_pod("preemptor").req(cpu="2"), "high"))


def test_the_extender_chooses_among_the_victims(shared_plane: ControlPlane) -> None:
    with ExtenderServer({"/preempt": spare_the_first}) as server:
        asked = {"urlPrefix": server.url, "preemptVerb": "preempt", "nodeCacheCapable": True}
        both = run_both(shared_plane, full_nodes, config={"extenders": [asked]})

    assert both.steersman == both.upstream
    assert {name for name, pod in both.steersman.pods.items() if pod["deleted"]} == {"x2-0", "x2-1"}


def test_an_extender_without_a_cache_is_sent_whole_nodes(shared_plane: ControlPlane) -> None:
    def all_pass(args: JsonObject) -> Answer:
        return {"Nodes": args["Nodes"]}

    def prepare_one(admin: KubeClient) -> None:
        admin.create_nodes(manifest(make_node("x1").capacity(cpu="8", memory="16Gi").label("rack", "r1")))
        admin.patch("Node", "x1", {"status": {"nodeInfo": {"kernelVersion": "6.1"}}}, subresource="status")
        admin.create(manifest(make_pod("web")))

    with ExtenderServer({"/filter": all_pass}) as server:
        run_both(shared_plane, prepare_one, config={"extenders": [{"urlPrefix": server.url, "filterVerb": "filter"}]})
        upstream, ours = (only_node(body) for _, body in server.requests)

    assert ours == upstream
    assert ours["status"]["nodeInfo"]["kernelVersion"] == "6.1"


def only_node(args: JsonObject) -> JsonObject:
    [node] = args["Nodes"]["items"]
    return {**node, "metadata": {field: value for field, value in node["metadata"].items() if field not in PER_OBJECT}}
