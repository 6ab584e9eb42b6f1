# SPDX-License-Identifier: Apache-2.0
"""Vector and scalar forms of the volume plugins say the same, whatever has happened."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.volume_columns.stories import EVENTS, Event, begun, pods

from steersman.testing import PodBuilder


@examples(60)
@given(st.lists(st.tuples(EVENTS, pods()), max_size=25))
def test_engines_agree_after_every_event(story: list[tuple[Event, PodBuilder]]) -> None:
    told = begun()
    for event, pod in story:
        event(told)
        cluster, info = told.cluster, told.cluster.pending(pod.obj())
        assert cluster.everything(cluster.columnar, info) == cluster.everything(cluster.scalar, info)


@examples(60)
@given(st.lists(EVENTS, max_size=40), st.lists(pods(), min_size=1, max_size=4))
def test_kernels_that_slept_through_many_events_catch_up(events: list[Event], wanted: list[PodBuilder]) -> None:
    told = begun()
    cluster = told.cluster
    infos = [cluster.pending(pod.obj()) for pod in wanted]
    for info in infos:
        cluster.everything(cluster.columnar, info)
    for event in events:
        event(told)
    for info in infos:
        assert cluster.everything(cluster.columnar, info) == cluster.everything(cluster.scalar, info)
