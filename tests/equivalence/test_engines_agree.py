# SPDX-License-Identifier: Apache-2.0
"""The columnar engine says exactly what the scalar one says, whatever happened before, and whatever it has kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import given, strategies as st
from tests.equivalence import events as happenings, vocabulary as words
from tests.equivalence.cluster import Cluster
from tests.equivalence.events import Event, beginnings
from tests.equivalence.examples import examples
from tests.equivalence.outsiders import outsiders
from tests.equivalence.profiles import configurations
from tests.equivalence.vocabulary import Call, Calls

from steersman.config import DEFAULT_GATES, FeatureGates
from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo

stories = st.lists(happenings.events, min_size=3, max_size=9)
bulk_stories = st.lists(happenings.bulk_events, min_size=1, max_size=5)
waiting = st.builds(
    lambda pods, app: [*pods, (*pods[0], Call("label", ("app", app)))],
    st.lists(words.waiting_pods, min_size=1, max_size=2),
    words.apps,
)
"""The last differs from the first in nothing, or in a label."""

mostly_modest = st.lists(words.mostly((2, words.modest_pods), (1, words.waiting_pods)), min_size=1, max_size=3)


def check(
    beginning: Sequence[Event],
    story: Sequence[Event],
    pods: Sequence[Calls],
    configuration: Mapping[str, Any] | None = None,
    plugins: Sequence[Plugin] = (),
    gates: FeatureGates = DEFAULT_GATES,
) -> None:
    """Lets the events happen; before the first and after each, all evaluations of all waiting pods are the same."""
    cluster = Cluster(configuration, plugins, gates)
    waiting = [cluster.pending(words.pod_of(f"waiting-{i}", calls).obj()) for i, calls in enumerate(pods)]
    cluster.evaluated = waiting
    for event in beginning:
        event.happen(cluster)
    agree(cluster, waiting)
    for event in story:
        event.happen(cluster)
        agree(cluster, waiting)


def agree(cluster: Cluster, waiting: Sequence[PodInfo]) -> None:
    fresh = cluster.cycle(scalar=False)
    for pod in waiting:
        expected = cluster.everything(cluster.scalar, pod)
        assert cluster.everything(cluster.columnar, pod) == expected, "kept since the beginning"
        assert cluster.everything(fresh, pod) == expected, "made afresh"
        together = cluster.best_of_all(cluster.columnar, pod)
        if together is not None and "aborted" not in expected:
            assert together["number of feasible nodes"] == expected["number of feasible nodes"]
            assert together["top"] == expected.get("choice", {"top": []})["top"]
    cluster.cache.validate_state()
    cluster.columnar.validate_state()


@examples(30)
@given(beginnings, stories, waiting)
def test_with_the_default_profile(beginning: list[Event], story: list[Event], pods: list[Calls]) -> None:
    check(beginning, story, pods)


@examples(20)
@given(beginnings, stories, waiting)
def test_with_the_default_profile_of_v1_37(beginning: list[Event], story: list[Event], pods: list[Calls]) -> None:
    check(beginning, story, pods, gates=FeatureGates(version="1.37"))


@examples(20)
@given(configurations, beginnings, stories, waiting)
def test_with_other_profiles(
    configuration: Mapping[str, Any], beginning: list[Event], story: list[Event], pods: list[Calls]
) -> None:
    check(beginning, story, pods, configuration)


@examples(10)
@given(beginnings, bulk_stories, waiting)
def test_when_many_nodes_come_and_go(beginning: list[Event], story: list[Event], pods: list[Calls]) -> None:
    check(beginning, story, pods)


@examples(20)
@given(beginnings, stories, waiting)
def test_when_changed_rows_are_evaluated_together(
    beginning: list[Event], story: list[Event], pods: list[Calls]
) -> None:
    with nothing_row_by_row():
        check(beginning, story, pods)


@examples(20)
@given(beginnings, st.lists(happenings.nominating_events, min_size=5, max_size=15), mostly_modest)
def test_when_many_pods_are_nominated(beginning: list[Event], story: list[Event], pods: list[Calls]) -> None:
    with patch("steersman.scheduler.engine.local_filters.MAX_SINGLE_NODES", 0):
        check(beginning, story, pods)


@examples(30)
@given(outsiders, beginnings, stories, waiting)
def test_with_plugins_from_elsewhere(
    plugins: list[Plugin], beginning: list[Event], story: list[Event], pods: list[Calls]
) -> None:
    check(beginning, story, pods, plugins=plugins)


@examples(20)
@given(beginnings, stories, waiting)
def test_when_nothing_unreferenced_is_cached(beginning: list[Event], story: list[Event], pods: list[Calls]) -> None:
    with nothing_to_spare():
        check(beginning, story, pods)


@contextmanager
def nothing_to_spare() -> Iterator[None]:
    """Every bounded table has room for one or two entries, so that nearly everything is freed and made again."""
    tiny = {
        "steersman.framework.pod_info._SPARE_SHAPES": 2,
        "steersman.framework.pod_info._SPARE_TEMPLATES": 2,
        "steersman.framework.columns.StatusTable.MAX_STATUSES": 3,
        "steersman.scheduler.state.node_table._MIN_SPARE": 1,
        "steersman.scheduler.state.node_table._MAX_SPARE": 1,
        "steersman.scheduler.state.node_table._SPARE_TOPOLOGIES": 1,
        "steersman.scheduler.state.label_columns._SPARE_KEYS": 1,
        "steersman.scheduler.state.resource_columns._SPARE_COLUMNS": 1,
        "steersman.scheduler.state.resource_deltas._MAX_SHAPES": 2,
        "steersman.scheduler.state.label_keys._MAX_UNUSED": 0,
        "steersman.scheduler.state.label_classes._MAX_CLASSES_ONE_BY_ONE": 0,
        "steersman.scheduler.state.label_classes._MAX_INDEXED_KEYS": 1,
        "steersman.scheduler.state.term_tables._MAX_DICT_DOMAINS": 1,
        "steersman.scheduler.state.term_tables._MAX_MISSED_TABLES": 1,
        "steersman.scheduler.engine.signatures._MIN_SIGNATURES": 1,
        "steersman.scheduler.engine.signatures._MAX_SIGNATURES": 2,
        "steersman.scheduler.engine.signatures._SPARE_FRAGMENTS": 1,
        "steersman.scheduler.runtime.applicable_calls._MAX_SHAPES": 2,
        "steersman.scheduler.plugins.pod_topology_spread.default_selector._MOST": 2,
    }
    with ExitStack() as stack:
        for name, bound in tiny.items():
            stack.enter_context(patch(name, bound))
        yield


@contextmanager
def nothing_row_by_row() -> Iterator[None]:
    """Even a single changed row goes through the vector operations that are meant for many."""
    with (
        patch("steersman.scheduler.engine.columns.MAX_SINGLE_ROWS", 0),
        patch("steersman.scheduler.engine.row_totals.MAX_SINGLE_ROWS", 0),
    ):
        yield
