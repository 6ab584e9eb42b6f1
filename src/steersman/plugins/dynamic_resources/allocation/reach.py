# SPDX-License-Identifier: Apache-2.0
"""Which nodes can use a device: slices say it for all of their devices, or leave it to each of them."""

from __future__ import annotations

from steersman.api import Node, NodeSelector
from steersman.api.node_selectors import AnyTerm, strict
from steersman.errors import InputError
from steersman.plugins.dynamic_resources.allocation.faults import AllocationFault


class Reach:
    """One node by its name, all of them, or those that a selector matches."""

    __slots__ = ("_all", "_selector", "_terms", "node_name")

    def __init__(self, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> None:
        self.node_name = node_name or ""
        self._all = bool(all_nodes)
        self._selector = selector
        self._terms: AnyTerm | None = None

    def __bool__(self) -> bool:
        """Whether anything is said at all."""
        return bool(self.node_name) or self._all or self._selector is not None

    def includes(self, node: Node) -> bool:
        if self.node_name:
            return node.metadata.name == self.node_name
        if self._all or self._selector is None:
            return self._all
        if self._terms is None:
            self._terms = _compiled(self._selector)
        return self._terms.matches(node.metadata.labels, node.metadata.name)


def _compiled(selector: NodeSelector) -> AnyTerm:
    try:
        return strict(selector)
    except InputError as problem:
        raise AllocationFault(f"gather pool information: failed to parse node selector: {problem.message}") from problem
