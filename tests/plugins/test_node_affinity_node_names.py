# SPDX-License-Identifier: Apache-2.0
"""A required affinity to node names restricts the nodes before any of them is examined."""

from __future__ import annotations

from tests.plugins.handles import FakeHandle

from steersman.config import NodeAffinityArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import PreFilterResult
from steersman.framework.status import Status, unresolvable
from steersman.scheduler.plugins.node_affinity import ERR_REASON_CONFLICT, NodeAffinity
from steersman.testing import PodBuilder, exists, is_in, make_pod, not_in


def named(*names: str) -> PodBuilder:
    return make_pod().required_node_affinity(fields=[is_in("metadata.name", *names)])


def pre_filter(pod: PodBuilder) -> PreFilterResult | Status | None:
    return NodeAffinity(NodeAffinityArgs(), FakeHandle()).pre_filter(CycleState(), pod.info(), [])


def test_only_the_named_node_is_worth_examining() -> None:
    assert pre_filter(named("node1")) == PreFilterResult(frozenset({"node1"}))


def test_the_names_of_several_terms_are_united() -> None:
    pod = named("node1").required_node_affinity(exists("zone"), fields=[is_in("metadata.name", "node2")])

    assert pre_filter(pod) == PreFilterResult(frozenset({"node1", "node2"}))


def test_the_names_within_a_term_are_intersected() -> None:
    pod = make_pod().required_node_affinity(
        fields=[is_in("metadata.name", "node1", "node2"), is_in("metadata.name", "node2", "node3")]
    )

    assert pre_filter(pod) == PreFilterResult(frozenset({"node2"}))


def test_a_term_without_names_lifts_the_restriction() -> None:
    assert pre_filter(named("node1").required_node_affinity(exists("zone"))) is None


def test_a_term_that_excludes_names_lifts_the_restriction() -> None:
    assert pre_filter(named("node1").required_node_affinity(fields=[not_in("metadata.name", "node2")])) is None


def test_other_fields_restrict_nothing() -> None:
    assert pre_filter(make_pod().required_node_affinity(fields=[is_in("spec.unschedulable", "false")])) is None


def test_contradicting_names_end_the_cycle_before_any_node_is_examined() -> None:
    pod = make_pod().required_node_affinity(fields=[is_in("metadata.name", "node1"), is_in("metadata.name", "node2")])

    assert pre_filter(pod) == unresolvable(ERR_REASON_CONFLICT)


def test_a_term_with_contradicting_names_does_not_spoil_another_term() -> None:
    pod = named("node3").required_node_affinity(
        fields=[is_in("metadata.name", "node1"), is_in("metadata.name", "node2")]
    )

    assert pre_filter(pod) == PreFilterResult(frozenset({"node3"}))


def test_a_node_selector_alone_restricts_nothing() -> None:
    assert pre_filter(make_pod().node_selector("foo", "bar")) is None
