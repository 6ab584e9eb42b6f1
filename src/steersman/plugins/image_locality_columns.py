# SPDX-License-Identifier: Apache-2.0
"""The vector form of ImageLocality: for each image of the pod, the rows that have it.

How much an image counts depends on how many nodes there are and how many of them have it. When either changes, all rows
are concerned: the kernel's epoch. Other changes of images concern only the rows where they happen.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.framework.columns import ScoreKernel
from steersman.framework.nodes_view import IntColumn, NodesView, Rows
from steersman.framework.plugin import MAX_NODE_SCORE

#: Far above every bound, and far enough below the largest integer that sums do not overflow.
_LARGEST_SIZE = float(1 << 50)


class PresentImages(ScoreKernel):
    """Scores a node by the size of the images that it has. `images` says how often the pod names each."""

    def __init__(self, view: NodesView, images: Mapping[str, int], min_threshold: int, max_threshold: int) -> None:
        self._view = view
        self._images = tuple(images.items())
        self._min = min_threshold
        self._max = max_threshold
        self._image_epoch = view.image_epoch
        #: Number of nodes, and of those that have each image; None when none has any: then nothing depends on it.
        self._spread = self._current_spread()
        self._epoch = 0

    def epoch(self) -> int:
        if self._image_epoch != self._view.image_epoch:
            self._image_epoch = self._view.image_epoch
            spread = self._current_spread()
            if spread != self._spread:
                self._spread = spread
                self._epoch += 1
        return self._epoch

    def _current_spread(self) -> tuple[int, ...] | None:
        holders = [len(self._view.rows_with_image(name)) for name, _ in self._images]
        return (self._view.node_count, *holders) if any(holders) else None

    def rows(self, rows: Rows) -> IntColumn:
        totals = np.zeros(self._view.capacity, np.int64)
        for name, times in self._images:
            size_by_row = self._view.rows_with_image(name)
            if size_by_row:
                here: NDArray[np.intp] = np.fromiter(size_by_row, np.intp, len(size_by_row))
                totals[here] += times * self._spread_scaled_sizes(size_by_row)
        bounded = np.where(totals < self._min, self._min, np.minimum(totals, self._max))[rows]
        return MAX_NODE_SCORE * (bounded - self._min) // (self._max - self._min)

    def _spread_scaled_sizes(self, size_by_row: Mapping[int, int]) -> IntColumn:
        sizes: NDArray[np.float64] = np.fromiter(size_by_row.values(), np.float64, len(size_by_row))
        spread = len(size_by_row) / self._view.node_count
        return np.clip(sizes * spread, -_LARGEST_SIZE, _LARGEST_SIZE).astype(np.int64)

    def row(self, row: int) -> int:
        total, rows_with_image, nodes = 0, self._view.rows_with_image, self._view.node_count
        for name, times in self._images:
            size_by_row = rows_with_image(name)
            size = size_by_row.get(row)
            if size is not None:
                total += times * int(size * (len(size_by_row) / nodes))
        bounded = self._min if total < self._min else min(total, self._max)
        return MAX_NODE_SCORE * (bounded - self._min) // (self._max - self._min)
