# SPDX-License-Identifier: Apache-2.0
"""Nodes in emptier domains score higher."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.spreading import (
    NODE_A,
    NODE_B,
    NODE_X,
    NODE_Y,
    WEB,
    ZONE,
    four_nodes,
    node,
    replicas,
    scores,
    soft,
    spread_plugin,
    web,
)

from steersman.api import HOSTNAME_LABEL
from steersman.framework.cycle_state import CycleState
from steersman.framework.go_math import go_log
from steersman.framework.plugin import NodeScore
from steersman.framework.status import SKIP, error
from steersman.scheduler.plugins.pod_topology_spread.plugin import ERR_NO_PRE_SCORE
from steersman.scheduler.plugins.pod_topology_spread.scoring import score_for_count, topology_weight
from steersman.testing import make_node, make_pod


def test_pods_without_soft_constraints_are_left_out() -> None:
    nodes = four_nodes(0, 0, 0, 0)
    hard = web().spread(ZONE, selector=WEB)

    assert spread_plugin(nodes).pre_score(CycleState(), make_pod().info(), nodes) == SKIP
    assert spread_plugin(nodes).pre_score(CycleState(), hard.info(), nodes) == SKIP


@pytest.mark.parametrize(
    ("max_skew", "counts", "expected"),
    [
        pytest.param(1, (0, 0, 0, 0), [100, 100, 100, 100], id="no pods"),
        pytest.param(1, (1, 1, 1, 1), [100, 100, 100, 100], id="even"),
        pytest.param(1, (2, 1, 0, 3), [20, 60, 100, 0], id="uneven"),
        pytest.param(2, (2, 1, 0, 3), [33, 66, 100, 16], id="a tolerated skew waters the difference down"),
        pytest.param(3, (4, 3, 2, 1), [44, 66, 77, 100], id="more of it"),
    ],
)
def test_hosts(max_skew: int, counts: tuple[int, int, int, int], expected: list[int]) -> None:
    assert scores(soft(web(), HOSTNAME_LABEL, max_skew), four_nodes(*counts)) == expected


def test_only_feasible_nodes_count_for_hosts() -> None:
    a, b, x, y = four_nodes(4, 2, 1, 3)

    assert scores(soft(web(), HOSTNAME_LABEL), [a, b, x], [y]) == [33, 83, 100]


def test_a_single_feasible_node_gets_everything() -> None:
    a, b, *_ = four_nodes(2, 1, 0, 0)

    assert scores(soft(web(), HOSTNAME_LABEL), [a], [b]) == [100]


def test_pods_on_infeasible_nodes_count_for_their_domain() -> None:
    a, b, x, y = four_nodes(4, 2, 1, 3)

    assert scores(soft(web(), ZONE), [a, b, x], [y]) == [75, 75, 100]


def test_constraints_add_up() -> None:
    a, b, x, y = four_nodes(2, 1, 2, 4)

    assert scores(soft(soft(web(), ZONE), HOSTNAME_LABEL), [a, x], [b, y]) == [100, 63]


def test_constraints_may_select_different_pods() -> None:
    pod = soft(web(), ZONE).spread(HOSTNAME_LABEL, when="ScheduleAnyway", selector={"tier": "db"})
    db = make_pod("db").label("tier", "db")
    nodes = [NODE_A.info(web("w")), NODE_B.info(), NODE_X.info(db), NODE_Y.info(db.label("app", "web"))]

    assert scores(pod, nodes) == [100, 100, 33, 33]


def test_nodes_that_lack_a_label_get_nothing() -> None:
    nodes = [NODE_A.info(*replicas(4)), make_node("bare").info(*replicas(2)), NODE_X.info(*replicas(1))]

    assert scores(soft(web(), HOSTNAME_LABEL), nodes, [NODE_Y.info(*replicas(3))]) == [16, 0, 100]


def test_an_absent_selector_prefers_no_node() -> None:
    pod = web().spread(HOSTNAME_LABEL, when="ScheduleAnyway", selector=None)

    assert scores(pod, four_nodes(2, 1, 0, 3)) == [100, 100, 100, 100]


def test_pods_of_other_namespaces_and_terminating_pods_do_not_count() -> None:
    nodes = [
        NODE_A.info(*replicas(3, web().namespace("elsewhere"))),
        NODE_B.info(*replicas(3, web().terminating())),
        node("c", "zone3").info(*replicas(1)),
    ]

    assert scores(soft(web(), HOSTNAME_LABEL), nodes) == [100, 100, 0]


def test_nodes_that_the_policies_exclude_do_not_count_for_their_zone() -> None:
    nodes = [
        NODE_A.info(*replicas(1)),
        NODE_B.taint("gpu").label("disk", "ssd").info(*replicas(3)),
        NODE_X.label("disk", "ssd").info(*replicas(2)),
    ]
    pod = web().node_selector("disk", "ssd")

    def spread(affinity: str | None, taints: str | None) -> list[int]:
        with_policies = pod.spread(
            ZONE, when="ScheduleAnyway", selector=WEB, node_affinity_policy=affinity, node_taints_policy=taints
        )
        return scores(with_policies, nodes)

    assert spread(None, None) == [75, 75, 100]
    assert spread("Ignore", None) == [50, 50, 100]
    assert spread("Ignore", "Honor") == [100, 100, 33]
    assert spread("Honor", "Honor") == [100, 100, 0]


def test_min_domains_does_not_matter() -> None:
    pod = web().spread(HOSTNAME_LABEL, when="ScheduleAnyway", selector=WEB, min_domains=10)

    assert scores(pod, four_nodes(2, 1, 0, 3)) == [20, 60, 100, 0]


def test_match_label_keys_restrict_to_pods_with_the_same_value() -> None:
    nodes = [
        NODE_A.info(*replicas(2, web().label("version", "1"))),
        NODE_X.info(*replicas(1, web().label("version", "2"))),
    ]
    pod = web().label("version", "2")

    def spread(keys: list[str]) -> list[int]:
        return scores(pod.spread(ZONE, when="ScheduleAnyway", selector=WEB, match_label_keys=keys), nodes)

    assert spread(["version"]) == [100, 0]
    assert spread([]) == [33, 100]


def test_raw_scores_weigh_counts_by_the_number_of_domains() -> None:
    nodes = four_nodes(2, 1, 0, 3)
    plugin, state, info = spread_plugin(nodes), CycleState(), soft(soft(web(), ZONE, 5), HOSTNAME_LABEL, 3).info()
    assert plugin.pre_score(state, info, nodes) is None

    raw = [plugin.score(state, info, each) for each in nodes]

    assert raw == [14, 12, 10, 16]
    assert topology_weight(2) == go_log(4)
    assert score_for_count(3, 5, go_log(4)) + score_for_count(2, 3, go_log(6)) == pytest.approx(13.74, abs=0.01)


def test_without_pre_score_it_is_a_fault() -> None:
    plugin, pod, node_a = spread_plugin(), web().info(), NODE_A.info()

    assert plugin.score(CycleState(), pod, node_a) == error(ERR_NO_PRE_SCORE)
    assert plugin.normalize_scores(CycleState(), pod, [NodeScore("a", 1)]) == error(ERR_NO_PRE_SCORE)
