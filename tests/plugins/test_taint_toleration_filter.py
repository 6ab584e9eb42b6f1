# SPDX-License-Identifier: Apache-2.0
"""Pods fit only on nodes whose NoSchedule and NoExecute taints they tolerate."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Status, unresolvable
from steersman.scheduler.plugins.taint_toleration import ERR_REASON, TaintToleration
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

UNTOLERATED = unresolvable(ERR_REASON)
DEDICATED = make_node().taint("dedicated", "user1")


def verdict(pod: PodBuilder, node: NodeBuilder, *, comparison_operators: bool = False) -> Status | None:
    handle = FakeHandle(gates={"TaintTolerationComparisonOperators": comparison_operators})
    return TaintToleration(None, handle).filter(CycleState(), pod.info(), node.info())


def test_a_pod_fits_on_a_node_without_taints() -> None:
    assert verdict(make_pod(), make_node()) is None


def test_the_reason_is_always_the_same_text() -> None:
    assert verdict(make_pod(), DEDICATED) == unresolvable("node(s) had untolerated taint(s)")


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod().toleration("dedicated", "user1", effect="NoSchedule"), id="same key, value and effect"),
        pytest.param(make_pod().toleration("dedicated", "user1"), id="no effect means every effect"),
        pytest.param(make_pod().toleration("dedicated", effect="NoSchedule"), id="whatever the value"),
        pytest.param(make_pod().toleration(), id="everything"),
        pytest.param(make_pod().toleration("other").toleration("dedicated", "user1"), id="second of two"),
    ],
)
def test_a_pod_that_tolerates_the_taint_fits(pod: PodBuilder) -> None:
    assert verdict(pod, DEDICATED) is None


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="no toleration"),
        pytest.param(make_pod().toleration("dedicated", "user2", effect="NoSchedule"), id="another value"),
        pytest.param(make_pod().toleration("other", "user1"), id="another key"),
        pytest.param(make_pod().toleration("dedicated", "user1", effect="PreferNoSchedule"), id="another effect"),
    ],
)
def test_a_pod_that_does_not_tolerate_the_taint_does_not_fit(pod: PodBuilder) -> None:
    assert verdict(pod, DEDICATED) == UNTOLERATED


def test_every_taint_must_be_tolerated() -> None:
    node = make_node().taint("dedicated", "user2").taint("foo", "bar", effect="NoExecute")
    tolerant = make_pod().toleration("dedicated", "user2", effect="NoSchedule")

    assert verdict(tolerant.toleration("foo", effect="NoExecute"), node) is None
    assert verdict(tolerant, node) == UNTOLERATED


def test_taints_that_only_ask_to_be_avoided_reject_nothing() -> None:
    assert verdict(make_pod(), make_node().taint("dedicated", "user1", effect="PreferNoSchedule")) is None


@pytest.mark.parametrize(
    ("operator", "threshold", "value"),
    [("Gt", "750", "950"), ("Lt", "950", "800")],
)
def test_numeric_tolerations_compare_the_taint_with_the_toleration(operator: str, threshold: str, value: str) -> None:
    pod = make_pod().toleration("sla", threshold, operator=operator)
    fitting, failing = make_node().taint("sla", value), make_node().taint("sla", threshold)

    assert verdict(pod, fitting, comparison_operators=True) is None
    assert verdict(pod, failing, comparison_operators=True) == UNTOLERATED


def test_a_taint_without_a_number_is_not_tolerated_by_a_numeric_toleration() -> None:
    pod, node = make_pod().toleration("sla", "950", operator="Gt"), make_node().taint("sla", "high")

    assert verdict(pod, node, comparison_operators=True) == UNTOLERATED


def test_numeric_tolerations_count_for_nothing_unless_their_gate_is_open() -> None:
    pod, node = make_pod().toleration("sla", "750", operator="Gt"), make_node().taint("sla", "950")

    assert verdict(pod, node) == UNTOLERATED
    assert verdict(pod.toleration("sla", "950"), node) is None
