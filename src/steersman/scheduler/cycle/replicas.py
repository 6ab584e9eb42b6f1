# SPDX-License-Identifier: Apache-2.0
"""Replicas, scheduled one after the other without repeating the work that is the same for all.

If the signature of a template is complete, its totals and the random number generator determine the
node: no plugin is called and no report is made. Per pod the loop only updates the signature,
chooses and assumes. `schedule_one` is the reference; property tests compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from steersman.base import Rng
from steersman.framework import CycleState, PodInfo
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.engine.columnar import ColumnarEngine, one_of
from steersman.scheduler.engine.totals_digest import DigestedTotals
from steersman.scheduler.runtime.faults import CycleAborted
from steersman.scheduler.state.cache import Cache

Digests = list[DigestedTotals | None]
"""Digest of the totals that ranked the nodes for each pod; None if only one node was feasible."""


def place_replicas(
    pods: Sequence[PodInfo],
    profile: str,
    engine: ColumnarEngine,
    cache: Cache,
    rng: Rng,
    digests: Digests | None = None,
    candidates: NDArray[np.intp] | None = None,
) -> list[Scheduled]:
    """Schedule and assume the leading pods whose signature is complete; all must have the template
    of the first.

    Stops before an internal error of a plugin, which `schedule_one` reports. If `digests` is given,
    the digest of each pod's totals is appended, and only pods ranked by cached totals are
    scheduled. `candidates` restricts the nodes to these rows, which must be in ascending order.
    """
    placed: list[Scheduled] = []
    with suppress(CycleAborted):
        _place(pods, profile, engine, cache, rng, placed, digests, candidates)
    return placed


def _place(
    pods: Sequence[PodInfo],
    profile: str,
    engine: ColumnarEngine,
    cache: Cache,
    rng: Rng,
    placed: list[Scheduled],
    digests: Digests | None,
    candidates: NDArray[np.intp] | None,
) -> None:
    entry = engine.signatures.get(pods[0])
    if not engine.sampling.is_off:
        return
    changes_terms = pods[0].shape.has_affinity
    names, rows, knows, assume = engine.table.names, engine.table.rows, cache.knows, cache.assume
    for pod in pods:
        if pod.is_terminating or pod.nominated_node or pod.node_name or pod.scheduler_name != profile or knows(pod.uid):
            break
        if changes_terms:
            # New terms may make more labels of the pod significant: the next pod may have another
            # signature.
            entry = engine.signatures.get(pod)
        if not entry.is_complete or (digests is not None and not entry.signature.has_cached_totals):
            break
        if candidates is None:
            best, feasible = entry.signature.best_rows_by_group()
        elif (found := entry.signature.best_rows_within(candidates)) is not None:
            best, feasible = found
        else:
            break
        if not feasible or (digests is not None and not entry.signature.has_cached_totals):
            break
        choice = one_of(best, names, rng)
        if digests is not None:
            digests.append(entry.signature.digest_by_group(rows[choice.node]) if feasible > 1 else None)
        assume(pod, choice.node)
        placed.append(Scheduled(pod, profile, choice, feasible, CycleState()))
