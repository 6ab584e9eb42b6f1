# SPDX-License-Identifier: Apache-2.0
"""Amounts of resources by row: allocatable amounts of nodes, and requests of their pods.

Operators choose what nodes offer, but any user can write any resource name into a pod. So cpu,
memory and ephemeral storage have permanent columns; other resources are stored by row where they
are requested, and have a column as long as a kernel reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from steersman.base import CacheSpec, WeakValueCache
from steersman.base.graph_copy import copied_attributes, shallow
from steersman.framework import CORE_RESOURCES, Column, int64

#: Number of unused columns to keep.
_SPARE_COLUMNS = 8


OFFERED_COLUMNS = CacheSpec(
    name="offered amounts",
    attributes=("OfferedAmounts._columns", "OfferedAmounts._nodes_with"),
    contents="the allocatable amount of a resource on each row",
    key="resource name",
    invalidation="never: updated with every change of the cluster state",
    limit="those in use, and a few spare ones (`WeakValueCache`)",
    reference="`node_allocatable` of each node",
)


@copied_attributes(by_row=shallow)
class OfferedAmounts:
    """Allocatable amounts. Invariant: `by_row[row]` is what the row's node offers, and the columns
    agree."""

    def __init__(self, capacity: int) -> None:
        self.by_row: list[Mapping[str, int]] = [{} for _ in range(capacity)]
        self._columns: WeakValueCache[str, Column] = WeakValueCache(_SPARE_COLUMNS)
        self._nodes_with: Counter[str] = Counter()

    def column(self, resource: str) -> Column:
        """Return int64[capacity]: millicores of cpu, base units of other resources."""
        column = self._columns.get(resource)
        if column is None:
            column = zeros(len(self.by_row))
            if resource in self._nodes_with:
                column.values[:] = [amounts.get(resource, 0) for amounts in self.by_row]
            self._columns.put(resource, column)
        return column

    def set(self, row: int, amounts: Mapping[str, int]) -> None:
        before = self.by_row[row]
        if before == amounts:
            return
        self.by_row[row] = amounts
        self._nodes_with.update(amounts.keys() - before.keys())
        for resource in before.keys() - amounts.keys():
            self._nodes_with[resource] -= 1
            if not self._nodes_with[resource]:
                del self._nodes_with[resource]
        for resource, column in self._columns.items():
            column.cell[row] = amounts.get(resource, 0)

    def has(self, resource: str) -> bool:
        """Return whether any node offers the resource."""
        return resource in self._nodes_with

    def extended(self, limit: int) -> list[str]:
        """Return the names of resources that nodes offer besides pods and the core ones, sorted, at
        most `limit`."""
        return sorted(name for name in self._nodes_with if name not in CORE_RESOURCES and name != "pods")[:limit]

    def columns(self) -> dict[str, Column]:
        """Return the existing columns."""
        return dict(self._columns.items())


REQUESTED_COLUMNS = CacheSpec(
    name="requested amounts",
    attributes=("RequestedAmounts.core", "RequestedAmounts.others", "RequestedAmounts._columns"),
    contents="the amount of a resource that the pods of each row request",
    key="resource name",
    invalidation="never: updated with every change of the cluster state",
    limit="those in use, and a few spare ones (`WeakValueCache`); `others` as long as a pod requests any",
    reference="the sums over the pods on each row",
)


class RequestedAmounts:
    """Requested amounts. Invariant: for each resource, the sum over the pods on each row, wrapped
    to int64."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.core = {resource: zeros(capacity) for resource in CORE_RESOURCES}
        #: Amounts of other resources by row. No zero amounts, no empty values.
        self.others: dict[str, dict[int, int]] = {}
        self._columns: WeakValueCache[str, Column] = WeakValueCache(_SPARE_COLUMNS)

    def column(self, resource: str) -> Column:
        """Return int64[capacity]: millicores of cpu, base units of other resources."""
        column = self.core.get(resource) or self._columns.get(resource)
        if column is None:
            column = zeros(self._capacity)
            for row, amount in self.others.get(resource, {}).items():
                column.cell[row] = amount
            self._columns.put(resource, column)
        return column

    def amount(self, resource: str, row: int) -> int:
        column = self.core.get(resource)
        return int(column.cell[row]) if column is not None else self.others.get(resource, _NOWHERE).get(row, 0)

    def add(self, resource: str, row: int, amount: int) -> None:
        """Add to the requests of the row for a resource other than the `CORE_RESOURCES`."""
        rows = self.others.setdefault(resource, {})
        total = int64(rows.pop(row, 0) + amount)
        if total:
            rows[row] = total
        if not rows:
            del self.others[resource]
        column = self._columns.peek(resource)
        if column is not None:
            column.cell[row] = total

    def columns(self) -> dict[str, Column]:
        """Return the existing columns."""
        return {**self.core, **dict(self._columns.items())}


def zeros(capacity: int) -> Column:
    return Column(np.zeros(capacity, np.int64))


_NOWHERE: dict[int, int] = {}
