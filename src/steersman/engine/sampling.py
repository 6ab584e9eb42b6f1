# SPDX-License-Identifier: Apache-2.0
"""An explicit percentageOfNodesToScore: stop after enough feasible nodes, and start the next search where this one ended.

Unset, or 0, means all nodes: looking at every node costs little here. Order of search and rounding are upstream's: nodes
are taken in turn from the zones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steersman.derived import Derived
from steersman.engine.claim_overlay import ClaimOverlay
from steersman.engine.signature import Signature
from steersman.framework.columns import Feasible
from steersman.framework.nodes_view import BoolColumn
from steersman.kept import Kept
from steersman.state.node_table import NodeTable

MIN_FEASIBLE_NODES = 100
ZONE_KEY = "topology.kubernetes.io/zone"
REGION_KEY = "topology.kubernetes.io/region"


class SearchStart:
    """Where the next search begins; shared by all profiles of a scheduler."""

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index = 0


SEARCH_ORDER = Kept(
    name="order of a search",
    attributes=("Sampling._order",),
    holds="the rows in the order in which upstream looks at nodes",
    key="one for each profile",
    stamps="end of the log of changed nodes (`Derived`)",
    bound="one for each profile",
    twin="`zone_round_robin`",
)


class Sampling:
    """How many feasible nodes are enough, for one profile."""

    def __init__(self, percentage: int | None, start: SearchStart) -> None:
        self._percentage = percentage or 100
        self.looks_at_all = self._percentage >= 100
        self._start = start
        self._order: Derived[NDArray[np.intp]] = Derived()

    def enough(self, all_nodes: int) -> int:
        if all_nodes < MIN_FEASIBLE_NODES:
            return all_nodes
        return max(MIN_FEASIBLE_NODES, all_nodes * self._percentage // 100)

    def sample(
        self,
        feasible: Feasible,
        table: NodeTable,
        signature: Signature | ClaimOverlay,
        outside: BoolColumn | None = None,
    ) -> Feasible:
        """The feasible rows that a search would have found before it stopped. Rows `outside` of what PreFilter admits are
        not searched, and do not count among those of which a share is enough."""
        if self.looks_at_all or not table.node_count:
            return feasible
        order = self.search_order(table)
        if outside is not None:
            order = order[~outside[order]]
        if not len(order):
            return feasible
        order = np.roll(order, -self._start.index)
        found = feasible.mask[order]
        wanted = self.enough(len(order))
        reached = np.cumsum(found)
        # A search ends when it meets one feasible node more than it wants: unfit nodes before that one were looked at.
        looked_at = len(order) if reached[-1] <= wanted else int(np.searchsorted(reached, wanted + 1))
        self._start.index = (self._start.index + looked_at) % table.node_count
        if looked_at == len(order):
            return feasible
        beyond = np.zeros(table.capacity, np.bool_)
        beyond[order[looked_at:]] = True
        return signature.without(beyond, feasible)

    def search_order(self, table: NodeTable) -> NDArray[np.intp]:
        """The rows as a search from the first node on would come to them."""
        return self._order.at(table.node_log.end, lambda: np.array(zone_round_robin(table), np.intp))


def zone_round_robin(table: NodeTable) -> list[int]:
    """Rows in the order of a search: one node of each zone in turn."""
    zones: dict[str, list[int]] = {}
    for row in table.live_rows():
        labels = table.node(row).metadata.labels
        zone = f"{labels.get(REGION_KEY, '')}:{labels.get(ZONE_KEY, '')}"
        zones.setdefault(zone, []).append(row)
    longest = max(map(len, zones.values()), default=0)
    return [rows[turn] for turn in range(longest) for rows in zones.values() if turn < len(rows)]
