# SPDX-License-Identifier: Apache-2.0
"""Every change of a Node object counts, but for those that are known to decide nothing."""

from __future__ import annotations

from tests.framework.field_walk import filled, replace, variations

from steersman import api
from steersman.scheduler.state.node_differences import IGNORED_NODE_FIELDS, same_for_scheduling
from steersman.testing import make_node


def test_a_change_of_any_field_counts_exactly_if_it_is_not_said_to_decide_nothing() -> None:
    node = filled(api.Node)
    paths = {path for path, _ in variations(node)}
    forgotten = {path for path, other in variations(node) if same_for_scheduling(node, other)}
    assert forgotten == IGNORED_NODE_FIELDS.keys()
    assert paths > forgotten


def test_the_heartbeat_of_a_kubelet_changes_nothing() -> None:
    def beating(version: str, since: str) -> api.Node:
        node = make_node("n1").capacity(cpu="4").obj()
        ready = api.Condition(type="Ready", status="True", reason="KubeletReady", last_transition_time=since)
        meta = replace(node.metadata, resource_version=version)
        return replace(node, metadata=meta, status=replace(node.status, conditions=(ready,)))

    assert same_for_scheduling(beating("7", "2030-01-01T00:00:00Z"), beating("8", "2030-01-01T00:00:10Z"))
