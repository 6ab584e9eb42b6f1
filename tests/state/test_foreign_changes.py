# SPDX-License-Identifier: Apache-2.0
"""A node that has lost room for a reason that was not decided here is told by `Cache.external_changes`."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples

from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import make_node, make_pod

OWN = make_pod("own").uid("own").req(cpu="1").obj()
steps = st.tuples(st.sampled_from(("other", "gone", "node", "own")), st.integers(0, 2), st.integers(0, 4))


def happen(cache: Cache, present: set[str], what: str, index: int, amount: int) -> None:
    """A pod of others comes, changes or goes; the node changes; the watch shows the own pod again."""
    pod = (
        make_pod(f"other-{index}")
        .uid(f"other-{index}")
        .req(cpu=str(amount))
        .label("step", str(amount))
        .node("n1")
        .obj()
    )
    if what == "other" and pod.metadata.uid in present:
        cache.update_pod(pod)
    elif what == "other":
        present.add(pod.metadata.uid)
        cache.add_pod(pod)
    elif what == "gone" and pod.metadata.uid in present:
        present.discard(pod.metadata.uid)
        cache.remove_pod(pod)
    elif what == "node":
        cache.set_node(make_node("n1").capacity(cpu=str(1 + amount), memory="4Gi", pods=str(1 + index)).obj())
    elif what == "own" and cache.is_assumed("own"):
        cache.add_pod(make_pod("own").uid("own").req(cpu="1").node("n1").label("zone", "a").obj())


@examples(60)
@given(st.lists(steps, max_size=20))
def test_no_room_is_lost_without_a_word(story: list[tuple[str, int, int]]) -> None:
    cache = Cache(ObjectStore())
    cache.set_node(make_node("n1").capacity(cpu="4", memory="4Gi", pods="4").obj())
    own = cache.shapes.info(OWN)
    cache.assume(own, "n1")
    present: set[str] = set()
    for what, index, amount in story:
        had_room, changes = cache.has_room_for(own, "n1"), cache.external_changes
        happen(cache, present, what, index, amount)
        if had_room and not cache.has_room_for(own, "n1"):
            assert cache.external_changes != changes


def test_confirming_what_was_decided_here_is_no_foreign_change() -> None:
    cache = Cache(ObjectStore())
    cache.set_node(make_node("n1").capacity(cpu="4", memory="4Gi").obj())
    before = cache.external_changes
    cache.assume(cache.shapes.info(OWN), "n1")
    happen(cache, set(), "own", 0, 0)
    assert cache.external_changes == before
