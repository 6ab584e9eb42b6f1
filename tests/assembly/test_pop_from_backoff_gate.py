# SPDX-License-Identifier: Apache-2.0
"""The gate SchedulerPopFromBackoffQ reaches the queue: without it, a nominated pod waits its backoff out."""

from __future__ import annotations

import msgspec
import pytest

from steersman import Simulation, api
from steersman.testing import make_node, make_pod

GATE = "SchedulerPopFromBackoffQ"


def bound_at(gates: dict[str, bool]) -> float | None:
    """When a pod got its node for which a victim had to go, which went at once."""
    victim = make_pod("victim").req(cpu="4").priority(0).node("n1").obj()
    gone_at_once = msgspec.structs.replace(victim.spec, termination_grace_period_seconds=0)
    node = make_node("n1").capacity(cpu="4", memory="8Gi", pods=10).obj()
    objects: list[api.Object] = [node, msgspec.structs.replace(victim, spec=gone_at_once)]
    preemptor = make_pod("preemptor").req(cpu="4").priority(10).obj()
    result = Simulation.load(objects, preemptor, gates=gates).run()
    assert [gone.pod for gone in result.preempted] == ["default/victim"]
    return result.placements["default/preemptor"].at


@pytest.mark.parametrize(("gates", "expected"), [({}, 0.0), ({GATE: False}, 1.0)])
def test_a_nominated_pod_is_bound_at_once_or_after_its_backoff(gates: dict[str, bool], expected: float) -> None:
    assert bound_at(gates) == pytest.approx(expected, abs=0.1)
