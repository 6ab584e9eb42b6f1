# SPDX-License-Identifier: Apache-2.0
"""This run beside another: the plugin that made each difference, by its scores or its objections, in either run."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.web.looked_at import LookedAt
from tests.web.test_configuration import HEADER, PACKING, cluster, posted

from steersman.testing import Harness, make_node, make_pod


def by_pod(comparison: Any) -> dict[str, Any]:
    return {decision["pod"]: decision for decision in comparison["decisions"]}


def test_a_run_with_another_scoring_strategy_names_the_plugin_that_scores() -> None:
    """The other run is what the packing configuration makes of these pods."""
    shown = cluster()
    packed = by_pod(posted(shown, "configuration/try", {"yaml": PACKING}))
    elsewhere = {pod: decision["b"] for pod, decision in packed.items() if not decision["same"]}
    comparison = posted(shown, "compare/run", {"yaml": PACKING, "pods": elsewhere})
    assert (comparison["pods"], comparison["moved"], comparison["notes"]) == (8, 6, [])
    decisions = by_pod(comparison)
    assert {pod: decision["b"] for pod, decision in decisions.items() if not decision["same"]} == elsewhere
    for pod in elsewhere:
        assert decisions[pod]["plugin"] == "NodeResourcesFit"
        assert "higher in this run" in decisions[pod]["why"] or "as high in this run" in decisions[pod]["why"]
        assert {pair["plugin"] for pair in decisions[pod]["scores"]} >= {"NodeResourcesFit", "TaintToleration"}
    in_use = next(line for line in comparison["summary"] if line["label"] == "nodes in use")
    assert (in_use["a"], in_use["b"]) == (4, 1)


def test_a_node_that_did_not_fit_here_names_the_filter() -> None:
    nodes = [make_node("open").capacity(cpu="4", pods="9"), make_node("shut").capacity(cpu="4", pods="9").taint("no")]
    shown = LookedAt(Harness(nodes=nodes))
    shown.harness.place(make_pod("p").req(cpu="1"))
    (decision,) = posted(shown, "compare/run", {"yaml": HEADER, "pods": {"default/p": "shut"}})["decisions"]
    assert (decision["a"], decision["b"], decision["plugin"]) == ("open", "shut", "TaintToleration")
    assert decision["why"].startswith("in this run shut did not fit: node(s) had untolerated taint")


def test_a_node_that_was_full_in_the_other_run_names_the_filter() -> None:
    """There the first pod took the room that the second has here."""
    shown = LookedAt(Harness(nodes=[make_node("big").capacity(cpu="4", pods="9")]))
    shown.harness.place(make_pod("first").req(cpu="1"))
    shown.harness.add(make_node("small").capacity(cpu="1", pods="9"))
    shown.harness.scheduler.schedule_one()
    shown.harness.add(make_node("big").capacity(cpu="4", pods="9").unschedulable())
    shown.harness.place(make_pod("second").req(cpu="1"))
    comparison = posted(shown, "compare/run", {"pods": {"default/first": "small", "default/second": ""}})
    decisions = by_pod(comparison)
    assert (decisions["default/second"]["a"], decisions["default/second"]["b"]) == ("small", "")
    assert decisions["default/second"]["plugin"] == "NodeResourcesFit"
    assert decisions["default/second"]["why"] == "in the other run small did not fit: Insufficient cpu"
    assert comparison["onlyA"] == 1


def test_a_pod_that_waits_here_is_reported_with_its_cause() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="1", pods="9")]))
    shown.harness.add(make_pod("p").req(cpu="2"))
    shown.harness.scheduler.schedule_one()
    (decision,) = posted(shown, "compare/run", {"pods": {"default/p": "n"}})["decisions"]
    assert (decision["a"], decision["b"], decision["plugin"]) == ("", "n", "NodeResourcesFit")


def test_a_draw_between_equal_nodes_is_no_plugin() -> None:
    shown = LookedAt(Harness(nodes=[make_node(name).capacity(cpu="4", pods="9") for name in "ab"]))
    node = shown.harness.place(make_pod("p").req(cpu="1"))
    other = "b" if node == "a" else "a"
    (decision,) = posted(shown, "compare/run", {"pods": {"default/p": other}})["decisions"]
    assert decision.get("plugin", "") == ""
    assert "random choice" in decision["why"]


def test_a_node_of_another_cluster_is_said_to_be_unknown() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="4", pods="9")]))
    shown.harness.place(make_pod("p").req(cpu="1"))
    comparison = posted(shown, "compare/run", {"pods": {"default/p": "far"}})
    (decision,) = comparison["decisions"]
    assert decision["why"] == "far is not among the nodes of this cluster"
    assert "1 of these pods could not be put" in comparison["notes"][0]


def test_a_configuration_that_cannot_be_used_is_refused() -> None:
    answer = cluster().answer("compare/run", "POST", msgspec.json.encode({"yaml": "kind: Pod", "pods": {}}))
    assert answer.status == 422


def test_a_pod_that_a_gate_holds_here_is_reported_with_its_gate() -> None:
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="4", pods="9")]))
    shown.harness.add(make_pod("held").req(cpu="1").gate("wait"))
    (decision,) = posted(shown, "compare/run", {"pods": {"default/held": "n"}})["decisions"]
    assert (decision["a"], decision["b"]) == ("", "n")
    assert decision["why"] == "in this run n did not fit: waiting for scheduling gates: [wait]"


def test_a_pod_that_does_not_fit_is_not_tried_in_place_of_the_next_one() -> None:
    """The rejected pod is ready to be retried when the gated pod comes, and must not be shown as that one."""
    shown = LookedAt(Harness(nodes=[make_node("n").capacity(cpu="1", pods="9")]))
    shown.harness.add(make_pod("large").req(cpu="2"))
    shown.harness.add(make_pod("held").req(cpu="1").gate("wait"))
    pods = {"default/large": "n", "default/held": "n"}
    decisions = by_pod(posted(shown, "compare/run", {"pods": pods}))
    assert decisions["default/large"]["plugin"] == "NodeResourcesFit"
    assert "scheduling gates" in decisions["default/held"]["why"]
