# SPDX-License-Identifier: Apache-2.0
"""Which pods a constraint counts: absent and empty selectors, and labels taken from the pod itself."""

from __future__ import annotations

from tests.plugins.pod_topology_spread.spreading import (
    NODE_A,
    NODE_X,
    WEB,
    ZONE,
    fitting,
    four_nodes,
    replicas,
    spread_plugin,
    web,
)

from steersman.api import HOSTNAME_LABEL
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Code, Status
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.testing import Expression, exists, make_pod


def two_versions() -> list[PlainNodeInfo]:
    """Version 1 on node a, version 2 on node x (twice)."""
    return [
        NODE_A.info(*replicas(1, web().label("version", "1"))),
        NODE_X.info(*replicas(2, web().label("version", "2"))),
    ]


def test_an_absent_selector_counts_no_pod() -> None:
    assert fitting(web().spread(HOSTNAME_LABEL, selector=None), four_nodes(2, 1, 0, 3)) == "abxy"


def test_an_empty_selector_counts_no_pod_but_the_incoming_one() -> None:
    assert fitting(web().spread(HOSTNAME_LABEL, selector={}), four_nodes(2, 1, 0, 3)) == "abxy"
    assert (
        fitting(web().spread(HOSTNAME_LABEL, max_skew=1, selector={}, min_domains=9), four_nodes(2, 1, 0, 3)) == "abxy"
    )


def test_expressions_select() -> None:
    assert fitting(web().spread(HOSTNAME_LABEL, selector=exists("app")), four_nodes(2, 1, 0, 3)) == "x"


def test_match_label_keys_restrict_to_pods_with_the_same_value() -> None:
    pod = web().label("version", "1").spread(ZONE, selector=WEB, match_label_keys=["version"])

    assert fitting(pod, two_versions()) == "x"
    assert fitting(pod.label("version", "2"), two_versions()) == "a"


def test_match_label_keys_restrict_an_empty_selector() -> None:
    pod = web().label("version", "2").spread(ZONE, selector={}, match_label_keys=["version"])

    assert fitting(pod, two_versions()) == "a"


def test_match_label_keys_do_nothing_for_an_absent_selector() -> None:
    pod = web().label("version", "2").spread(ZONE, selector=None, match_label_keys=["version"])

    assert fitting(pod, two_versions()) == "ax"


def test_match_label_keys_that_the_pod_does_not_have_are_ignored() -> None:
    pod = web().spread(ZONE, selector=WEB, match_label_keys=["version"])

    assert fitting(pod, two_versions()) == "a"


def test_match_label_keys_are_ignored_where_the_feature_is_disabled() -> None:
    pod = web().label("version", "1").spread(ZONE, selector=WEB, match_label_keys=["version"])
    plugin = spread_plugin(gates={"MatchLabelKeysInPodTopologySpread": False})

    assert fitting(pod, two_versions(), plugin) == "a"


def test_a_selector_that_cannot_be_understood_is_a_fault() -> None:
    wrong = Expression("app", "Near", ("web",))
    hard = make_pod().spread(ZONE, selector=wrong).info()
    soft = make_pod().spread(ZONE, when="ScheduleAnyway", selector=wrong).info()

    status = spread_plugin().pre_filter(CycleState(), hard, [])
    assert isinstance(status, Status)
    assert status.code is Code.ERROR
    assert status.message == (
        "get constraints from pod: obtaining pod's hard topology spread constraints: "
        '"Near" is not a valid label selector operator'
    )
    status = spread_plugin().pre_score(CycleState(), soft, [])
    assert isinstance(status, Status)
    assert status.code is Code.ERROR
