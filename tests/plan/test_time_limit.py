# SPDX-License-Identifier: Apache-2.0
"""`plan nodes` under a time limit, on a clock of its own: the best plan so far, always one that was verified."""

from __future__ import annotations

from itertools import count, repeat
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from steersman import Simulation, api
from steersman.plan import node_planning, packing
from steersman.plan.node_planning import CUT, NodePlan, NodePlanning, _with_more
from steersman.plan.packing import NodeKind, Packing, PodClass, PoolRange, greedy_counts
from steersman.plan.packing_model import _most, _sum_of_most
from steersman.plan.pattern_bound import Bound, is_available, pattern_bound
from steersman.plan.time_limit import TimeLimit
from steersman.simulation.node_pools import load_pools
from steersman.testing import make_pod

needs_solver = pytest.mark.skipif(not is_available(), reason="HiGHS is not installed")


class Clock:
    """A clock that advances by a fixed step whenever it is read."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self._step = step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def pods(number: int, cpu: str) -> list[api.Pod]:
    return [make_pod(f"web-{index}-{cpu}").req(cpu=cpu).obj() for index in range(number)]


def plan_within(limit: TimeLimit) -> NodePlan:
    template = {"status": {"allocatable": {"cpu": "4", "memory": "16Gi"}}}
    pools = [{"name": name, "pricePerHour": price, "template": template} for name, price in (("a", 1.0), ("b", 1.1))]
    document = {"apiVersion": "steersman.dev/v1alpha1", "kind": "NodePools", "pools": pools}
    simulation = Simulation.load(*pods(9, "2"), *pods(7, "1"))
    return NodePlanning(simulation, load_pools(document), removes=False, most_trials=100, limit=limit).plan()


def test_a_plan_is_verified_even_if_the_time_limit_passes_before_the_search_begins() -> None:
    found = plan_within(TimeLimit(1.0, Clock(step=10.0)))
    assert found.counts
    assert not found.pending
    assert found.cut_by == CUT
    assert found.full_runs == 1


def test_a_bound_that_takes_all_the_time_leaves_the_plan_that_was_verified_before(monkeypatch: Any) -> None:
    clock = Clock()

    def endless_bound(_: Packing, limit: TimeLimit) -> Bound:
        clock.now += limit.remaining() + 1_000.0
        return Bound(None)

    monkeypatch.setattr(node_planning, "pattern_bound", endless_bound)
    found = plan_within(TimeLimit(60.0, clock))
    assert found.counts
    assert not found.pending
    assert found.bound.lower is None


def test_without_a_time_limit_the_clock_does_not_matter() -> None:
    assert plan_within(TimeLimit(None, Clock(step=10.0))).cut_by == ""


def test_a_part_of_a_limit_passes_before_the_limit() -> None:
    clock = Clock()
    limit = TimeLimit(10.0, clock)
    part = limit.part(0.5)
    clock.now = 6.0
    assert part.is_over()
    assert not limit.is_over()
    assert limit.remaining() == 4.0
    assert TimeLimit().part(0.5).remaining() == float("inf")


def a_packing() -> Packing:
    sizes = [1300, 1700, 2300, 3100, 3700]
    classes = tuple(PodClass((size, 1), 40 + size // 100) for size in sizes)
    kinds = tuple(
        NodeKind(pool=f"p{index}", price=price, capacity=(cpu, 110), classes=frozenset(range(len(sizes))))
        for index, (price, cpu) in enumerate([(1.0, 8000), (1.7, 15000)])
    )
    return Packing(("cpu", "pods"), classes, kinds, pools={kind.pool: PoolRange() for kind in kinds})


@needs_solver
def test_a_bound_that_the_time_limit_ends_is_lower_than_the_whole_one_and_proven() -> None:
    whole = pattern_bound(a_packing())
    cut = pattern_bound(a_packing(), TimeLimit(1000.0, Clock(step=40.0)))
    assert whole.lower is not None
    assert cut.lower is not None
    assert 0 < cut.lower <= whole.lower
    assert 0 < cut.rounds < whole.rounds
    assert cut.counts


@needs_solver
def test_a_bound_without_any_time_is_none() -> None:
    assert pattern_bound(a_packing(), TimeLimit(1.0, Clock(step=10.0))) == Bound(None)


def test_nodes_for_many_equal_pods_are_added_in_groups(monkeypatch: Any) -> None:
    problem = a_packing()
    calls = count()
    filling = packing._filling

    def counted(*arguments: Any) -> dict[int, int]:
        next(calls)
        return filling(*arguments)

    monkeypatch.setattr(packing, "_filling", counted)
    many = dict.fromkeys(range(len(problem.classes)), 4_000)
    added = greedy_counts(problem, many, {})
    assert sum(added.values()) > 3_000
    assert next(calls) < 100


def test_a_step_multiplies_the_added_nodes_where_the_pools_allow_it() -> None:
    problem = a_packing()
    one = _with_more(problem, {"p0": 5, "p1": 2}, {0: 1}, 1)
    added = {pool: one[pool] - count for pool, count in (("p0", 5), ("p1", 2))}
    assert sum(added.values()) == 1
    four = _with_more(problem, {"p0": 5, "p1": 2}, {0: 1}, 4)
    assert four == {"p0": 5 + 4 * added["p0"], "p1": 2 + 4 * added["p1"]}
    limited = msgspec.structs.replace(problem, pools={"p0": PoolRange(most=6), "p1": PoolRange(most=3)})
    assert _with_more(limited, {"p0": 5, "p1": 2}, {0: 1}, 4) == one


@given(
    st.lists(st.tuples(*repeat(st.integers(0, 10**12), 3)), min_size=1, max_size=6),
    st.tuples(*repeat(st.integers(0, 10**9), 3)),
)
def test_the_pods_that_fit_are_the_same_room_by_room_and_for_all_rooms_at_once(
    rooms: list[tuple[int, ...]], amounts: tuple[int, ...]
) -> None:
    assert _sum_of_most(np.array(rooms), amounts) == sum(_most(room, amounts) for room in rooms)
