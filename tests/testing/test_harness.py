# SPDX-License-Identifier: Apache-2.0
"""The harness runs the real scheduler: placements, refusals, waiting, eviction, time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from steersman import api
from steersman.config import API_VERSION, CONFIGURATION_KIND, ConfigError
from steersman.framework import (
    Code,
    Handle,
    NodeInfo,
    PermitPlugin,
    PermitResult,
    PodInfo,
    PreEnqueuePlugin,
    ScorePlugin,
    Status,
)
from steersman.testing import (
    Harness,
    NotPlacedError,
    make_device_class,
    make_disruption_budget,
    make_namespace,
    make_node,
    make_pod,
    make_service,
    make_storage_class,
)


class AllowsNobody(PermitPlugin):
    name = "AllowsNobody"

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        return PermitResult(Status(Code.WAIT), timeout_seconds=5)


def test_a_pod_is_placed_and_counts_from_then_on() -> None:
    harness = Harness(nodes=[make_node("a").capacity(cpu="1"), make_node("b").capacity(cpu="2")])
    first = make_pod("first").req(cpu="2")
    assert harness.place(first) == "b"
    with pytest.raises(NotPlacedError, match="2 Insufficient cpu"):
        harness.place(make_pod("second").req(cpu="2"))
    harness.delete(first.obj())
    assert [type(decision).__name__ for decision in harness.run()] == ["Scheduled"]


def test_rejections_tell_the_first_objection_of_each_node() -> None:
    harness = Harness(
        nodes=[make_node("full").capacity(cpu="1"), make_node("cordoned").capacity(cpu="8").unschedulable()]
    )
    rejected = harness.rejections(make_pod("web").req(cpu="4"))
    assert {name: status.plugin for name, status in rejected.items()} == {
        "full": "NodeResourcesFit",
        "cordoned": "NodeUnschedulable",
    }


def test_a_permit_plugin_may_let_a_pod_wait_until_its_time_is_over() -> None:
    with Harness(plugins=[AllowsNobody], nodes=[make_node("a").capacity(cpu="1")]) as harness:
        harness.add(make_pod("web"))
        harness.advance(4)
        assert len(harness.scheduler.waiting_pods) == 1
        harness.advance(2)
        assert "AllowsNobody" in harness.message(make_pod("web"))


def test_a_pod_of_higher_priority_takes_the_room_of_another() -> None:
    harness = Harness(nodes=[make_node("a").capacity(cpu="1")])
    assert harness.place(make_pod("low").req(cpu="1").priority(1)) == "a"
    assert harness.place(make_pod("high").req(cpu="1").priority(10)) == "a"


# -- what it takes -----------------------------------------------------------------------------------------------------


class Prices(ScorePlugin):
    name = "Prices"

    def __init__(self, args: object, handle: Handle) -> None:
        self._label = cast("dict[str, str]", args)["label"]

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return int(node.labels[self._label])


def test_plugins_get_their_arguments() -> None:
    nodes = [make_node("a").label("price", "10"), make_node("b").label("price", "20")]
    harness = Harness(plugins=[Prices], nodes=nodes, args={"Prices": {"label": "price"}})
    assert harness.scores(make_pod("web"))["Prices"] == {"a": 10, "b": 20}


def test_arguments_of_in_tree_plugins_are_checked() -> None:
    packed = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    nodes = [make_node("used").capacity(cpu="4"), make_node("free").capacity(cpu="4")]
    harness = Harness(
        nodes=nodes, pods=[make_pod("there").req(cpu="1").node("used")], args={"NodeResourcesFit": packed}
    )
    assert harness.place(make_pod("web").req(cpu="1")) == "used"
    with pytest.raises(ConfigError, match="scoringStrategy"):
        Harness(args={"NodeResourcesFit": {"scoringStrategie": {}}})


def test_a_configuration_may_be_a_document_or_a_file(tmp_path: Path) -> None:
    document = {"profiles": [{"schedulerName": "other"}]}
    file = tmp_path / "sched.yaml"
    file.write_text(json.dumps({"apiVersion": API_VERSION, "kind": CONFIGURATION_KIND, **document}))
    for configuration in (document, file):
        assert list(Harness(configuration=configuration).scheduler.profiles) == ["other"]


def test_a_plugin_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "dear.py"
    file.write_text(
        "from steersman.framework import FilterPlugin\n\n"
        "class Dear(FilterPlugin):\n"
        "    name = 'Dear'\n\n"
        "    def filter(self, pod, node):\n"
        "        return 'too dear'\n"
    )
    harness = Harness(plugins=[file], nodes=[make_node("a")])
    with pytest.raises(NotPlacedError, match="1 too dear"):
        harness.place(make_pod("web"))


def test_every_builder_and_every_form_of_an_object_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "service.yaml"
    file.write_text("{apiVersion: v1, kind: Service, metadata: {name: from-a-file}}")
    harness = Harness(
        objects=[
            make_namespace("shop"),
            make_disruption_budget("budget"),
            make_storage_class("fast"),
            make_device_class("gpu"),
            make_service("built"),
            api.Service(metadata=api.ObjectMeta(name="typed")),
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "plain"}},
            file,
        ]
    )
    assert "shop" in harness.cluster.objects(api.Namespace)
    assert sorted(harness.cluster.objects(api.Service)) == [
        "default/built",
        "default/from-a-file",
        "default/plain",
        "default/typed",
    ]
    harness.add({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "plain", "labels": {"new": "yes"}}})
    assert harness.cluster.get(api.Service, "default/plain").metadata.labels == {"new": "yes"}
    harness.delete(make_service("built"))
    assert "default/built" not in harness.cluster.objects(api.Service)


class After(PreEnqueuePlugin):
    """Holds pods back until a pod named `first` exists."""

    name = "After"

    def pre_enqueue(self, pod: PodInfo) -> str:
        return "waits for pod first"


def test_the_message_of_a_pod_that_is_held_back_is_that_of_the_plugin() -> None:
    harness = Harness(plugins=[After], nodes=[make_node("n")])
    harness.add(make_pod("second"))
    harness.run()
    assert harness.message(make_pod("second")) == 'held back by PreEnqueue plugin "After": waits for pod first'


def test_a_pod_may_be_named_to_ask_for_its_message() -> None:
    harness = Harness(nodes=[make_node("n").capacity(cpu="1")])
    harness.add(make_pod("large").req(cpu="2"))
    harness.run()
    assert harness.message("large") == harness.message("default/large")
    assert "Insufficient cpu" in harness.message("large")
