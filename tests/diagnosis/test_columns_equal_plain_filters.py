# SPDX-License-Identifier: Apache-2.0
"""Explanations that read objections off kernels are those for which every filter was asked about every node."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, strategies as st
from tests.equivalence import events as happenings, vocabulary as words
from tests.equivalence.cluster import PROFILE, Cluster
from tests.equivalence.events import Event, beginnings
from tests.equivalence.examples import examples
from tests.equivalence.outsiders import outsiders
from tests.equivalence.vocabulary import Calls
from tests.plugins.volume_columns import stories as storage

from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import CycleAborted
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.diagnosis import Explanation, explain
from steersman.testing import PodBuilder

pods = st.lists(words.waiting_pods, min_size=1, max_size=2)


def _explained(cluster: Cluster, cycle: SchedulingCycle, pod: PodInfo) -> Explanation | str:
    """The explanation; the message of a plugin that breaks."""
    profile, table = cluster.profiles[PROFILE], cluster.cache.nodes
    nodes = [table.info(row) for row in table.live_rows()]
    try:
        return explain(profile, pod, cycle.evaluate(profile, pod), nodes)
    except CycleAborted as abort:
        return abort.status.message


def _check(
    beginning: Sequence[Event], story: Sequence[Event], waiting: Sequence[Calls], plugins: Sequence[Plugin]
) -> None:
    cluster = Cluster(None, plugins)
    infos = [cluster.pending(words.pod_of(f"waiting-{i}", calls).obj()) for i, calls in enumerate(waiting)]
    cluster.evaluated = infos
    for event in (*beginning, *story):
        event.happen(cluster)
    for pod in infos:
        assert _explained(cluster, cluster.columnar, pod) == _explained(cluster, cluster.scalar, pod)


@examples(60)
@given(beginnings, st.lists(happenings.events, max_size=6), pods)
def test_with_the_plugins_of_the_tree(beginning: list[Event], story: list[Event], waiting: list[Calls]) -> None:
    _check(beginning, story, waiting, ())


@examples(40)
@given(beginnings, st.lists(happenings.events, max_size=6), pods, outsiders)
def test_with_plugins_of_others(
    beginning: list[Event], story: list[Event], waiting: list[Calls], plugins: list[Plugin]
) -> None:
    _check(beginning, story, waiting, plugins)


@examples(40)
@given(st.lists(storage.EVENTS, max_size=25), storage.pods())
def test_with_volumes(story: list[storage.Event], pod: PodBuilder) -> None:
    told = storage.begun()
    for event in story:
        event(told)
    cluster, info = told.cluster, told.cluster.pending(pod.obj())
    assert _explained(cluster, cluster.columnar, info) == _explained(cluster, cluster.scalar, info)
