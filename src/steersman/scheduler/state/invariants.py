# SPDX-License-Identifier: Apache-2.0
"""Formats the first mismatch between a cache and its recomputation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from steersman.api import Node
from steersman.base import SteersmanError
from steersman.framework import PodInfo

if TYPE_CHECKING:
    from steersman.scheduler.state.node_table import NodeTable


class StateInvariantError(SteersmanError):
    """The columns differ from the nodes and pods that they were computed from."""


def expect(place: str, what: str, found: object, expected: object, because: str = "") -> None:
    """Raise StateInvariantError if the values differ."""
    if found != expected:
        message = f"state is inconsistent: {place}: {what} is {found!r}, expected {expected!r}"
        raise StateInvariantError(f"{message} ({because})" if because else message)


def describe_row(table: NodeTable, row: int) -> str:
    name = table.names[row]
    if not name:
        return f"row {row} (free)"
    return f"row {row} (node {name})" if table.nodes[row] is not None else f"row {row} (pods of missing node {name})"


def describe_pods(table: NodeTable, row: int) -> str:
    return f"pods there: {', '.join(pod.key for pod in table.pods_on[row].values()) or 'none'}"


def live_rows(table: NodeTable) -> Iterator[tuple[int, Node]]:
    return ((row, node) for row, node in enumerate(table.nodes) if node is not None)


def pods_on_rows(table: NodeTable) -> Iterator[tuple[int, PodInfo]]:
    return ((row, pod) for row, pods in enumerate(table.pods_on) for pod in pods.values())
