# SPDX-License-Identifier: Apache-2.0
"""How a difference between what is kept and what is so is told: as a story, once, at the first one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from steersman.api import Node
from steersman.errors import SteersmanError
from steersman.framework.pod_info import PodInfo

if TYPE_CHECKING:
    from steersman.state.node_table import NodeTable


class StateInvariantError(SteersmanError):
    """The columns say something else than the nodes and pods they were made of."""


def expect(place: str, what: str, found: object, expected: object, because: str = "") -> None:
    """StateInvariantError unless what was found is what was expected."""
    if found != expected:
        story = f"state is inconsistent: {place}: {what} is {found!r}, expected {expected!r}"
        raise StateInvariantError(f"{story} ({because})" if because else story)


def place_of(table: NodeTable, row: int) -> str:
    name = table.names[row]
    if not name:
        return f"row {row} (free)"
    return f"row {row} (node {name})" if table.nodes[row] is not None else f"row {row} (pods of missing node {name})"


def pods_story(table: NodeTable, row: int) -> str:
    return f"pods there: {', '.join(pod.key for pod in table.pods_on[row].values()) or 'none'}"


def live_rows(table: NodeTable) -> Iterator[tuple[int, Node]]:
    return ((row, node) for row, node in enumerate(table.nodes) if node is not None)


def pods_on_rows(table: NodeTable) -> Iterator[tuple[int, PodInfo]]:
    return ((row, pod) for row, pods in enumerate(table.pods_on) for pod in pods.values())
