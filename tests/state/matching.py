# SPDX-License-Identifier: Apache-2.0
"""A pod matcher and an eligibility, as plugins make them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from steersman.api.selectors import EVERYTHING, Selector, from_labels
from steersman.framework.nodes_view import BoolColumn, LabelledPod
from steersman.scheduler.state.node_table import NodeTable


class Labelled(msgspec.Struct, frozen=True):
    """Matches living pods with these labels; in any namespace, or in those with certain labels."""

    selector: Selector = EVERYTHING
    namespaces: Selector = EVERYTHING

    @property
    def namespace_names(self) -> None:
        """Namespaces are chosen by their labels."""

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
        return (
            not pod.is_terminating
            and self.may_match_namespace(pod.namespace, namespace_labels)
            and self.selector.matches(pod.labels)
        )

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return self.namespaces.matches(namespace_labels)


def app(name: str, **namespace_labels: str) -> Labelled:
    return Labelled(from_labels({"app": name}), from_labels(namespace_labels))


class Untainted:
    """Rows whose node has no taint."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table

    def rows(self) -> BoolColumn:
        return np.array([self.row(row) for row in range(self._table.capacity)], np.bool_)

    def row(self, row: int) -> bool:
        node = self._table.nodes[row]
        return node is not None and not node.spec.taints

    def __hash__(self) -> int:
        return id(self._table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untainted) and other._table is self._table
