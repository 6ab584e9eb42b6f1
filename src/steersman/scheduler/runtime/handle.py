# SPDX-License-Identifier: Apache-2.0
"""The handle passed to plugins. Implements `framework.handle.PostFilterHandle` and
`DevicesHandle`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from steersman.base import Clock, Rng
from steersman.framework import (
    ApiReader,
    Binder,
    ClusterWhatIf,
    Gates,
    NodeAmounts,
    NodeInfo,
    PodAccess,
    PodGroups,
    PodInfo,
    ResourceClaimWriter,
    VolumeWriter,
)
from steersman.scheduler.runtime.guarded_coroutine import GuardedCoroutine, raise_as_error
from steersman.scheduler.state.node_sets import NodeSets
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.objects import ObjectStore
from steersman.scheduler.state.row_info import LiveNodes


class TableNodes:
    """Implements `framework.handle.Nodes` over the columns."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._sets = NodeSets(table)

    def all(self) -> Sequence[NodeInfo]:
        return LiveNodes(self._table)

    def get(self, name: str) -> NodeInfo | None:
        row = self._table.row_of(name)
        return None if row is None else self._table.info(row)

    def with_affinity_pods(self) -> Sequence[NodeInfo]:
        table = self._table
        return [table.info(row) for row in table.sparse.affinity_pods if table.nodes[row] is not None]

    def with_required_anti_affinity_pods(self) -> Sequence[NodeInfo]:
        return [info for info in self.with_affinity_pods() if info.pods_with_required_anti_affinity]

    def domains(self, key: str) -> Mapping[str, Sequence[str]]:
        return self._sets.domains(key)

    def amounts(self, names: Sequence[str], resource: str) -> NodeAmounts:
        return self._sets.amounts(names, resource)

    def claim_in_use(self, claim: str) -> bool:
        table = self._table
        return any(claim in users and table.nodes[row] is not None for row, users in table.sparse.claim_users.items())


class ProfileHandle(msgspec.Struct, frozen=True):
    """Handle of the plugins of one profile."""

    profile_name: str
    objects: ObjectStore
    nodes: TableNodes
    clock: Clock
    gates: Gates
    binder: Binder
    client: ApiReader
    nominated: Callable[[str], Sequence[PodInfo]]
    rng: Rng
    pods: PodAccess
    #: Deferred, because the cycle is created after the plugins.
    cycle_what_if: Callable[[], ClusterWhatIf]
    spawn_task: Callable[[Coroutine[Any, Any, None]], object]
    volumes: VolumeWriter
    resource_claims: ResourceClaimWriter
    pod_groups: PodGroups | None = None
    postpones: bool = False

    @property
    def what_if(self) -> ClusterWhatIf:
        return self.cycle_what_if()

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        return self.spawn_task(GuardedCoroutine(work, raise_as_error))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        return self.nominated(node_name)
