# SPDX-License-Identifier: Apache-2.0
"""The matrix of a pod says what the plain explanation says, node by node and plugin by plugin, and leaves no trace."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.looked_at import LookedAt

from steersman.scheduler.diagnosis import Explanation, explain_now
from steersman.testing import Harness, make_node, make_pod


def cluster() -> Harness:
    nodes = [
        make_node(f"n{i}")
        .capacity(cpu="4", memory="8Gi", pods="10")
        .label("zone", zone)
        .label("disk", "ssd" if i % 2 else "hdd")
        for i, zone in enumerate("aabbc")
    ]
    tainted = make_node("tainted").capacity(cpu="4", memory="8Gi", pods="10").taint("gpu", "yes")
    cordoned = make_node("cordoned").capacity(cpu="4", memory="8Gi", pods="10").unschedulable()
    placed = [make_pod(f"placed-{i}").label("app", "web").req(cpu="1", memory="1Gi").node(f"n{i}") for i in range(3)]
    return Harness(nodes=[*nodes, tainted, cordoned], pods=placed)


PODS = {
    "plain": make_pod("plain").req(cpu="500m"),
    "large": make_pod("large").req(cpu="3500m", memory="2Gi"),
    "too large": make_pod("huge").req(cpu="64"),
    "choosy": make_pod("choosy").req(cpu="1").node_selector("disk", "ssd"),
    "spread": make_pod("spread").label("app", "web").req(cpu="1").spread("zone", selector={"app": "web"}),
    "apart": make_pod("apart").label("app", "web").req(cpu="1").anti_affinity("zone", {"app": "web"}),
}


def by_node(matrix: Any) -> dict[str, dict[str, Any]]:
    """Verdicts and scores of each node by plugin, from the columns."""
    found: dict[str, dict[str, Any]] = {name: {"verdicts": {}, "scores": {}} for name in matrix["nodes"]}
    for column in matrix["filters"]:
        for name, code in zip(matrix["nodes"], column["verdict"], strict=bool(column["verdict"])):
            if code >= 0:
                found[name]["verdicts"][column["plugin"]] = tuple(matrix["verdicts"][code]["reasons"])
    for column in matrix["scores"]:
        for place, index in enumerate(matrix["scored"] if column["raw"] else ()):
            triple = column["raw"][place], column["normalised"][place], column["weighted"][place]
            found[matrix["nodes"][index]]["scores"][column["plugin"]] = triple
    return found


def by_node_of(explanation: Explanation) -> dict[str, dict[str, Any]]:
    return {
        node.node: {
            "verdicts": {verdict.plugin: verdict.reasons for verdict in node.verdicts},
            "scores": {score.plugin: (score.raw, score.normalised, score.weighted) for score in node.scores},
        }
        for node in explanation.nodes
    }


@pytest.mark.parametrize("name", PODS)
def test_the_matrix_of_a_waiting_pod_is_the_plain_explanation(name: str) -> None:
    harness = cluster()
    shown = LookedAt(harness)
    pod = PODS[name].obj()
    harness.add(pod)
    key = f"default/{pod.metadata.name}"
    matrix = shown.get(f"pods/{key}/matrix")
    wanted = explain_now(harness.scheduler, harness.scheduler.pods[key])
    assert wanted is not None
    assert by_node(matrix) == by_node_of(wanted)
    assert matrix["cause"]["code"] == wanted.cause.code
    assert matrix["message"] == wanted.message
    assert [n for n, fits in zip(matrix["nodes"], matrix["fits"], strict=True) if fits] == [
        node.node for node in wanted.nodes if node.fits
    ]


@pytest.mark.parametrize("name", ["plain", "large", "choosy", "spread", "apart"])
def test_a_pod_that_has_a_node_is_examined_as_if_it_had_none(name: str) -> None:
    harness = cluster()
    shown = LookedAt(harness)
    pod = PODS[name]
    node = harness.place(pod)
    key = f"default/{pod.obj().metadata.name}"
    orders = [list(pods) for pods in harness.scheduler.cache.nodes.pods_on]
    matrix = shown.get(f"pods/{key}/matrix")
    wanted = explain_now(harness.scheduler, harness.scheduler.pods[key])
    assert wanted is not None
    assert by_node(matrix) == by_node_of(wanted)
    assert (matrix["node"], matrix["placedOn"], matrix["outcome"]) == (node, node, "undecided")
    assert [list(pods) for pods in harness.scheduler.cache.nodes.pods_on] == orders
    harness.scheduler.cache.validate_state()
    harness.scheduler.cycle.validate_state()


def test_the_winner_is_ahead_by_the_difference_to_the_next_total() -> None:
    harness = cluster()
    shown = LookedAt(harness)
    harness.add(PODS["plain"])
    matrix = shown.get("pods/default/plain/matrix")
    totals = sorted(set(matrix["total"]), reverse=True)
    assert matrix["lead"] == totals[0] - totals[1]
    assert matrix["ties"] == matrix["total"].count(totals[0])


def test_victims_that_were_considered_are_shown() -> None:
    low = make_pod("low").req(cpu="2").priority(1).node("n")
    with Harness(nodes=[make_node("n").capacity(cpu="2", pods="10")], pods=[low]) as harness:
        shown = LookedAt(harness)
        harness.add(make_pod("high").req(cpu="2").priority(100))
        harness.scheduler.schedule_one()
        preemption = shown.get("pods/default/high/matrix")["preemption"]
    assert preemption["nominatedNode"] == "n"
    assert preemption["candidates"][0]["victims"] == [{"pod": "default/low", "priority": 1}]


def test_a_pod_of_another_scheduler_has_no_matrix() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n")], pods=[make_pod("p").scheduler("other").node("n")]))
    answer = shown.answer("pods/default/p/matrix")
    assert answer.status == 409
    assert b"another scheduler: other" in answer.body


def test_room_is_counted_in_copies() -> None:
    harness = cluster()
    shown = LookedAt(harness)
    harness.add(make_pod("p").req(cpu="1500m"))
    report = shown.get("room?pod=default/p")
    names = [harness.scheduler.cache.nodes.names[row] for row in report["row"]]
    room = dict(zip(names, report["room"], strict=True))
    assert room == {"n0": 2, "n1": 2, "n2": 2, "n3": 2, "n4": 2, "tainted": 2, "cordoned": 2}
    fits = dict(zip(names, report["fits"], strict=True))
    assert (fits["n0"], fits["tainted"], fits["cordoned"]) == (1, 0, 0)


def test_the_node_of_a_pod_has_not_won_where_another_would_win_now() -> None:
    nodes = [make_node(name).capacity(cpu="8", memory="8Gi", pods="10") for name in ("full", "free")]
    pods = [make_pod("big").req(cpu="7", memory="7Gi").node("full"), make_pod("p").req(cpu="1").node("full")]
    matrix = LookedAt(Harness(nodes=nodes, pods=pods)).get("pods/default/p/matrix")
    assert (matrix["node"], matrix["placedOn"], matrix["outcome"]) == ("free", "full", "undecided")
