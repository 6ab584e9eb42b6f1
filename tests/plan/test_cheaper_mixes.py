# SPDX-License-Identifier: Apache-2.0
"""The search over numbers of nodes leaves local optima while it has trials left."""

from __future__ import annotations

from itertools import product

from steersman.plan.node_search import Counts, PoolSizeSearch
from steersman.plan.packing import NodeKind, Packing, PodClass, PoolRange

PRICES = {"small": 0.19, "cpu": 0.53, "memory": 0.71}
CAPACITIES = {"small": (2, 4), "cpu": (8, 8), "memory": (4, 32)}
ASKED = (15, 50)


def _packing() -> Packing:
    kinds = tuple(NodeKind(name, PRICES[name], CAPACITIES[name], frozenset({0, 1})) for name in PRICES)
    return Packing(
        ("cpu", "memory"),
        (PodClass((1, 1), 15), PodClass((0, 1), 35)),
        kinds,
        pools={name: PoolRange() for name in PRICES},
    )


def _has_room(counts: Counts) -> bool:
    sums = [sum(CAPACITIES[name][index] * count for name, count in counts.items()) for index in range(2)]
    return all(has >= asks for has, asks in zip(sums, ASKED, strict=True))


def test_the_cheapest_mix_is_found_where_swaps_of_two_pools_end() -> None:
    search = PoolSizeSearch(_packing(), lambda counts, _: {} if _has_room(counts) else {0: 1}, 100)
    start = {"small": 13, "cpu": 0, "memory": 0}
    swapped = search.swap(search.shrink(start))
    cost = search.cost(search.try_cheaper_mixes(swapped))
    mixes = (dict(zip(PRICES, numbers, strict=True)) for numbers in product(range(14), repeat=3))
    best = min(search.cost(mix) for mix in mixes if _has_room(mix))
    assert cost == best
    assert cost < search.cost(swapped)
    assert search.trials <= 100


def test_nothing_below_the_bound_is_tried() -> None:
    search = PoolSizeSearch(_packing(), lambda counts, _: {0: 1}, 100, least_cost=2.5)
    search.try_cheaper_mixes({"small": 13, "cpu": 0, "memory": 0})
    assert search.trials == 0
