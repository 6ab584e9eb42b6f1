# SPDX-License-Identifier: Apache-2.0
"""Draining of a node as by `kubectl drain`: cordons the node and evicts its pods as budgets allow.

`drain` is one round; `NodeDrain` repeats rounds until the node is empty.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from steersman.api import FINISHED_PHASES, Node, Pod, key
from steersman.cluster.store import NotFound, StatusError, Store, Timers, TooManyRequests, evict

ROUND_SECONDS: Final = 5.0
"""Delay before kubectl retries a rejected eviction."""
MIRROR_POD: Final = "kubernetes.io/config.mirror"

_replace = msgspec.structs.replace


class DrainRound(NamedTuple):
    """Results of a round of evictions by pod key."""

    evicted: tuple[str, ...]
    #: Pods that cannot be evicted now, and why.
    refused: dict[str, str]
    #: Pods whose eviction began earlier.
    terminating: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        return not (self.evicted or self.refused or self.terminating)


def cordon(store: Store, node: str) -> None:
    """Make the node unschedulable. Raises `NotFound`."""
    current = store.get(Node, node)
    if not current.spec.unschedulable:
        store.rewrite(current, _replace(current, spec=_replace(current.spec, unschedulable=True)))


def uncordon(store: Store, node: str) -> None:
    """Make the node schedulable. Raises `NotFound`."""
    current = store.get(Node, node)
    if current.spec.unschedulable:
        store.rewrite(current, _replace(current, spec=_replace(current.spec, unschedulable=False)))


def drain(store: Store, node: str, *, grace_period_seconds: int | None = None) -> DrainRound:
    """Cordon the node, evict its pods once, and return the results. Raises `NotFound`.

    Pods of DaemonSets, which ignore the cordon, and static pods stay. The grace period defaults to
    the pods' own.
    """
    cordon(store, node)
    evicted: list[str] = []
    refused: dict[str, str] = {}
    terminating: list[str] = []
    for pod in [pod for pod in store.objects(Pod).values() if pod.spec.node_name == node and _is_to_go(pod)]:
        name = key(pod)
        if pod.metadata.deletion_timestamp is not None:
            terminating.append(name)
            continue
        try:
            evict(store, name, grace_period_seconds=grace_period_seconds, uid=pod.metadata.uid)
            evicted.append(name)
        except TooManyRequests as refusal:
            refused[name] = refusal.message
        except NotFound:
            continue
        except StatusError as refusal:
            refused[name] = refusal.message
    return DrainRound(tuple(evicted), refused, tuple(terminating))


class NodeDrain:
    """Repeated rounds until all pods are evicted, or the node is deleted or uncordoned."""

    def __init__(self, store: Store, timers: Timers, node: str, *, grace_period_seconds: int | None = None) -> None:
        self._store = store
        self._timers = timers
        self._node = node
        self._grace_period_seconds = grace_period_seconds
        #: Results of all rounds.
        self.rounds = [drain(store, node, grace_period_seconds=grace_period_seconds)]
        self._go_on()

    @property
    def last(self) -> DrainRound:
        return self.rounds[-1]

    def _round(self) -> None:
        node = self._store.find(Node, self._node)
        if node is not None and node.spec.unschedulable:
            self.rounds.append(drain(self._store, self._node, grace_period_seconds=self._grace_period_seconds))
            self._go_on()

    def _go_on(self) -> None:
        """Retry in the background, because budgets may never allow the remaining evictions."""
        if not self.last.is_over:
            moment = self._store.clock.monotonic() + ROUND_SECONDS
            self._timers.call_at(moment, self._round, is_background=not (self.last.evicted or self.last.terminating))


def _is_to_go(pod: Pod) -> bool:
    owners = pod.metadata.owner_references
    if pod.status.phase in FINISHED_PHASES:
        return True
    return MIRROR_POD not in pod.metadata.annotations and not any(
        owner.kind == "DaemonSet" and owner.controller for owner in owners
    )
