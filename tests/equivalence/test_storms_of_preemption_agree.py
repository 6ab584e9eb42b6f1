# SPDX-License-Identifier: Apache-2.0
"""Preemptors that are found by their victims are tried as if all of them were looked at whenever a pod goes."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples

from steersman import Simulation, api
from steersman.scheduler.assembly import construction
from steersman.scheduler.assembly.pending_pods import PreEnqueueStep
from steersman.testing import make_node, make_pod


def storm(seed: int) -> list[api.Object]:
    """Full nodes, and preemptors of several priorities, some of which find no victims; pods end at different times."""
    rng = random.Random(seed)
    objects: list[api.Object] = []
    for node in range(rng.randint(2, 6)):
        objects.append(make_node(f"n{node}").capacity(cpu="4", pods=20).obj())
        for number in range(4):
            pod = make_pod(f"on-{node}-{number}").node(f"n{node}").req(cpu="1").priority(rng.choice((0, 5, 10)))
            objects.append(with_grace_period(pod.phase("Running").obj(), rng.choice((0, 5, 30))))
    for number in range(rng.randint(1, 12)):
        pod = make_pod(f"important-{number}").req(cpu=str(rng.randint(1, 3))).priority(rng.choice((7, 50, 100)))
        objects.append(pod.obj())
    return objects


def with_grace_period(pod: api.Pod, seconds: int) -> api.Pod:
    spec = msgspec.structs.replace(pod.spec, termination_grace_period_seconds=seconds)
    return msgspec.structs.replace(pod, spec=spec)


@examples(25)
@given(st.integers(0, 1 << 30))
def test_placements_victims_and_attempts_are_the_same(seed: int) -> None:
    indexed = Simulation.load(*storm(seed), seed=1).run(until=600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            construction,
            "pre_enqueue_step",
            lambda call, info: PreEnqueueStep(call.name, call.run, info),
        )
        plain = Simulation.load(*storm(seed), seed=1).run(until=600)
    assert indexed.preempted == plain.preempted
    assert indexed.placements == plain.placements
