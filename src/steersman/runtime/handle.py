# SPDX-License-Identifier: Apache-2.0
"""The handle that plugins get: a thin front of the state. Implements `framework.handle.PostFilterHandle` and
`DevicesHandle`, which is all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from steersman.clock import Clock
from steersman.framework.handle import Gates, PodAccess, WhatIf
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Binder, ResourceClaimWriter, VolumeWriter
from steersman.framework.reading import ApiReader
from steersman.rng import Rng
from steersman.state.node_table import NodeTable
from steersman.state.objects import ObjectStore
from steersman.state.row_info import LiveNodes


class TableNodes:
    """Implements `framework.handle.Nodes` over the columns."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table

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

    def claim_in_use(self, claim: str) -> bool:
        table = self._table
        return any(claim in users and table.nodes[row] is not None for row, users in table.sparse.claim_users.items())


class ProfileHandle(msgspec.Struct, frozen=True):
    """One per profile."""

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
    #: The cycle is put together after the plugins, so this is asked for when it is needed.
    cycle_what_if: Callable[[], WhatIf]
    spawn_task: Callable[[Coroutine[Any, Any, None]], object]
    volumes: VolumeWriter
    resource_claims: ResourceClaimWriter
    postpones: bool = False

    @property
    def what_if(self) -> WhatIf:
        return self.cycle_what_if()

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        return self.spawn_task(work)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        return self.nominated(node_name)
