# SPDX-License-Identifier: Apache-2.0
"""When a pending pod is tried again: its place in the queue, the next attempt, and what would help without anybody's doing.

Pods that terminate give their room back; an autoscaler adds nodes. Both are tried: on a fork without the one, or with the
other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from steersman import api
from steersman.framework.status import Status
from steersman.sim import NodePool, NodePools, Simulation
from steersman.sim.node_costs import pool_of
from steersman.sim.pod_probe import PodProbe
from steersman.sim.queue_place import GATED_QUEUE, QueuePlace, queue_place, terminating_pods
from steersman.why.answer import PoolAnswer, QueuePosition, Waiting

MOST_AHEAD: Final = 5
"""So many of the pods ahead are named."""
NOT_QUEUED: Final = "It is in no queue: nothing but a change of the pod itself has it tried."
GATED: Final = "It is tried when it is not held back any more."
AT_ONCE: Final = "It is tried when those ahead of it have been."
UNKNOWN: Final = (
    "When the cluster's scheduler tries it next cannot be seen from outside. By default it does so at most 10 s after an event "
    "that may help, and in any case after five minutes."
)


def waiting(
    simulation: Simulation, pod: api.Pod, gate: Status | None, pools: NodePools | None, *, is_live: bool
) -> Waiting:
    """When the pod, which has no node, is tried again; with pools, whether one of them would help."""
    place = queue_place(simulation, api.key(pod))
    terminating = terminating_pods(simulation)
    return Waiting(
        queue=None if place is None else _position(place, is_live),
        next_attempt_seconds=None if place is None or is_live else place.latest_attempt,
        next_attempt=_next_attempt(place, gate, is_live),
        terminating=len(terminating),
        node_after_terminating=_node_without(simulation, pod, terminating) if terminating else "",
        pools=None if pools is None else tuple(_pool_answers(simulation, pod, pools)),
    )


def _position(place: QueuePlace, is_live: bool) -> QueuePosition:
    return QueuePosition(
        queue="" if is_live and place.queue != GATED_QUEUE else place.queue,
        position=place.position,
        waiting=place.waiting,
        ahead=place.ahead[:MOST_AHEAD],
        attempts=0 if is_live else place.attempts,
        is_estimate=is_live,
    )


def _next_attempt(place: QueuePlace | None, gate: Status | None, is_live: bool) -> str:
    if gate is not None:
        return GATED
    if is_live:
        return UNKNOWN
    if place is None:
        return NOT_QUEUED
    if place.latest_attempt is None:
        return GATED
    if place.queue == "activeQ":
        return AT_ONCE
    after = f"{place.latest_attempt:g} s"
    if place.queue == "backoffQ":
        return f"It is tried in {after}, when its backoff is over."
    return f"Without an event that may help it is tried in {after}."


def _node_without(simulation: Simulation, pod: api.Pod, gone: list[api.Pod]) -> str:
    with PodProbe(simulation, pod, without=gone) as probe:
        return probe.cycle().explanation.node


def _pool_answers(simulation: Simulation, pod: api.Pod, pools: NodePools) -> Iterator[PoolAnswer]:
    taken = set(simulation.cluster.objects(api.Node))
    counts = _nodes_by_pool(simulation)
    for pool in pools:
        have = counts[pool.name]
        if pool.max is not None and have >= pool.max:
            yield PoolAnswer(pool.name, False, f"it has {have} nodes, which is its maximum")
        else:
            yield _pool_answer(simulation, pod, pool, taken)


def _nodes_by_pool(simulation: Simulation) -> Counter[str]:
    return Counter(map(pool_of, simulation.cluster.objects(api.Node).values()))


def _pool_answer(simulation: Simulation, pod: api.Pod, pool: NodePool, taken: set[str]) -> PoolAnswer:
    """One node of each zone of the pool at a time: the autoscaler may choose."""
    zones = pool.zones or (None,)
    reasons: dict[str, None] = {}
    for number, zone in enumerate(zones):
        free = next(n for n in range(number, number + len(taken) + 1) if pool.node_name(n) not in taken)
        node = pool.make_node(free, zone)
        with PodProbe(simulation, pod, nodes=[node]) as probe:
            explained = probe.cycle().explanation.of(node.metadata.name)
        if explained.fits:
            return PoolAnswer(pool.name, True)
        reasons.update(dict.fromkeys(map(str, explained.verdicts)))
    return PoolAnswer(pool.name, False, "; ".join(reasons))
