# SPDX-License-Identifier: Apache-2.0
"""Resource deltas: what a pod adds to the columns of its node (requests, requests with the
scheduler's minimum, one pod).

`node_table` owns the columns and applies the delta when a pod is added or removed. Pods of one
shape have the same delta.
"""

from __future__ import annotations

from collections.abc import Mapping

from steersman.base import CacheSpec, LruCache
from steersman.framework import Column, PodShape, int64
from steersman.scheduler.state.resource_columns import RequestedAmounts

ShapeDeltas = tuple[tuple[memoryview, int], ...]
"""Column cells, and the amount to add to the cell of the pod's row."""

#: Shapes change with deployments.
_MAX_SHAPES = 1 << 10


DELTAS_BY_SHAPE = CacheSpec(
    name="resource deltas by shape",
    attributes=("ResourceDeltas._added", "ResourceDeltas._removed"),
    contents="the amounts that a pod adds to each column",
    key="token of the shape",
    invalidation="never: a shape does not change; rebuilt when columns are replaced",
    limit="1,024 shapes, most recently used (`LruCache`)",
    reference="the sums over the pods on each row",
)


class ResourceDeltas:
    """Applies deltas to the columns of one table. Rebuilt when columns are replaced."""

    __slots__ = ("_added", "_nonzero", "_pod_count", "_removed", "_requested")

    def __init__(self, requested: RequestedAmounts, nonzero: Mapping[str, Column], pod_count: Column) -> None:
        self._requested = requested
        self._nonzero = nonzero
        self._pod_count = pod_count
        self._added: LruCache[object, ShapeDeltas] = LruCache(_MAX_SHAPES)
        self._removed: LruCache[object, ShapeDeltas] = LruCache(_MAX_SHAPES)

    def apply(self, shape: PodShape, row: int, sign: int) -> None:
        """Add (sign 1) or remove (sign -1) a pod of the shape."""
        known = self._added if sign > 0 else self._removed
        deltas = known.young.get(shape.token) or known.get(shape.token) or self._compute(shape, sign)
        for cell, amount in deltas:
            try:
                cell[row] += amount
            except ValueError:  # sums outside int64 wrap around, as in upstream
                cell[row] = int64(cell[row] + amount)
        if shape.requests_others:
            for resource, amount in shape.requests_others:
                self._requested.add(resource, row, sign * amount)

    def _compute(self, shape: PodShape, sign: int) -> ShapeDeltas:
        core = self._requested.core
        columns = [(column, shape.requests.get(resource, 0)) for resource, column in core.items()]
        columns.append((self._nonzero["cpu"], shape.nonzero_cpu))
        columns.append((self._nonzero["memory"], shape.nonzero_memory))
        columns.append((self._pod_count, 1))
        deltas = tuple((column.cell, sign * amount) for column, amount in columns if amount)
        (self._added if sign > 0 else self._removed).put(shape.token, deltas)
        return deltas
