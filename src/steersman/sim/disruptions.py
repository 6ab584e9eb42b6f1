# SPDX-License-Identifier: Apache-2.0
"""Facts about disruptions that a simulation knows beyond its result: the rounds of drains, and which plugins hold a pod back.

`plan drain`, `plan lose` and `plan taint` ask this of the fork that they have disrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.kubelets.drain import DrainRound
from steersman.sim.simulation import Simulation


def drain_rounds(simulation: Simulation, node: str) -> Sequence[DrainRound]:
    """The rounds of the node's latest drain so far; none if it was not drained."""
    drain = simulation._driver.drains.get(node)
    return () if drain is None else tuple(drain.rounds)


def rejecting_plugins(simulation: Simulation, pod: str) -> frozenset[str]:
    """The plugins because of which the pod `namespace/name` is pending, by its last attempt."""
    queued = simulation._driver.scheduler.queue.get(pod)
    return frozenset() if queued is None else frozenset(queued.unschedulable_plugins)
