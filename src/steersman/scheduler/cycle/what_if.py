# SPDX-License-Identifier: Apache-2.0
"""What-if evaluation with a profile's plugins in the scalar engine. Implements
`framework.handle.WhatIf`.

Preemption uses it for every node on which removing pods might help, and, for groups of pods, with
pods removed from the whole cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import msgspec

from steersman.framework import CycleState, NodeInfo, PlacedPod, PodInfo, Status
from steersman.scheduler.cycle import commit
from steersman.scheduler.engine import scalar
from steersman.scheduler.engine.columnar import ColumnarEngine
from steersman.scheduler.engine.evaluation import merge
from steersman.scheduler.engine.live_plugins import is_live
from steersman.scheduler.engine.local_filters import RowFilters, local_filters
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.nominations import Nominations
from steersman.scheduler.state.removed_pods import removed
from steersman.scheduler.state.row_info import LiveNodes


class ProfileWhatIf:
    """What-if evaluator of one profile."""

    def __init__(
        self, profile: Profile, engine: ColumnarEngine, cache: Cache, nominations: Callable[[], Nominations]
    ) -> None:
        self._profile = profile
        self._engine = engine
        self._cache = cache
        self.nominations = nominations

    @property
    def table(self) -> NodeTable:
        return self._engine.table

    def has_evaluated(self, pod: PodInfo) -> bool:
        """Return whether the latest evaluation of the columnar engine is that of the pod."""
        latest = self._engine.latest
        return latest is not None and latest.pod is pod

    def row_filters(self, pod: PodInfo) -> RowFilters | None:
        """Return the filters of the pod's latest evaluation as limits on the pods of a row, or None
        if they cannot be expressed so or the scalar engine made the evaluation."""
        latest = self._engine.latest
        if latest is None or latest.pod is not pod:
            return None
        return latest.row_filters(lambda: self._nominated_ahead_of(pod))

    def of_plugin(self, name: str) -> ProfileWhatIf:
        """Return an evaluator with the filters of one plugin."""
        calls = {
            point: tuple(c for c in getattr(self._profile, point) if c.name == name)
            for point in ("pre_filter", "filter")
        }
        return ProfileWhatIf(
            msgspec.structs.replace(self._profile, **calls), self._engine, self._cache, self.nominations
        )

    def pre_filter(self, pod: PodInfo) -> CycleState:
        """Return the cycle state written by PreFilter. Raises CycleAborted for an internal error of
        a plugin."""
        state = CycleState()
        scalar.pre_filter(self._profile, state, pod, LiveNodes(self.table))
        return state

    def _nominated_ahead_of(self, pod: PodInfo) -> Iterable[PodInfo]:
        """Yield the pods nominated to any node that count for this pod."""
        return (other for _, pods in self.nominations().ahead_of(pod).items() for other in pods)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return scalar.filter_with_nominated(self._profile, state, pod, node, self.nominations().pods_on(node.name))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        scalar.add_to_state(self._profile, state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        scalar.remove_from_state(self._profile, state, pod, removed, node)

    # -- the whole cluster ------------------------------------------------------------------------

    def placed(self, uid: str) -> PlacedPod | None:
        record = self._cache.get(uid)
        return None if record is None else PlacedPod(record.info, record.node_name)

    def without(self, pods: Iterable[PlacedPod]) -> AbstractContextManager[None]:
        return removed(self.table, pods)

    @contextmanager
    def placing(self, state: CycleState, pod: PodInfo, node_name: str) -> Iterator[None]:
        self.table.add_pod(pod, node_name)
        try:
            with self.reserving(state, pod, node_name):
                yield
        finally:
            self.table.remove_pod(pod, node_name)

    @contextmanager
    def reserving(self, state: CycleState, pod: PodInfo, node_name: str) -> Iterator[None]:
        if not self._profile.reserve.for_pod(pod):
            yield
            return
        try:
            commit.reserve(self._profile, state, pod, node_name)
            yield
        finally:
            commit.unreserve(self._profile, state, pod, node_name)

    def complete(self, state: CycleState, pod: PodInfo) -> None:
        entry = self._engine.signatures.get(pod)
        added, nodes = CycleState(), LiveNodes(self.table)
        outcome = merge(
            (call.name, partial(call.run, added, pod, nodes))
            for call in self._profile.pre_filter
            if not is_live(call, entry)
        )
        state.entries = {**added.entries, **state.entries}
        state.skip_filter |= outcome.skipped

    def is_local(self, state: CycleState, pod: PodInfo) -> bool:
        if self._profile.reserve.for_pod(pod):
            return False
        entry = self._engine.signatures.get(pod)
        return local_filters(self._engine.plan, entry, self.table, state.skip_filter) is not None
