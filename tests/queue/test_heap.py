# SPDX-License-Identifier: Apache-2.0
"""The heap of queued pods behaves like a sorted list."""

from __future__ import annotations

from hypothesis import given, strategies as st

from steersman.scheduler.plugins.priority_sort import PrioritySort
from steersman.scheduler.queue.heap import QueuedPodHeap, SortKey
from steersman.scheduler.queue.queued_pod import QueuedPodInfo
from steersman.testing import make_pod

NAMES = st.sampled_from("abcdefgh")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), NAMES, st.integers(0, 2), st.integers(0, 20)),
        st.tuples(st.just("remove"), NAMES),
        st.tuples(st.just("pop")),
        st.tuples(st.just("reprioritise"), NAMES, st.integers(0, 2)),
    ),
    max_size=300,
)


def by_timestamp(queued: QueuedPodInfo) -> tuple[int]:
    return (queued.timestamp,)


@given(STEPS, st.sampled_from([PrioritySort().sort_key, by_timestamp]))
def test_it_gives_out_pods_in_order_whatever_comes_and_goes(steps: list[tuple[object, ...]], sort_key: SortKey) -> None:
    heap = QueuedPodHeap(sort_key)
    model: dict[str, QueuedPodInfo] = {}
    for serial, step in enumerate(steps):
        match step:
            case ("add", str(name), int(priority), int(timestamp)):
                queued = QueuedPodInfo(make_pod(name).priority(priority).obj(), timestamp, serial)
                heap.add(queued)
                model[queued.key] = queued
            case ("remove", str(name)):
                assert heap.remove(f"default/{name}") is model.pop(f"default/{name}", None)
            case ("reprioritise", str(name), int(priority)) if f"default/{name}" in model:
                queued = model[f"default/{name}"]
                queued.replace_pod(make_pod(name).priority(priority).obj())
                heap.add(queued)
            case ("pop",):
                first = min(model.values(), key=lambda pod: (sort_key(pod), pod.serial), default=None)
                assert heap.peek() is first
                assert heap.pop() is first
                if first is not None:
                    del model[first.key]
        in_order = sorted(model.values(), key=lambda pod: (sort_key(pod), pod.serial))
        for most in (1, 3, 100):
            leading = list(heap.leading(most))
            assert leading == in_order[: len(leading)]
            assert len(leading) <= most
            assert bool(leading) == bool(model)
        assert list(heap.problems()) == []
        assert {queued.key: queued for queued in heap} == model
    assert heap.ordered() == sorted(model.values(), key=lambda pod: (sort_key(pod), pod.serial))


def test_pods_in_the_order_of_their_arrival_lead_together() -> None:
    heap = QueuedPodHeap(PrioritySort().sort_key)
    pods = [QueuedPodInfo(make_pod(f"p{serial}").priority(serial < 4).obj(), serial, serial) for serial in range(9)]
    for queued in pods:
        heap.add(queued)
    assert list(heap.leading(100)) == pods[:4], "as far as the others of their priority go"
    assert list(heap.leading(3)) == pods[:3]
    assert len(heap) == 9


def test_deleted_pods_do_not_pile_up() -> None:
    heap = QueuedPodHeap(PrioritySort().sort_key)
    for serial in range(2000):
        queued = QueuedPodInfo(make_pod(f"p{serial}").obj(), serial, serial)
        heap.add(queued)
        heap.remove(queued.key)

    assert len(heap) == 0
    assert heap._stored < 100
