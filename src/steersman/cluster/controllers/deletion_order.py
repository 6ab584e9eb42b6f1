# SPDX-License-Identifier: Apache-2.0
"""Order in which surplus pods of a ReplicaSet are deleted.

Unbound pods before bound ones, pending before running, unready before ready; then lower deletion
cost, more pods of the same Deployment on the node, shorter ready time, more restarts, lower age.
Times are compared by order of magnitude; within one, the uid decides, so that it is not always the
youngest that is deleted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Final, NamedTuple

from steersman.api import Pod, timestamps
from steersman.cluster.controllers.pod_states import is_active, is_ready, ready_since

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_MAX_COST: Final = 11
_NANOSECONDS: Final = 1e9


class _Candidate(NamedTuple):
    pod: Pod
    #: Sort key that precedes times; lower is deleted first.
    rank: tuple[bool, int, bool, int, int]
    ready_since: float | None
    restarts: tuple[int, int]
    created: float | None


def pods_to_delete(pods: Iterable[Pod], family: Iterable[Pod], count: int, now: float) -> list[Pod]:
    """Return `count` pods to delete; `family` are all pods of the same Deployment."""
    pods = list(pods)
    if count >= len(pods):
        return pods
    on_node = Counter(pod.spec.node_name for pod in family if is_active(pod))
    candidates = [_candidate(pod, on_node[pod.spec.node_name]) for pod in pods]
    candidates.sort(key=cmp_to_key(_order(now)))
    return [candidate.pod for candidate in candidates[:count]]


def _candidate(pod: Pod, neighbours: int) -> _Candidate:
    ready = is_ready(pod)
    phase = _PHASES.get(pod.status.phase, 0)
    rank = (bool(pod.spec.node_name), phase, ready, deletion_cost(pod), -neighbours)
    since = ready_since(pod) if ready else None
    created = pod.metadata.creation_timestamp
    return _Candidate(
        pod,
        rank,
        timestamps.parse(since) if since else None,
        _restarts(pod),
        timestamps.parse(created) if created else None,
    )


def _order(now: float) -> Callable[[_Candidate, _Candidate], int]:
    def compare(one: _Candidate, other: _Candidate) -> int:
        if one.rank != other.rank:
            return -1 if one.rank < other.rank else 1
        if one.rank[2] and one.ready_since != other.ready_since:
            return _younger_first(one, other, one.ready_since, other.ready_since, now)
        if one.restarts != other.restarts:
            return -1 if one.restarts > other.restarts else 1
        if one.created != other.created:
            return _younger_first(one, other, one.created, other.created, now)
        return 0

    return compare


def _younger_first(
    one: _Candidate, other: _Candidate, one_time: float | None, other_time: float | None, now: float
) -> int:
    """Compare two different times; None is unknown."""
    if one_time is None or other_time is None:
        return -1 if one_time is None else 1
    difference = _magnitude(now - one_time) - _magnitude(now - other_time)
    if difference:
        return -1 if difference < 0 else 1
    return -1 if one.pod.metadata.uid < other.pod.metadata.uid else 1


def _magnitude(seconds: float) -> int:
    return int(math.log2(seconds * _NANOSECONDS)) if seconds > 0 else -1


def deletion_cost(pod: Pod) -> int:
    """Return the annotated deletion cost; 0 unless it is a canonical 32-bit integer."""
    text = pod.metadata.annotations.get(DELETION_COST, "")
    if not text or len(text) > _MAX_COST or not text.lstrip("-").isdecimal() or not text.isascii():
        return 0
    digits = text.removeprefix("-")
    is_canonical = digits.isdecimal() and (digits == "0" or not digits.startswith("0")) and text != "-0"
    number = int(text) if is_canonical else 0
    return number if -(2**31) <= number < 2**31 else 0


def _restarts(pod: Pod) -> tuple[int, int]:
    """Return the highest restart counts of main containers and of sidecars."""
    statuses = pod.status
    if not statuses.container_statuses and not statuses.init_container_statuses:
        return (0, 0)
    sidecars = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    regular = max((status.restart_count for status in statuses.container_statuses), default=0)
    sidecar = (status.restart_count for status in statuses.init_container_statuses if status.name in sidecars)
    return (regular, max(sidecar, default=0))
