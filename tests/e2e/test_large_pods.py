# SPDX-License-Identifier: Apache-2.0
"""A large pod delays a plain pod behind it by little: CPU time on 300 nodes, for every kind of term."""

from __future__ import annotations

import time

import pytest
from tests.hostile.large_pod_cluster import add_large_pod, cluster, schedule_plain_pod
from tests.hostile.large_pods import KINDS

from steersman import api
from steersman.scheduler.cycle.decision import Scheduled
from steersman.testing import Harness

NODES = 300
SIZE = 350_000
#: Seconds of CPU time.
MOST = 2.0


@pytest.fixture(scope="module")
def harness() -> Harness:
    return cluster(NODES)


@pytest.mark.parametrize("priority", [0, 10], ids=["equal priority", "higher priority"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_pod_behind_a_large_one_is_bound_soon(harness: Harness, kind: str, priority: int) -> None:
    before = time.process_time()
    add_large_pod(harness, kind, SIZE, priority=priority)
    decisions = schedule_plain_pod(harness, "plain")
    seconds = time.process_time() - before
    for name in ("large", "plain"):
        harness.delete(harness.cluster.get(api.Pod, f"default/{name}"))
    harness.advance(0.001)
    assert any(isinstance(decision, Scheduled) and decision.pod.name == "plain" for decision in decisions)
    assert seconds < MOST
