# SPDX-License-Identifier: Apache-2.0
"""Pods fit only on nodes that match their node selector, their node affinity and the affinity of the configuration."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman.api import Affinity, NodeAffinity as NodeAffinitySpec, NodeSelector, NodeSelectorTerm, Pod, PodSpec
from steersman.config import NodeAffinityArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodShapes
from steersman.framework.status import SKIP, Status, is_skip, unresolvable
from steersman.scheduler.plugins.node_affinity import ERR_REASON_ENFORCED, ERR_REASON_POD, NodeAffinity
from steersman.testing import (
    Expression,
    NodeBuilder,
    PodBuilder,
    exists,
    greater_than,
    is_in,
    make_node,
    make_pod,
    not_in,
)
from steersman.testing.selecting import node_selector_term

NO_MATCH = unresolvable(ERR_REASON_POD)
FOO_BAR = make_node("node1").label("foo", "bar")


def required(*terms: NodeSelectorTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(
        added_affinity=NodeAffinitySpec(
            required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms)
        )
    )


def verdict(pod: PodBuilder, node: NodeBuilder, args: NodeAffinityArgs | None = None) -> Status | None:
    """PreFilter, then Filter unless PreFilter ended it; Skip counts as fitting."""
    plugin, state, info, view = (
        NodeAffinity(args or NodeAffinityArgs(), FakeHandle()),
        CycleState(),
        pod.info(),
        node.info(),
    )
    answer = plugin.pre_filter(state, info, [view])
    if isinstance(answer, Status):
        return None if is_skip(answer) else answer
    assert plugin.filter(CycleState(), info, view) == plugin.filter(state, info, view)
    return plugin.filter(state, info, view)


def test_a_pod_without_node_selector_and_affinity_leaves_the_plugin_out() -> None:
    plugin = NodeAffinity(NodeAffinityArgs(), FakeHandle())

    assert plugin.pre_filter(CycleState(), make_pod().info(), []) is SKIP
    assert plugin.pre_filter(CycleState(), make_pod().preferred_node_affinity(1, exists("foo")).info(), []) is SKIP


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(make_node(), NO_MATCH, id="missing label"),
        pytest.param(make_node().label("foo", "bar"), None, id="same labels"),
        pytest.param(make_node().label("foo", "bar").label("baz", "blah"), None, id="more labels"),
        pytest.param(make_node().label("foo", "other"), NO_MATCH, id="another value"),
    ],
)
def test_the_node_must_have_every_label_of_the_node_selector(node: NodeBuilder, expected: Status | None) -> None:
    assert verdict(make_pod().node_selector("foo", "bar"), node) == expected


def test_several_labels_of_the_node_selector_must_all_be_there() -> None:
    assert verdict(make_pod().node_selector("foo", "bar").node_selector("baz", "blah"), FOO_BAR) == NO_MATCH


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        pytest.param((is_in("foo", "bar", "value2"),), None, id="In"),
        pytest.param((is_in("foo", "value1", "value2"),), NO_MATCH, id="In without the value"),
        pytest.param((not_in("mem-type", "DDR", "DDR2"),), None, id="NotIn of a missing label"),
        pytest.param((exists("foo"),), None, id="Exists"),
        pytest.param((exists("GPU"),), NO_MATCH, id="Exists of a missing label"),
        pytest.param((exists("foo"), not_in("foo", "baz")), None, id="both hold"),
        pytest.param((exists("foo"), is_in("foo", "baz")), NO_MATCH, id="one does not hold"),
        pytest.param((), NO_MATCH, id="empty term"),
        pytest.param((not_in("foo", "invalid value: ___@#$%^"),), NO_MATCH, id="unusable value"),
        pytest.param((Expression("foo", "Resembles", ("bar",)),), NO_MATCH, id="unknown operator"),
    ],
)
def test_all_expressions_of_a_required_term_must_hold(
    expressions: tuple[Expression, ...], expected: Status | None
) -> None:
    assert verdict(make_pod().required_node_affinity(*expressions), FOO_BAR) == expected


def test_numbers_are_compared() -> None:
    pod = make_pod().required_node_affinity(greater_than("kernel-version", 204))

    assert verdict(pod, make_node().label("kernel-version", "206")) is None
    assert verdict(pod, make_node().label("kernel-version", "204")) == NO_MATCH
    assert verdict(pod, make_node().label("kernel-version", "new")) == NO_MATCH


def test_one_of_several_terms_is_enough() -> None:
    pod = make_pod().required_node_affinity(is_in("foo", "bar")).required_node_affinity(is_in("diffkey", "wrong"))

    assert verdict(pod, FOO_BAR) is None


def test_an_unusable_term_does_not_spoil_the_others() -> None:
    unusable = not_in("foo", "invalid value: ___@#$%^")
    pod = make_pod().required_node_affinity(unusable).required_node_affinity(exists("foo"))

    assert verdict(pod, FOO_BAR) is None


def test_node_selector_and_affinity_must_both_match() -> None:
    pod = make_pod().node_selector("foo", "bar").required_node_affinity(exists("foo"))

    assert verdict(pod, FOO_BAR) is None
    assert verdict(pod, make_node().label("foo", "other")) == NO_MATCH
    assert verdict(make_pod().node_selector("foo", "bar").required_node_affinity(exists("x")), FOO_BAR) == NO_MATCH


def test_an_affinity_without_terms_matches_no_node() -> None:
    plugin, state = NodeAffinity(NodeAffinityArgs(), FakeHandle()), CycleState()
    affinity = Affinity(node_affinity=required().added_affinity)
    pod = PodShapes().info(Pod(spec=PodSpec(affinity=affinity)))

    assert plugin.pre_filter(state, pod, []) is None
    assert plugin.filter(state, pod, FOO_BAR.info()) == NO_MATCH


@pytest.mark.parametrize(
    ("expressions", "name", "expected"),
    [
        pytest.param((), "node1", None, id="the named node"),
        pytest.param((), "node2", NO_MATCH, id="another node"),
        pytest.param((is_in("foo", "bar"),), "node1", None, id="name and labels"),
        pytest.param((is_in("foo", "bar"),), "node2", NO_MATCH, id="labels but not the name"),
        pytest.param((is_in("foo", "other"),), "node1", NO_MATCH, id="the name but not the labels"),
    ],
)
def test_the_name_of_the_node_is_a_field(
    expressions: tuple[Expression, ...], name: str, expected: Status | None
) -> None:
    pod = make_pod().required_node_affinity(*expressions, fields=[is_in("metadata.name", name)])

    assert verdict(pod, FOO_BAR) == expected


def test_a_term_without_the_name_may_still_match() -> None:
    by_name = make_pod().required_node_affinity(fields=[is_in("metadata.name", "other")])

    assert verdict(by_name.required_node_affinity(is_in("foo", "bar")), FOO_BAR) is None
    assert verdict(by_name.required_node_affinity(is_in("foo", "baz")), FOO_BAR) == NO_MATCH


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(), None, id="the pod asks for nothing"),
        pytest.param(make_pod().required_node_affinity(is_in("foo", "bar")), None, id="both match"),
        pytest.param(make_pod().required_node_affinity(is_in("foo", "baz")), NO_MATCH, id="only the added one matches"),
    ],
)
def test_the_affinity_of_the_configuration_comes_on_top(pod: PodBuilder, expected: Status | None) -> None:
    added = required(node_selector_term((), (is_in("metadata.name", "node1"),)))

    assert verdict(pod, FOO_BAR, added) == expected


def test_a_node_outside_of_the_affinity_of_the_configuration_is_rejected_with_its_own_reason() -> None:
    added = required(node_selector_term((), (is_in("metadata.name", "node2"),)))

    assert verdict(make_pod(), FOO_BAR, added) == unresolvable(ERR_REASON_ENFORCED)
    assert verdict(make_pod().required_node_affinity(exists("x")), FOO_BAR, added) == unresolvable(ERR_REASON_ENFORCED)


def test_an_added_affinity_without_terms_rejects_every_node() -> None:
    assert verdict(make_pod(), FOO_BAR, required()) == unresolvable(ERR_REASON_ENFORCED)
