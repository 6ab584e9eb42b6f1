# SPDX-License-Identifier: Apache-2.0
"""Nodes score the weights of the preferred terms they match, of the pod and of the configuration."""

from __future__ import annotations

from tests.plugins.handles import FakeHandle

from steersman.config import NodeAffinityArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import NodeScore
from steersman.framework.status import SKIP, Code, Status
from steersman.scheduler.plugins.node_affinity import NodeAffinity
from steersman.testing import NodeBuilder, PodBuilder, exists, is_in, make_node, make_pod

FOO_BAR = make_node("node1").label("foo", "bar")
KEYED = make_node("node2").label("key", "value")
KEYED_FOO_BAR = make_node("node3").label("foo", "bar").label("key", "value").label("az", "az1")

LIKES_FOO_BAR = make_pod().preferred_node_affinity(2, is_in("foo", "bar"))
LIKES_MUCH = LIKES_FOO_BAR.preferred_node_affinity(4, is_in("key", "value")).preferred_node_affinity(
    5, is_in("foo", "bar"), is_in("key", "value"), is_in("az", "az1")
)


def preferring(pod: PodBuilder) -> NodeAffinityArgs:
    """The preferred terms of the pod as a configuration for every pod."""
    affinity = pod.obj().spec.affinity
    assert affinity is not None
    return NodeAffinityArgs(added_affinity=affinity.node_affinity)


def scores(
    pod: PodBuilder, *nodes: NodeBuilder, args: NodeAffinityArgs | None = None, pre_score: bool = True
) -> list[int]:
    plugin, state = NodeAffinity(args or NodeAffinityArgs(), FakeHandle()), CycleState()
    info, views = pod.info(), [node.info() for node in nodes]
    if pre_score:
        assert plugin.pre_score(state, info, views) is None
    raw = [plugin.score(state, info, view) for view in views]
    entries = [NodeScore(view.name, score) for view, score in zip(views, raw, strict=True) if isinstance(score, int)]
    assert plugin.normalize_scores(state, info, entries) is None
    return [entry.score for entry in entries]


def test_a_pod_without_preferences_leaves_the_plugin_out() -> None:
    plugin = NodeAffinity(NodeAffinityArgs(), FakeHandle())

    assert plugin.pre_score(CycleState(), make_pod().info(), []) is SKIP
    assert plugin.pre_score(CycleState(), make_pod().required_node_affinity(exists("foo")).info(), []) is SKIP


def test_a_configuration_without_preferences_leaves_the_plugin_out() -> None:
    args = preferring(make_pod().required_node_affinity(exists("foo")))

    assert NodeAffinity(args, FakeHandle()).pre_score(CycleState(), make_pod().info(), []) is SKIP


def test_when_no_node_matches_all_get_nothing() -> None:
    assert scores(LIKES_FOO_BAR, make_node("a"), KEYED) == [0, 0]


def test_the_only_node_that_matches_gets_the_full_score() -> None:
    assert scores(LIKES_FOO_BAR, FOO_BAR, KEYED, make_node("a")) == [100, 0, 0]


def test_weights_add_up_and_scale_with_the_greatest_sum() -> None:
    # 2, 2 + 4 + 5 and 4 of 11.
    assert scores(LIKES_MUCH, FOO_BAR, KEYED_FOO_BAR, KEYED) == [18, 100, 36]


def test_it_scores_the_same_without_pre_score() -> None:
    assert scores(LIKES_MUCH, FOO_BAR, KEYED_FOO_BAR, KEYED, pre_score=False) == [18, 100, 36]


def test_preferences_of_the_configuration_hold_for_every_pod() -> None:
    assert scores(make_pod(), FOO_BAR, KEYED, args=preferring(LIKES_FOO_BAR)) == [100, 0]


def test_preferences_of_pod_and_configuration_add_up() -> None:
    args = preferring(make_pod().preferred_node_affinity(3, is_in("key", "value")))

    assert scores(LIKES_FOO_BAR, FOO_BAR, KEYED, KEYED_FOO_BAR, args=args) == [40, 60, 100]


def test_terms_of_weight_zero_and_empty_terms_count_for_nothing() -> None:
    pod = LIKES_FOO_BAR.preferred_node_affinity(0, exists("key")).preferred_node_affinity(50)

    assert scores(pod, FOO_BAR, KEYED) == [100, 0]


def test_negative_sums_are_scaled_toward_zero() -> None:
    # Only a configuration can have negative weights: -1 of 200 is -0.5 percent.
    args = preferring(make_pod().preferred_node_affinity(-1, is_in("key", "value")))

    assert scores(make_pod().preferred_node_affinity(200, is_in("foo", "bar")), FOO_BAR, KEYED, args=args) == [100, 0]


def test_preferences_may_name_nodes() -> None:
    pod = make_pod().preferred_node_affinity(1, fields=[is_in("metadata.name", "node2")])

    assert scores(pod, FOO_BAR, KEYED) == [0, 100]


def test_a_preference_that_cannot_be_understood_is_a_fault() -> None:
    pod = make_pod().preferred_node_affinity(1, is_in("invalid key", "bar"))

    status = NodeAffinity(NodeAffinityArgs(), FakeHandle()).pre_score(CycleState(), pod.info(), [])

    assert status == Status(
        Code.ERROR,
        (
            '[0].matchExpressions[0].key: Invalid value: "invalid key": name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
            "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    )
