"""The columnar engine says exactly what the scalar one says, whatever happened before, and whatever it has kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from tests.equivalence import events as happenings
from tests.equivalence import vocabulary as words
from tests.equivalence.cluster import Cluster
from tests.equivalence.events import Event
from tests.equivalence.examples import examples
from tests.equivalence.profiles import configurations
from tests.equivalence.vocabulary import Calls

waiting = st.lists(words.waiting_pods, min_size=1, max_size=3)
start = st.lists(happenings.node_events, min_size=2, max_size=5)


def check(configuration: Mapping[str, Any] | None, story: Sequence[Event], pods: Sequence[Calls]) -> None:
    cluster = Cluster(configuration)
    waiting = [cluster.pending(words.pod_of(f"waiting-{i}", calls).obj()) for i, calls in enumerate(pods)]
    for event in story:
        event.happen(cluster)
        fresh = cluster.cycle(scalar=False)
        for pod in waiting:
            expected = cluster.everything(cluster.scalar, pod)
            assert cluster.everything(cluster.columnar, pod) == expected, "kept since the beginning"
            assert cluster.everything(fresh, pod) == expected, "made afresh"
        cluster.cache.validate_state()


@examples(60)
@given(start, st.lists(happenings.events, max_size=14), waiting)
def test_with_the_default_profile(nodes: list[Event], story: list[Event], pods: list[Calls]) -> None:
    check(None, [*nodes, *story], pods)


@examples(40)
@given(configurations, start, st.lists(happenings.events, max_size=10), waiting)
def test_with_other_profiles(
    configuration: Mapping[str, Any], nodes: list[Event], story: list[Event], pods: list[Calls]
) -> None:
    check(configuration, [*nodes, *story], pods)


@examples(15)
@given(start, st.lists(happenings.bulk_events, max_size=6), waiting)
def test_when_many_nodes_come_and_go(nodes: list[Event], story: list[Event], pods: list[Calls]) -> None:
    check(None, [*nodes, *story], pods)


@examples(25)
@given(start, st.lists(happenings.events, max_size=10), waiting)
def test_when_changed_rows_are_evaluated_together(nodes: list[Event], story: list[Event], pods: list[Calls]) -> None:
    with nothing_row_by_row():
        check(None, [*nodes, *story], pods)


@contextmanager
def nothing_row_by_row() -> Iterator[None]:
    """Even a single changed row goes through the vector operations that are meant for many."""
    with patch("steersman.state.fragment_columns.FEW", 0), patch("steersman.state.signature.FEW", 0):
        yield
