# SPDX-License-Identifier: Apache-2.0
"""Amounts of resources by row: what nodes offer, and what the pods there request.

Operators choose what nodes offer, but any user can write the name of a resource into a pod. So cpu, memory and ephemeral
storage have columns of their own, and of all others it is known which rows have some; a column of one of them is there as long
as a kernel reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from steersman.bounded_table import SharedTable
from steersman.framework.go_integers import int64
from steersman.framework.nodes_view import Column
from steersman.framework.pod_resources import CORE_RESOURCES
from steersman.graph_copy import copied_attributes, shallow
from steersman.kept import Kept

#: Columns that stay though nobody reads them at the moment.
_SPARE_COLUMNS = 8


OFFERED_COLUMNS = Kept(
    name="offered amounts",
    attributes=("OfferedAmounts._columns", "OfferedAmounts._nodes_with"),
    holds="how much of a resource each row's node offers",
    key="resource name",
    stamps="never: written with every change of the facts",
    bound="those that somebody reads, and a few spare ones (`SharedTable`)",
    twin="`node_allocatable` of each node",
)


@copied_attributes(by_row=shallow)
class OfferedAmounts:
    """Invariant: `by_row[row]` is what the row's node offers, and a column of a resource says the same of all rows."""

    def __init__(self, capacity: int) -> None:
        self.by_row: list[Mapping[str, int]] = [{} for _ in range(capacity)]
        self._columns: SharedTable[str, Column] = SharedTable(_SPARE_COLUMNS)
        self._nodes_with: Counter[str] = Counter()

    def column(self, resource: str) -> Column:
        """int64[capacity]: millicores of cpu, base units of anything else."""
        column = self._columns.get(resource)
        if column is None:
            column = zeros(len(self.by_row))
            if resource in self._nodes_with:
                for row, amounts in enumerate(self.by_row):
                    column.cell[row] = amounts.get(resource, 0)
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
        """Whether some node offers the resource."""
        return resource in self._nodes_with

    def extended(self, most: int) -> list[str]:
        """Resources besides pods and the core ones that nodes offer, by name; so many at most."""
        return sorted(name for name in self._nodes_with if name not in CORE_RESOURCES and name != "pods")[:most]

    def columns(self) -> dict[str, Column]:
        """The columns that are there at the moment."""
        return dict(self._columns.items())


REQUESTED_COLUMNS = Kept(
    name="requested amounts",
    attributes=("RequestedAmounts.core", "RequestedAmounts.others", "RequestedAmounts._columns"),
    holds="how much of a resource the pods of each row request",
    key="resource name",
    stamps="never: written with every change of the facts",
    bound="those that somebody reads, and a few spare ones (`SharedTable`); `others` as long as a pod requests some",
    twin="the sums over the pods on each row",
)


class RequestedAmounts:
    """Invariant: for each resource, the sum over the pods on each row, as an int64 wraps around."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.core = {resource: zeros(capacity) for resource in CORE_RESOURCES}
        #: Of other resources: the rows on which pods request some. No amount is 0, no resource without rows.
        self.others: dict[str, dict[int, int]] = {}
        self._columns: SharedTable[str, Column] = SharedTable(_SPARE_COLUMNS)

    def column(self, resource: str) -> Column:
        """int64[capacity]: millicores of cpu, base units of anything else."""
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
        """Adds to what the row's pods request of a resource that is not one of the `CORE_RESOURCES`."""
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
        """The columns that are there at the moment."""
        return {**self.core, **dict(self._columns.items())}


def zeros(capacity: int) -> Column:
    return Column(np.zeros(capacity, np.int64))


_NOWHERE: dict[int, int] = {}
