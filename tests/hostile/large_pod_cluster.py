# SPDX-License-Identifier: Apache-2.0
"""A cluster that large pods arrive in: nodes in three zones, two running pods with labels of their own on each."""

from __future__ import annotations

import json

from tests.hostile.large_pods import HOST, ZONE, large_pod

from steersman.scheduler.cycle.decision import Decision
from steersman.testing import Harness, make_node, make_pod


def cluster(nodes: int) -> Harness:
    harness = Harness()
    for index in range(nodes):
        node = make_node(f"n-{index}").capacity(cpu="32", memory="128Gi", pods=110)
        labels = {HOST: f"n-{index}", ZONE: f"z-{index % 3}", "number": str(index)}
        harness.add(node.labels({**labels, **{f"key-{key}": f"v-{index}" for key in range(5)}}))
    for index in range(2 * nodes):
        pod = make_pod(f"running-{index}").label("app", f"app-{index}").req(cpu="100m")
        harness.add(pod.node(f"n-{index % nodes}"))
    schedule_plain_pod(harness, "first")
    return harness


def add_large_pod(harness: Harness, kind: str, size: int, *, priority: int = 0) -> None:
    # The text, and not the object, is what a scheduler receives.
    harness.add(json.loads(json.dumps(large_pod(kind, size, priority=priority))))


def schedule_plain_pod(harness: Harness, name: str) -> list[Decision]:
    """Add a plain pod and schedule it behind everything that waits."""
    harness.add(make_pod(name).req(cpu="1"))
    return harness.advance(0.001)
