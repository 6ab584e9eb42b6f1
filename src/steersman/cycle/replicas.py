# SPDX-License-Identifier: Apache-2.0
"""Replicas, placed one after the other without what would be the same for each of them.

A signature that is complete answers for every pod of its template: there is nothing to merge, nobody to ask, nothing to
keep for a report. What is left of a cycle is to bring the signature up to date, to choose, and to assume. `schedule_one`
is the specification; property tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from steersman.cycle.decision import Scheduled
from steersman.engine.columnar import ColumnarEngine, one_of
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.rng import Rng
from steersman.runtime.faults import CycleAborted
from steersman.state.cache import Cache

Digests = list[DigestedTotals | None]
"""The totals by which each of some pods got its node; None: there was no other feasible node."""


def place_replicas(
    pods: Sequence[PodInfo],
    profile: str,
    engine: ColumnarEngine,
    cache: Cache,
    rng: Rng,
    digests: Digests | None = None,
) -> list[Scheduled]:
    """Places and assumes as many of the pods, which all have the first one's template, as can simply be placed. A broken
    plugin is left to `schedule_one`, which tells. The totals of each pod are added to `digests`, if there is such a list; then
    only pods are placed that are ranked by totals which are kept."""
    placed: list[Scheduled] = []
    with suppress(CycleAborted):
        _place(pods, profile, engine, cache, rng, placed, digests)
    return placed


def _place(
    pods: Sequence[PodInfo],
    profile: str,
    engine: ColumnarEngine,
    cache: Cache,
    rng: Rng,
    placed: list[Scheduled],
    digests: Digests | None,
) -> None:
    entry = engine.signatures.of(pods[0])
    if not engine.sampling.is_off:
        return
    changes_terms = pods[0].shape.has_affinity
    names, rows, knows, assume = engine.table.names, engine.table.rows, cache.knows, cache.assume
    for pod in pods:
        if pod.is_terminating or pod.nominated_node or pod.node_name or pod.scheduler_name != profile or knows(pod.uid):
            break
        if changes_terms:
            # New terms may make more of a pod's labels count: the next pod may have another signature.
            entry = engine.signatures.of(pod)
        if not entry.is_complete or (digests is not None and not entry.signature.has_totals_in_run):
            break
        best, feasible = entry.signature.best_in_run()
        if not feasible or (digests is not None and not entry.signature.has_totals_in_run):
            break
        choice = one_of(best, names, rng)
        if digests is not None:
            digests.append(entry.signature.digested_in_run(rows[choice.node]) if feasible > 1 else None)
        assume(pod, choice.node)
        placed.append(Scheduled(pod, profile, choice, feasible, CycleState()))
