# SPDX-License-Identifier: Apache-2.0
"""Charges, which pods add to the columns of nodes: the amounts they request, these with the scheduler's minimum, and one pod.

`node_table` owns the columns and charges them when a pod comes or goes. Pods of one shape add the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from steersman.bounded_table import RecentTable
from steersman.framework.go_integers import int64
from steersman.framework.nodes_view import Column
from steersman.framework.pod_info import PodShape
from steersman.kept import Kept
from steersman.state.resource_columns import RequestedAmounts

ShapeCharges = tuple[tuple[memoryview, int], ...]
"""Cells of a column, and what a pod that comes or goes adds to the one of its row."""

#: Shapes come and go with deployments.
_MOST_SHAPES = 1 << 10


CHARGES_BY_SHAPE = Kept(
    name="charges by shape",
    attributes=("Charges._coming", "Charges._going"),
    holds="what a pod that comes or goes adds to which columns",
    key="token of the shape",
    stamps="never: a shape does not change; made anew when columns are replaced",
    bound="1,024 shapes, the latest (`RecentTable`)",
    twin="the sums over the pods on each row",
)


class Charges:
    """Charges the columns of one table, as long as they stay where they are."""

    __slots__ = ("_coming", "_going", "_nonzero", "_pod_count", "_requested")

    def __init__(self, requested: RequestedAmounts, nonzero: Mapping[str, Column], pod_count: Column) -> None:
        self._requested = requested
        self._nonzero = nonzero
        self._pod_count = pod_count
        self._coming: RecentTable[object, ShapeCharges] = RecentTable(_MOST_SHAPES)
        self._going: RecentTable[object, ShapeCharges] = RecentTable(_MOST_SHAPES)

    def charge(self, shape: PodShape, row: int, sign: int) -> None:
        """A pod of the shape comes to the row (1) or leaves it (-1)."""
        known = self._coming if sign > 0 else self._going
        charges = known.young.get(shape.token) or known.get(shape.token) or self._learn(shape, sign)
        for cell, amount in charges:
            try:
                cell[row] += amount
            except ValueError:  # beyond int64: sums wrap around, as upstream's do
                cell[row] = int64(cell[row] + amount)
        if shape.requests_others:
            for resource, amount in shape.requests_others:
                self._requested.add(resource, row, sign * amount)

    def _learn(self, shape: PodShape, sign: int) -> ShapeCharges:
        core = self._requested.core
        columns = [(column, shape.requests.get(resource, 0)) for resource, column in core.items()]
        columns.append((self._nonzero["cpu"], shape.nonzero_cpu))
        columns.append((self._nonzero["memory"], shape.nonzero_memory))
        columns.append((self._pod_count, 1))
        charges = tuple((column.cell, sign * amount) for column, amount in columns if amount)
        (self._coming if sign > 0 else self._going).put(shape.token, charges)
        return charges
