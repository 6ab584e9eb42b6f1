# SPDX-License-Identifier: Apache-2.0
"""Container images by node, cluster-wide. Written by `NodeTable`, read for ImageLocality."""

from __future__ import annotations

from collections.abc import Mapping

from steersman.api import Node
from steersman.base import CacheSpec


class ImageOnNode:
    """One image of one node; `num_nodes` is the number of nodes in the cluster with an image of
    this name."""

    __slots__ = ("_rows", "size")

    def __init__(self, size: int, rows: Mapping[int, int]) -> None:
        self.size = size
        self._rows = rows

    @property
    def num_nodes(self) -> int:
        return len(self._rows)


IMAGES = CacheSpec(
    name="images",
    attributes=("ImageTable._rows", "ImageTable._states"),
    contents="which rows have an image, and its size",
    key="image name; row",
    invalidation="never: updated with every change of the cluster state; `epoch` changes with it",
    limit="images listed by a node",
    reference="the images of each node",
)


class ImageTable:
    """Rows by image name. Invariant: `_rows[name]` contains exactly the rows whose node lists the
    name, with the size.

    As in upstream, the size of an image is that reported by the first node, until no node has it
    any more.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, int]] = {}
        self._states: dict[int, dict[str, ImageOnNode]] = {}
        #: Changes with the images of any node and with the number of nodes.
        self.epoch = 0

    def set(self, row: int, node: Node | None) -> None:
        for name in self._states.pop(row, ()):
            self._drop(name, row)
        if node is not None and node.status.images:
            self._states[row] = states = {}
            for image in node.status.images:
                for name in image.names:
                    rows = self._rows.setdefault(name, {})
                    rows[row] = size = next(iter(rows.values()), image.size_bytes)
                    states[name] = ImageOnNode(size, rows)
        self.epoch += 1

    def rows_with(self, name: str) -> Mapping[int, int]:
        return self._rows.get(name, _NOWHERE)

    def states_of(self, row: int) -> Mapping[str, ImageOnNode]:
        return self._states.get(row, _NO_IMAGES)

    def __len__(self) -> int:
        """Return the number of image names listed by any node."""
        return len(self._rows)

    def _drop(self, name: str, row: int) -> None:
        rows = self._rows[name]
        del rows[row]
        if not rows:
            del self._rows[name]


_NOWHERE: dict[int, int] = {}
_NO_IMAGES: dict[str, ImageOnNode] = {}
