# SPDX-License-Identifier: Apache-2.0
"""Alerts and dashboard ask for metrics and labels that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
import yaml
from prometheus_client import Metric
from tests.deploy.shipped import DEPLOY

from steersman.kube.observe import ClientMetrics, Metrics
from steersman.kube.observe.series import Children

ALERTS = DEPLOY / "monitoring" / "alerts" / "prometheusrule.yaml"
DASHBOARD = DEPLOY / "monitoring" / "grafana" / "dashboard.json"
#: What Prometheus itself adds to every series.
OF_THE_TARGET = {"job", "pod", "instance"}
#: A metric, then its matchers; and the labels by which something is grouped.
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\bby \(([^)]*)\)")
CLOSING = {")": "(", "]": "[", "}": "{"}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text("utf-8"))["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"] if panel["type"] != "row"]


def queries() -> list[str]:
    shown = (target["expr"] for panel in panels() for target in panel["targets"])
    return [*(rule["expr"] for rule in rules()), *shown]


@pytest.fixture(scope="module")
def series() -> dict[str, set[str]]:
    """The labels of every series by its name, as a scrape would show it."""
    metrics = Metrics()
    client = ClientMetrics(metrics.registry).series()
    held = [*vars(metrics).values(), *client]
    labels = {one.name: set(one.labels) for one in held if isinstance(one, Children)}
    found: dict[str, set[str]] = {"up": set()}
    for family in metrics.registry.collect():
        own = labels.get(family.name) or labels.get(f"{family.name}_total") or set()
        found.update((name, own | extra) for name, extra in _names(family))
    return found


def _names(family: Metric) -> Iterator[tuple[str, set[str]]]:
    if family.type == "histogram":
        yield from ((f"{family.name}_{part}", set[str]()) for part in ("sum", "count"))
        yield f"{family.name}_bucket", {"le"}
    else:
        yield (f"{family.name}_total" if family.type == "counter" else family.name), set()


@pytest.mark.parametrize("query", queries())
def test_every_metric_and_label_that_is_requested_exists(query: str, series: dict[str, set[str]]) -> None:
    asked = SELECTOR.findall(query)
    assert asked, "a query without a selector"
    known = set(OF_THE_TARGET)
    for name, matchers in asked:
        assert name in series
        assert {label for label, _ in MATCHER.findall(matchers)} <= series[name] | OF_THE_TARGET
        known |= series[name]
    for grouped in GROUPING.findall(query):
        assert set(re.split(r",\s*", grouped)) <= known


#: Gauges in which every replica counts the same pods.
COUNTED_BY_EVERY_REPLICA = re.compile(r"scheduler_(pending|unschedulable)_pods\{")
WITHOUT_STANDBYS = "unless on (job, instance) (leader_election_master_status{"


@pytest.mark.parametrize("query", queries())
def test_pods_that_wait_are_those_of_the_leader(query: str) -> None:
    assert (WITHOUT_STANDBYS in query) == bool(COUNTED_BY_EVERY_REPLICA.search(query))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_alerts_know_steersman_by_its_own_series_whatever_the_job_is_called(rule: dict[str, Any]) -> None:
    query = re.sub(r"\s+", " ", rule["expr"])
    assert 'job="' not in query
    shared = [name for name, _ in SELECTOR.findall(query) if not name.startswith("steersman_")]
    own = query.count("and on (job, instance) steersman_scheduling_loop_lag_seconds{}")
    assert own == sum(name != "leader_election_master_status" or "unless" not in query for name in shared)


def test_a_record_that_is_interrupted_is_an_alert() -> None:
    (rule,) = (rule for rule in rules() if rule["alert"] == "SteersmanRecordInterrupted")
    assert {name for name, _ in SELECTOR.findall(rule["expr"])} == {
        "steersman_recording",
        "steersman_recorded_bytes",
        "steersman_record_gaps",
    }


@pytest.mark.parametrize("query", queries())
def test_brackets_of_queries_match(query: str) -> None:
    open_brackets: list[str] = []
    for character in re.sub(r'"(?:[^"\\]|\\.)*"', "", query):
        if character in CLOSING.values():
            open_brackets.append(character)
        elif character in CLOSING:
            assert open_brackets
            assert open_brackets.pop() == CLOSING[character]
    assert open_brackets == []


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) >= 10
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"].keys() == {"summary", "description"}
        assert all(text.endswith(".") for text in rule["annotations"].values())


def test_no_two_panels_of_the_dashboard_are_in_the_same_place() -> None:
    shown = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    assert len({panel["id"] for panel in shown}) == len(shown)
    for one, other in combinations((panel["gridPos"] for panel in shown), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in shown)
