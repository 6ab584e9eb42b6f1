# SPDX-License-Identifier: Apache-2.0
"""A pod must not make the difference between domains greater than its constraints allow."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.spreading import (
    NODE_A,
    NODE_B,
    NODE_X,
    NODE_Y,
    WEB,
    ZONE,
    fitting,
    four_nodes,
    node,
    replicas,
    spread_plugin,
    verdicts,
    web,
)

from steersman.api import HOSTNAME_LABEL
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP, error, unresolvable, unschedulable
from steersman.scheduler.plugins.pod_topology_spread.filtering import (
    ERR_CONSTRAINTS_NOT_MATCH,
    ERR_NODE_LABEL_NOT_MATCH,
)
from steersman.scheduler.plugins.pod_topology_spread.plugin import ERR_NO_PRE_FILTER
from steersman.testing import make_pod


def test_pods_without_hard_constraints_are_left_out() -> None:
    nodes = four_nodes(0, 0, 0, 0)
    soft = web().spread(ZONE, when="ScheduleAnyway", selector=WEB)

    assert spread_plugin().pre_filter(CycleState(), make_pod().info(), nodes) == SKIP
    assert spread_plugin().pre_filter(CycleState(), soft.info(), nodes) == SKIP


@pytest.mark.parametrize(
    ("key", "max_skew", "counts", "expected"),
    [
        pytest.param(ZONE, 1, (0, 0, 0, 0), "abxy", id="nothing anywhere"),
        pytest.param(ZONE, 1, (2, 1, 0, 3), "abxy", id="even zones"),
        pytest.param(ZONE, 1, (2, 1, 0, 2), "xy", id="the emptier zone"),
        pytest.param(ZONE, 2, (2, 1, 0, 2), "abxy", id="a skew of two"),
        pytest.param(HOSTNAME_LABEL, 1, (2, 1, 0, 3), "x", id="the emptiest host"),
        pytest.param(HOSTNAME_LABEL, 2, (2, 1, 0, 3), "bx", id="the emptier hosts"),
    ],
)
def test_domains_above_the_skew_are_rejected(
    key: str, max_skew: int, counts: tuple[int, int, int, int], expected: str
) -> None:
    assert fitting(web().spread(key, max_skew=max_skew, selector=WEB), four_nodes(*counts)) == expected


def test_a_pod_that_does_not_match_its_own_constraint_does_not_add_to_the_skew() -> None:
    pod = make_pod().spread(HOSTNAME_LABEL, selector=WEB)

    assert fitting(pod, four_nodes(2, 1, 0, 3)) == "bx"


def test_rejections_name_the_reason() -> None:
    nodes = [NODE_A.info(*replicas(1)), NODE_X.info(), node("bare").info()]

    assert verdicts(web().spread(ZONE, selector=WEB), nodes) == {
        "a": unschedulable(ERR_CONSTRAINTS_NOT_MATCH),
        "x": None,
        "bare": unresolvable(ERR_NODE_LABEL_NOT_MATCH),
    }


def test_pods_on_nodes_that_lack_any_of_the_labels_do_not_count() -> None:
    bare = node("bare").info(*replicas(5))
    pod = web().spread(HOSTNAME_LABEL, max_skew=1, selector=WEB).spread(ZONE, selector=WEB)

    assert fitting(pod, [*four_nodes(1, 1, 1, 1), bare]) == "abxy"


def test_pods_of_other_namespaces_and_terminating_pods_do_not_count() -> None:
    nodes = [
        NODE_A.info(*replicas(1)),
        NODE_B.info(),
        NODE_X.info(*replicas(2, web().namespace("elsewhere"))),
        NODE_Y.info(*replicas(2, web().terminating())),
    ]

    assert fitting(web().spread(ZONE, selector=WEB), nodes) == "xy"


def test_every_constraint_must_hold() -> None:
    pod = web().spread(ZONE, selector=WEB).spread(HOSTNAME_LABEL, selector=WEB)

    assert fitting(pod, four_nodes(2, 1, 0, 3)) == "x"
    assert fitting(pod, four_nodes(2, 1, 0, 4)) == ""


def test_constraints_may_select_different_pods() -> None:
    pod = web().label("tier", "db").spread(ZONE, selector=WEB).spread(HOSTNAME_LABEL, selector={"tier": "db"})
    db = make_pod("db").label("tier", "db")
    nodes = [
        NODE_A.info(*replicas(1, web().label("tier", "db")), web("more")),
        NODE_B.info(),
        NODE_X.info(),
        NODE_Y.info(*replicas(2), db),
    ]

    assert fitting(pod, nodes) == "bx"


def test_two_constraints_may_have_the_same_key() -> None:
    pod = web().label("tier", "db").spread(ZONE, selector={"tier": "db"}).spread(ZONE, selector=WEB)
    both = web().label("tier", "db")
    nodes = [
        NODE_A.info(both.name("a1"), web("a2")),
        NODE_B.info(both.name("b1")),
        NODE_X.info(),
        NODE_Y.info(web("y1"), both.name("y2"), web("y3")),
    ]

    assert fitting(pod, nodes) == "xy"


def test_filter_without_pre_filter_is_a_fault() -> None:
    pod = web().spread(ZONE, selector=WEB).info()

    assert spread_plugin().filter(CycleState(), pod, NODE_A.info()) == error(ERR_NO_PRE_FILTER)
