# SPDX-License-Identifier: Apache-2.0
"""The same input and seed give the same result, to the byte."""

from __future__ import annotations

import msgspec
from tests.simulation.clusters import ZONE, a_node, a_pod

from steersman import api
from steersman.simulation import Simulation


def cluster() -> list[api.Object]:
    nodes = [a_node(f"n{index}", zone=f"zone-{index % 3}").obj() for index in range(9)]
    spread = [
        a_pod(f"web-{index}").label("app", "web").spread(ZONE, max_skew=1, selector={"app": "web"}).obj()
        for index in range(20)
    ]
    return [*nodes, *spread, *(a_pod(f"job-{index}", cpu="500m").obj() for index in range(20))]


def outcome(seed: int) -> bytes:
    result = Simulation.load(cluster(), seed=seed).run(until=400)
    return msgspec.json.encode((result.to_dict(), list(result.events), result.explain("web-7").to_dict()))


def test_equal_seeds_give_byte_identical_results() -> None:
    assert outcome(seed=3) == outcome(seed=3)


def test_other_seeds_decide_otherwise_among_equals() -> None:
    assert len({outcome(seed) for seed in range(4)}) > 1
