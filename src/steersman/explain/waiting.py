# SPDX-License-Identifier: Apache-2.0
"""Computes when a pending pod is tried again: its queue position, the next attempt, and which
expected changes would help.

The effects of terminating pods and of an autoscaler are tried on forks: one without the terminating
pods, one per pool with an additional node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from steersman import api
from steersman.base import counted
from steersman.explain.document import PoolAnswer, QueuePosition, Waiting
from steersman.framework import Status
from steersman.simulation import (
    GATED_QUEUE,
    NodePool,
    NodePools,
    PodProbe,
    QueuePlace,
    Simulation,
    find_queue_place,
    pool_of,
    terminating_pods,
)

MAX_AHEAD: Final = 5
"""Maximum number of pods ahead that are named."""
NOT_QUEUED: Final = "The pod is in no queue: only a change of the pod itself leads to an attempt."
GATED: Final = "The pod is tried as soon as it is no longer held back."
IN_QUEUE_ORDER: Final = "The pod is tried after those ahead of it."
CHOSEN: Final = "The pod needs no other attempt, unless a plugin or the binding fails."
UNKNOWN: Final = (
    "The next attempt of the cluster's scheduler is not visible. By default it is at most 10 s after an event that may help, "
    "and at most five minutes after the last attempt."
)


def waiting(
    simulation: Simulation,
    pod: api.Pod,
    gate: Status | None,
    pools: NodePools | None,
    other_schedulers: Collection[str] = (),
    *,
    is_live: bool,
    is_assumed: bool = False,
) -> Waiting:
    """Return when a pod without a node is tried again, and whether terminating pods or one of the
    pools would help."""
    place = find_queue_place(simulation, api.key(pod), other_schedulers)
    terminating = terminating_pods(simulation)
    return Waiting(
        queue=None if place is None else _position(place, is_live),
        next_attempt_seconds=None if place is None or is_live else place.latest_attempt,
        next_attempt=_next_attempt(place, gate, is_live, is_assumed),
        terminating=len(terminating),
        node_after_terminating=_node_without(simulation, pod, terminating) if terminating else "",
        pools=None if pools is None else tuple(_pool_answers(simulation, pod, pools)),
    )


def _position(place: QueuePlace, is_live: bool) -> QueuePosition:
    return QueuePosition(
        queue="" if is_live and place.queue != GATED_QUEUE else place.queue,
        position=place.position,
        waiting=place.waiting,
        ahead=place.ahead[:MAX_AHEAD],
        attempts=0 if is_live else place.attempts,
        is_estimate=is_live,
    )


def _next_attempt(place: QueuePlace | None, gate: Status | None, is_live: bool, is_assumed: bool) -> str:
    if gate is not None:
        return GATED
    if is_live:
        return UNKNOWN
    if place is None:
        return CHOSEN if is_assumed else NOT_QUEUED
    if place.latest_attempt is None:
        return GATED
    if place.queue == "activeQ":
        return IN_QUEUE_ORDER
    after = f"{place.latest_attempt:g} s"
    if place.queue == "backoffQ":
        return f"The pod is tried in {after}, at the end of its backoff."
    return f"The pod is tried in {after}, or earlier if an event may help."


def _node_without(simulation: Simulation, pod: api.Pod, gone: list[api.Pod]) -> str:
    with PodProbe(simulation, pod, without=gone) as probe:
        return probe.cycle().explanation.node


def _pool_answers(simulation: Simulation, pod: api.Pod, pools: NodePools) -> Iterator[PoolAnswer]:
    taken = set(simulation.cluster.objects(api.Node))
    counts = _nodes_by_pool(simulation)
    for pool in pools:
        have = counts[pool.name]
        if pool.max is not None and have >= pool.max:
            yield PoolAnswer(pool.name, False, f"the pool has {counted(have, 'node')}, its maximum")
        else:
            yield _pool_answer(simulation, pod, pool, taken)


def _nodes_by_pool(simulation: Simulation) -> Counter[str]:
    return Counter(map(pool_of, simulation.cluster.objects(api.Node).values()))


def _pool_answer(simulation: Simulation, pod: api.Pod, pool: NodePool, taken: set[str]) -> PoolAnswer:
    """Try one node in each zone of the pool: the autoscaler may choose the zone."""
    zones = pool.zones or (None,)
    reasons: dict[str, None] = {}
    for number, zone in enumerate(zones):
        free = next(n for n in range(number, number + len(taken) + 1) if pool.node_name(n) not in taken)
        node = pool.make_node(free, zone)
        with PodProbe(simulation, pod, nodes=[node]) as probe:
            explained = probe.cycle().explanation.node_explanation(node.metadata.name)
        if explained.fits:
            return PoolAnswer(pool.name, True)
        reasons.update(dict.fromkeys(map(str, explained.verdicts)))
    return PoolAnswer(pool.name, False, "; ".join(reasons))
