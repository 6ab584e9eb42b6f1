# SPDX-License-Identifier: Apache-2.0
"""The configuration in effect with its sources, checks of another one, and the last decisions under it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from tests.web.looked_at import LookedAt

from steersman.sandbox.web import ConfigurationSource
from steersman.testing import Harness, make_node, make_pod

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKING = f"""{HEADER}profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources: [{{name: cpu, weight: 1}}]
    plugins:
      score:
        disabled: [{{name: NodeResourcesBalancedAllocation}}]
        enabled: [{{name: NodeResourcesFit, weight: 10}}]
"""


def cluster(**more: Any) -> LookedAt:
    nodes = [make_node(f"n{i}").capacity(cpu="8", memory="16Gi", pods="20") for i in range(4)]
    shown = LookedAt(Harness(nodes=nodes), **more)
    for number in range(8):
        shown.harness.place(make_pod(f"p{number}").req(cpu="1", memory="1Gi"))
    return shown


def posted(shown: LookedAt, path: str, body: object) -> Any:
    answer = shown.answer(path, "POST", msgspec.json.encode(body))
    assert answer.status == 200, answer.body
    return msgspec.json.decode(answer.body)


def test_values_say_where_they_come_from() -> None:
    written = ConfigurationSource(PACKING, "packing.yaml")
    harness = Harness(configuration=yaml.safe_load(PACKING))
    page = LookedAt(harness, written=written).get("configuration")
    assert (page["file"], page["written"]) == ("packing.yaml", PACKING)
    plugins = {plugin["name"]: plugin for plugin in page["profiles"][0]["plugins"]}
    fit, taints = plugins["NodeResourcesFit"], plugins["TaintToleration"]
    assert (fit["weight"], fit["weightSource"], fit["argsSource"]) == (10, "file", "file")
    assert "MostAllocated" in fit["args"]
    assert (taints["weight"], taints["weightSource"], taints["argsSource"]) == (3, "default", "default")
    assert {"filter", "preFilter", "score"} <= set(fit["points"])
    values = {value["field"]: value["source"] for value in page["values"]}
    assert values["profiles[0].schedulerName"] == "file"
    assert values["podInitialBackoffSeconds"] == "default"
    assert yaml.safe_load(page["yaml"])["profiles"][0]["schedulerName"] == "default-scheduler"


def test_a_configuration_that_is_valid_shows_what_it_changes() -> None:
    result = posted(cluster(), "configuration/validate", {"yaml": PACKING})
    assert (result["valid"], result["problems"]) == (True, [])
    assert any("pluginConfig" in each["field"] and "MostAllocated" in each["to"] for each in result["differences"])


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        (f"{HEADER}parallelism: -1\n", "parallelism", 3),
        (f"{HEADER}profiles:\n- schedulerName: a\n- schedulerName: a\n", "profiles[1].schedulerName", 5),
        (f"{HEADER}profiles: [\n", "", None),
        ("", "", None),
    ],
)
def test_a_configuration_that_is_not_valid_says_where(text: str, field: str, line: int | None) -> None:
    result = posted(cluster(), "configuration/validate", {"yaml": text})
    assert not result["valid"]
    (problem,) = result["problems"]
    assert problem["message"]
    if field:
        assert (problem["field"], problem["line"]) == (field, line)


def test_under_the_same_configuration_nothing_moves() -> None:
    comparison = posted(cluster(), "compare", {"a": {"yaml": ""}, "b": {"yaml": ""}})
    assert (comparison["pods"], comparison["moved"]) == (8, 0)
    assert all(decision["same"] for decision in comparison["decisions"])


def test_trying_a_configuration_shows_what_would_move_and_why() -> None:
    shown = cluster()
    before = {key: pod.spec.node_name for key, pod in shown.harness.scheduler.pods.items()}
    comparison = posted(shown, "configuration/try", {"yaml": PACKING, "last": 100})
    assert comparison["pods"] == 8
    assert comparison["moved"] == 6
    decisions = {decision["pod"]: decision for decision in comparison["decisions"]}
    assert {decision["b"] for decision in decisions.values()} == {decisions["default/p0"]["b"]}
    moved = next(decision for decision in decisions.values() if not decision["same"])
    assert moved["a"] == before[moved["pod"]]
    assert moved["plugin"] == "NodeResourcesFit"
    assert "NodeResourcesFit gives it" in moved["why"]
    in_use = next(line for line in comparison["summary"] if line["label"] == "nodes in use")
    assert (in_use["a"], in_use["b"]) == (4, 1)
    assert {key: pod.spec.node_name for key, pod in shown.harness.scheduler.pods.items()} == before


def test_a_node_that_would_not_fit_is_reported_with_its_filter() -> None:
    shown = cluster()
    shown.harness.add(make_node("n0").capacity(cpu="8", memory="16Gi", pods="20").taint("new"))
    decisions = posted(shown, "configuration/try", {"yaml": HEADER})["decisions"]
    moved = [decision for decision in decisions if decision["a"] == "n0"]
    assert moved
    assert all(decision["plugin"] == "TaintToleration" and decision["b"] != "n0" for decision in moved)


def test_pods_that_are_gone_are_noted() -> None:
    shown = cluster()
    shown.harness.delete(make_pod("p3"))
    comparison = posted(shown, "configuration/try", {"yaml": HEADER})
    assert comparison["pods"] == 7
    assert "1 of the last decisions are left out" in comparison["notes"][0]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("configuration/try", {"yaml": "kind: Pod"}, 422),
        ("configuration/try", {"yaml": HEADER, "last": 0}, 400),
        ("configuration/try", {"yaml": HEADER, "last": 1001}, 400),
        ("configuration/try", {}, 400),
        ("configuration/validate", [], 400),
        ("compare", {"a": {"yaml": ""}}, 400),
    ],
)
def test_what_cannot_be_tried_is_refused(path: str, body: object, code: int) -> None:
    answer = cluster().answer(path, "POST", msgspec.json.encode(body))
    assert answer.status == code
    assert msgspec.json.decode(answer.body)["kind"] == "Status"


def test_placed_pods_are_tried_though_only_retries_of_pending_pods_are_known() -> None:
    """After a configuration was applied, the new scheduler has decided on nothing but pods that wait."""
    nodes = [make_node(f"n{i}").capacity(cpu="8", memory="16Gi", pods="20") for i in range(4)]
    pods = [make_pod(f"p{i}").req(cpu="1", memory="1Gi").node(f"n{i % 4}") for i in range(8)]
    shown = LookedAt(Harness(nodes=nodes, pods=pods))
    shown.harness.add(make_pod("huge").req(cpu="100"))
    shown.harness.scheduler.schedule_one()
    found = posted(shown, "configuration/try", {"yaml": PACKING, "last": 1000})
    assert found["pods"] == 8
    assert found["moved"] > 0


def test_no_more_placed_pods_are_tried_than_requested() -> None:
    shown = cluster()
    shown.harness.add(make_pod("huge").req(cpu="100"))
    for _ in range(3):
        shown.harness.scheduler.schedule_one()
    found = posted(shown, "configuration/try", {"yaml": PACKING, "last": 5})
    assert [one["pod"] for one in found["decisions"]] == [f"default/p{number}" for number in range(3, 8)]


@pytest.mark.parametrize(
    ("written", "source"),
    [
        (ConfigurationSource(), "default"),
        (ConfigurationSource(PACKING, "packing.yaml"), "file"),
        (ConfigurationSource(PACKING, is_applied=True), "applied"),
    ],
)
def test_the_page_says_where_the_configuration_comes_from(written: ConfigurationSource, source: str) -> None:
    assert cluster(written=written).get("configuration")["source"] == source
