# SPDX-License-Identifier: Apache-2.0
"""Replays of scenarios whose order of cycles comes from the scheduling queue."""

from __future__ import annotations

from typing import Any

from tests.testing.conformance.documents import Document, both_engines, node, pod, running

from steersman.testing.conformance.bundles import Kind, kind_of, run_case
from steersman.testing.conformance.group_levels import agreed_level, located_differences
from steersman.testing.conformance.group_replay import run_group_scenario


def replayed(objects: list[Document], pods: list[Document], scalar: bool = False, **rest: Any) -> Document:
    return run_group_scenario(scenario(objects, pods, **rest), scalar=scalar)


def scenario(objects: list[Document], pods: list[Document], **rest: Any) -> Document:
    return {"name": "s", "area": "a", "version": "1.37", "objects": objects, "pods": pods, **rest}


def outcomes(result: Document) -> list[tuple[str, int, str]]:
    return [(cycle["pod"].removeprefix("default/"), cycle["round"], cycle["outcome"]) for cycle in result["cycles"]]


def gated(document: Document) -> Document:
    return {**document, "spec": {**document["spec"], "schedulingGates": [{"name": "example.com/wait"}]}}


@both_engines
def test_pods_are_scheduled_by_priority_and_then_by_arrival(scalar: bool) -> None:
    pods = [pod("first"), pod("second"), pod("urgent", priority=10)]
    result = replayed([node("n1")], pods, scalar)
    assert outcomes(result) == [("urgent", 1, "scheduled"), ("first", 1, "scheduled"), ("second", 1, "scheduled")]
    assert result["final"][0] == {"pod": "default/first", "node": "n1"}


@both_engines
def test_the_smallest_name_among_equally_good_nodes_is_chosen(scalar: bool) -> None:
    (cycle,) = replayed([node("n3"), node("n1"), node("n2")], [pod("p")], scalar)["cycles"]
    assert (cycle["selected"], cycle["top"]) == ("n1", ["n1", "n2", "n3"])


def test_victims_keep_running_without_eviction() -> None:
    objects = [node("n1"), running(pod("victim", cpu="1"), on="n1")]
    result = replayed(objects, [pod("greater", cpu="1", priority=10)])
    assert outcomes(result) == [("greater", 1, "unschedulable")]
    assert result["cycles"][0]["postFilter"]["victims"] == ["default/victim"]
    assert result["final"] == [{"pod": "default/greater", "queue": "unschedulable", "nominatedNode": "n1"}]


def test_victims_are_deleted_after_the_round_and_another_round_follows() -> None:
    objects = [node("n1"), running(pod("old", cpu="1"), on="n1")]
    result = replayed(objects, [pod("greater", cpu="1", priority=10)], evict=True)
    assert outcomes(result) == [("greater", 1, "unschedulable"), ("greater", 2, "scheduled")]
    assert result["final"] == [{"pod": "default/greater", "node": "n1"}]


def test_a_step_changes_objects_and_lets_pods_finish_their_backoff() -> None:
    steps: list[Document] = [{"ops": [{"create": node("n1")}], "seconds": 0}, {"ops": [], "seconds": 15}]
    result = replayed([node("n0")], [pod("p", cpu="2")], steps=[*steps])
    assert result["queues"] == [{"default/p": "active"}, {"default/p": "unschedulable"}, {"default/p": "unschedulable"}]
    large = {**node("n1"), "status": {"allocatable": {"cpu": "2", "pods": "10"}}}
    result = replayed([node("n0")], [pod("p", cpu="2")], steps=[{"ops": [{"create": large}], "seconds": 15}])
    assert outcomes(result) == [("p", 1, "unschedulable"), ("p", 2, "scheduled")]


def test_a_pod_that_is_held_back_or_deleted_is_reported_at_the_end() -> None:
    steps = [{"ops": [{"delete": {"kind": "Pod", "name": "leaving"}}], "seconds": 0}]
    result = replayed([node("n1")], [gated(pod("held")), gated(pod("leaving"))], steps=steps)
    held, leaving = result["final"]
    assert held["preEnqueue"]["plugin"] == "SchedulingGates"
    assert leaving == {"pod": "default/leaving", "gone": True}


def test_an_update_keeps_what_the_scheduler_has_written() -> None:
    relabelled = {**pod("p"), "metadata": {"name": "p", "namespace": "default", "labels": {"a": "b"}}}
    result = replayed([node("n1")], [pod("p")], steps=[{"ops": [{"update": relabelled}], "seconds": 0}])
    assert outcomes(result) == [("p", 1, "scheduled")]
    assert result["final"] == [{"pod": "default/p", "node": "n1"}]


def cycle(**parts: Any) -> Document:
    return {"entity": "podgroup", "group": "default/g", "round": 1, "outcome": "scheduled", "pods": [], **parts}


def result_of(*cycles: Document, **parts: Any) -> Document:
    return {"cycles": [*cycles], "final": [], "groups": [], **parts}


def test_a_result_agrees_up_to_the_level_of_its_strictest_equal_part() -> None:
    expected = result_of(cycle(condition={"status": "True", "message": "a"}))
    assert agreed_level(expected, result_of(cycle(condition={"status": "True", "message": "a"}))) == 3
    assert agreed_level(expected, result_of(cycle(condition={"status": "True", "message": "b"}))) == 2
    assert agreed_level(expected, result_of(cycle(condition={"status": "False", "message": "a"}))) == 1
    assert agreed_level(expected, result_of(cycle(outcome="error"))) == 0


def test_devices_do_not_count_but_an_allocation_does() -> None:
    given = result_of(claims=[{"claim": "default/c", "allocation": ["r=d/p/1"]}])
    assert agreed_level(given, result_of(claims=[{"claim": "default/c", "allocation": ["r=d/p/2"]}])) == 3
    assert agreed_level(given, result_of(claims=[{"claim": "default/c"}])) == 1


def test_differences_end_at_the_first_cycle_of_another_entity() -> None:
    expected = result_of(cycle(), cycle(group="default/h"), cycle(round=2))
    actual = result_of(cycle(outcome="error"), cycle(group="default/i"))
    places = [(place, difference.path) for place, difference in located_differences(expected, actual)]
    assert places == [("cycle 1, default/g", "outcome"), ("cycle 2, default/h", "cycle")]


def test_a_line_with_pod_groups_reports_its_level_even_if_it_cannot_be_run() -> None:
    line = {**scenario([node("n1")], [pod("p")]), "expected": result_of()}
    assert kind_of(line) is Kind.GROUP_SCENARIO
    assert run_case(Kind.GROUP_SCENARIO, line).level == 0
    broken = run_case(Kind.GROUP_SCENARIO, {**line, "objects": [{"kind": "Unknown", "metadata": {"name": "u"}}]})
    assert (broken.level, [difference.path for _, difference in broken.differences]) == (0, ["raised"])
