# SPDX-License-Identifier: Apache-2.0
"""Explanations as text."""

from __future__ import annotations

from steersman.base.text_tables import aligned
from steersman.scheduler.diagnosis import (
    Explanation,
    NodeExplanation,
    Outcome,
    PluginScore,
    PreFilterExplanation,
    Verdict,
)


def scored(node: str, first: int, second: int) -> NodeExplanation:
    scores = (PluginScore("Fit", 1, first, first, first), PluginScore("Taints", 3, 7, second, 3 * second))
    return NodeExplanation(node, True, scores=scores, total=first + 3 * second)


TAINTED = NodeExplanation(
    "n3",
    False,
    (
        Verdict("Taints", "UnschedulableAndUnresolvable", ("node(s) had untolerated taint(s)",)),
        Verdict("Fit", "Unschedulable", ("Insufficient cpu", "Insufficient memory")),
    ),
)


def test_scores_and_objections_stand_in_tables() -> None:
    explanation = Explanation(
        pod="default/web",
        profile="default-scheduler",
        outcome=Outcome.SCHEDULED,
        node="n2",
        ties=1,
        at=30.0,
        pre_filter=PreFilterExplanation(skipped=("NodePorts",)),
        score_skipped=("NodeAffinity",),
        nodes=(scored("n1", 50, 10), scored("n2", 40, 100), TAINTED),
    )
    assert explanation.table() == "\n".join(
        [
            "Pod default/web (profile default-scheduler, at 30 s)",
            "  scheduled on n2, the best score",
            "  PreFilter: nothing to do for NodePorts",
            "  Score: nothing to do for NodeAffinity",
            "",
            "Fits on 2 of 3 nodes; scores (raw/normalised/weighted):",
            "  NODE  TOTAL    Fit ×1  Taints ×3",
            "  * n2    340  40/40/40  7/100/300",
            "    n1     80  50/50/50    7/10/30",
            "",
            "Does not fit on 1 node:",
            "    NODE  REJECTED BY                               ALSO",
            "    n3    Taints: node(s) had untolerated taint(s)  Fit: Insufficient cpu, Insufficient memory",
        ]
    )


def test_a_pod_that_fits_nowhere_has_the_message() -> None:
    explanation = Explanation("default/web", "p", Outcome.UNSCHEDULABLE, "0/1 nodes are available: …", nodes=(TAINTED,))
    lines = explanation.table().splitlines()
    assert lines[0] == "Pod default/web (profile p)"
    assert lines[1].startswith("  1 node is ruled out by Taints")
    assert lines[2] == "  unschedulable: 0/1 nodes are available: …"
    assert "Fits on" not in explanation.table()


def test_a_pod_without_a_cycle_has_two_lines() -> None:
    explanation = Explanation("default/web", "p", Outcome.NOT_TRIED, "held back")
    assert explanation.table() == "Pod default/web (profile p)\n  not tried: held back"


def test_the_only_node_that_fits_needs_no_scores() -> None:
    explanation = Explanation(
        "default/web", "p", Outcome.SCHEDULED, node="n1", ties=1, nodes=(NodeExplanation("n1", True), TAINTED)
    )
    assert "scheduled on n1, the only node that fits" in explanation.table()
    assert "Fits on n1; nothing was scored." in explanation.table()


def test_a_choice_among_equals_says_so() -> None:
    nodes = (scored("n1", 1, 1), scored("n2", 1, 1))
    explanation = Explanation("default/web", "p", Outcome.SCHEDULED, node="n1", ties=2, nodes=nodes)
    assert "scheduled on n1; one of 2 nodes with the best score" in explanation.table()


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("a", "bb"), ("ccc", "d")]) == ["a    bb", "ccc  d"]
    assert aligned([("a", "bb"), ("ccc", "d")], right_from=1) == ["a    bb", "ccc   d"]


def test_of_many_nodes_only_the_best_are_shown_if_that_is_wanted() -> None:
    nodes = tuple(scored(f"n{index}", index, 0) for index in range(5))
    explanation = Explanation("default/web", "p", Outcome.SCHEDULED, node="n4", nodes=nodes)
    lines = explanation.table(limit=2).splitlines()
    assert [line[4:6] for line in lines[-3:-1]] == ["n4", "n3"]
    assert lines[-1] == "    and 3 other nodes, down to a total of 0"
    assert len(explanation.table().splitlines()) == len(lines) + 2


def test_of_many_nodes_those_with_the_same_objections_stand_together() -> None:
    full = Verdict("Fit", "Unschedulable", ("Insufficient cpu",))
    nodes = (TAINTED, *(NodeExplanation(f"m{index}", False, (full,)) for index in range(6)))
    explanation = Explanation("default/web", "p", Outcome.UNSCHEDULABLE, "no", nodes=nodes)
    assert explanation.table(limit=3).splitlines()[-4:] == [
        "Does not fit on 7 nodes:",
        "NODES  REASON                                             NEAREST",
        "6      Fit: Insufficient cpu                              m0, m1, m2 and 3 more",
        "1      Taints: node(s) had untolerated taint(s) and more  n3",
    ]
    assert explanation.table(limit=1).splitlines()[-1] == "and 1 node for 1 other reason"
