# SPDX-License-Identifier: Apache-2.0
"""What Filter says of nodes: the devices that a pod would get there, or why it cannot be there.

By name for everybody, and once more by row for the columnar engine, which can then pass over most nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steersman.api import Node
from steersman.framework.nodes_view import NodesView
from steersman.framework.status import Status
from steersman.plugins.dynamic_resources.allocation import DeviceId, FoundDevice, PreparedClaim
from steersman.plugins.dynamic_resources.extended import NodeClaim

RowIndex = NDArray[np.intp]

_UNKNOWN, _FITS, _REJECTED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class NodeAllocation:
    """The devices that the pod would get on a node."""

    #: The claims that were not allocated before, in the order of the pod's claims.
    claims: tuple[PreparedClaim, ...]
    found: tuple[tuple[FoundDevice, ...], ...]
    #: The last of them, if extended resources are served by devices on this node.
    extended: NodeClaim | None = None


NOTHING_TO_ALLOCATE = NodeAllocation((), ())

Answer = NodeAllocation | Status


class Answers:
    """The answers to one question. An answer holds for the node as it was then."""

    def __init__(self, is_fickle: bool = False) -> None:
        #: An answer may change when any device of the node is taken, not only one of those found.
        self.is_fickle = is_fickle
        self._by_name: dict[str, tuple[Node, Answer]] = {}
        self._rows: _Verdicts | None = None

    def get(self, name: str, node: Node) -> Answer | None:
        known = self._by_name.get(name)
        return known[1] if known is not None and known[0] is node else None

    def latest(self, name: str) -> Answer | None:
        """As long as nobody can have changed the node."""
        known = self._by_name.get(name)
        return None if known is None else known[1]

    def put(self, name: str, node: Node, answer: Answer) -> None:
        self._by_name[name] = node, answer
        if self._rows is not None:
            self._rows.put(name, node, answer)

    def depends_on(self, name: str, device: DeviceId) -> bool:
        """Whether the answer for the node may change when the device is taken."""
        return self.is_fickle or self._uses(name, device)

    def _uses(self, name: str, device: DeviceId) -> bool:
        """Whether the device is among those that were found on the node."""
        known = self._by_name.get(name)
        if known is None or isinstance(known[1], Status):
            return False
        return any(found.device.id == device for each in known[1].found for found in each)

    def drop(self, name: str) -> None:
        if self._by_name.pop(name, None) is not None and self._rows is not None:
            self._rows.drop(name)

    def sorted_rows(self, rows: RowIndex, view: NodesView) -> tuple[RowIndex, RowIndex]:
        """Those of the rows that are rejected, and those of which nothing is known."""
        if self._rows is None or not self._rows.are_of(view):
            self._rows = _Verdicts(view)
            for name, (node, answer) in self._by_name.items():
                self._rows.put(name, node, answer)
        return self._rows.sorted(rows)


class _Verdicts:
    """The same by row."""

    def __init__(self, view: NodesView) -> None:
        self._view = view
        self._generation = view.generation
        self._position = view.node_log.end
        self._column = np.zeros(view.capacity, np.int8)

    def are_of(self, view: NodesView) -> bool:
        return view is self._view and view.generation == self._generation and len(self._column) == view.capacity

    def put(self, name: str, node: Node, answer: Answer) -> None:
        row = self._view.row_of(name)
        if row is not None and self._view.node(row) is node:
            self._column[row] = _REJECTED if isinstance(answer, Status) else _FITS

    def drop(self, name: str) -> None:
        row = self._view.row_of(name)
        if row is not None:
            self._column[row] = _UNKNOWN

    def sorted(self, rows: RowIndex) -> tuple[RowIndex, RowIndex]:
        self._catch_up()
        verdicts = self._column[rows]
        return rows[verdicts == _REJECTED], rows[verdicts == _UNKNOWN]

    def _catch_up(self) -> None:
        """A row whose node changed, or that has another node now, is looked at again."""
        log = self._view.node_log
        if log.end != self._position:
            changed = log.since(self._position)
            self._position = log.end
            self._column[slice(None) if changed is None else list(changed)] = _UNKNOWN
