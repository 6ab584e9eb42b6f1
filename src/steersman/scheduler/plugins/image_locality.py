# SPDX-License-Identifier: Apache-2.0
"""ImageLocality: prefers nodes that already have the pod's images.

Score only, without normalisation. An image counts with its size times the share of nodes that have
it, so that pods do not pile up on the only node with their image. The sum is clamped to a range and
mapped to 0..100.

The vector form starts from the rows that have each image of the pod. The weight of an image depends
on the number of nodes and on how many of them have it: a change of either affects all rows and
moves the kernel's epoch. Other changes of images affect only their own rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.api import PodSpec
from steersman.base import CacheSpec
from steersman.config import Rule
from steersman.framework import (
    MAX_NODE_SCORE,
    ColumnarScore,
    CycleState,
    Handle,
    ImageState,
    IntColumn,
    NodeInfo,
    NodesView,
    PodInfo,
    Rows,
    ScoreKernel,
    ScorePlugin,
)

MEBIBYTE = 1024 * 1024
MIN_THRESHOLD = 23 * MEBIBYTE
MAX_CONTAINER_THRESHOLD = 1000 * MEBIBYTE


class ImageLocality(ScorePlugin, ColumnarScore):
    """Scores a node by the total size of the pod's images that are present on it."""

    name = "ImageLocality"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle
        self._counts_volumes = handle.gates.has_rule(Rule.IMAGE_VOLUMES_RAISE_THRESHOLD)

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        total_nodes = len(self._handle.nodes.all())
        present = (node.image_states.get(image) for image in image_names(pod.spec))
        total = sum(spread_scaled_size(image, total_nodes) for image in present if image is not None)
        return scaled_to_score(total, max_threshold(pod.spec, self._counts_volumes))

    def score_fragment(self, pod: PodInfo) -> tuple[frozenset[tuple[str, int]], int]:
        """Return the images with their numbers of uses in the pod, and the full-score size."""
        return frozenset(Counter(image_names(pod.spec)).items()), max_threshold(pod.spec, self._counts_volumes)

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        images, most = self.score_fragment(pod)
        return PresentImages(view, dict(images), most)


def image_names(spec: PodSpec) -> Iterator[str]:
    """Yield each use of an image by the pod: init containers, containers, image volumes."""
    for container in (*spec.init_containers, *spec.containers):
        yield normalized_image_name(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    """Return the name with tag `latest` if it has no tag or digest. `host:port/` is not a tag."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def spread_scaled_size(image: ImageState, total_nodes: int) -> int:
    spread = image.num_nodes / total_nodes
    return int(image.size * spread)


def max_threshold(spec: PodSpec, counts_volumes: bool) -> int:
    """Return the sum of sizes that gets the full score.

    It grows with the containers and, if `counts_volumes`, the image volumes (always in the sum).
    """
    images = len(spec.init_containers) + len(spec.containers)
    if counts_volumes:
        images += sum(volume.image is not None for volume in spec.volumes)
    return MAX_CONTAINER_THRESHOLD * images


def scaled_to_score(total: int, most: int) -> int:
    """Map the sum of scaled sizes to 0..100."""
    if total < MIN_THRESHOLD:
        total = MIN_THRESHOLD
    elif total > most:
        total = most
    return MAX_NODE_SCORE * (total - MIN_THRESHOLD) // (most - MIN_THRESHOLD)


# -- the vector form ---------------------------------------------------------------------------------------------------

#: Far above every bound, but small enough that sums do not overflow an int64.
_MAX_SIZE = float(1 << 50)


IMAGE_SPREAD = CacheSpec(
    name="spread of images",
    attributes=("PresentImages._spread", "PresentImages._image_epoch", "PresentImages._epoch"),
    contents="how many nodes there are, and how many have each image of the pod",
    key="one for each kernel",
    invalidation="`NodesView.image_epoch`: recounted, and the kernel's own epoch moves if it differs",
    limit="one for each kernel",
    reference="`PresentImages._current_spread`",
    checked_by="tests/plugins/test_image_locality_columns.py",
    is_inline=True,
)


class PresentImages(ScoreKernel):
    """Scores a node by the size of its images. `images` has the number of uses by the pod, `most`
    is the size that gets the full score."""

    def __init__(self, view: NodesView, images: Mapping[str, int], most: int) -> None:
        self._view = view
        self._images = tuple(images.items())
        self._most = most
        self._image_epoch = view.image_epoch
        #: Number of nodes, and of nodes with each image; None if no node has any of the images.
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
        bounded = np.where(totals < MIN_THRESHOLD, MIN_THRESHOLD, np.minimum(totals, self._most))[rows]
        return MAX_NODE_SCORE * (bounded - MIN_THRESHOLD) // (self._most - MIN_THRESHOLD)

    def _spread_scaled_sizes(self, size_by_row: Mapping[int, int]) -> IntColumn:
        sizes: NDArray[np.float64] = np.fromiter(size_by_row.values(), np.float64, len(size_by_row))
        spread = len(size_by_row) / self._view.node_count
        return np.clip(sizes * spread, -_MAX_SIZE, _MAX_SIZE).astype(np.int64)

    def row(self, row: int) -> int:
        total, rows_with_image, nodes = 0, self._view.rows_with_image, self._view.node_count
        for name, times in self._images:
            size_by_row = rows_with_image(name)
            size = size_by_row.get(row)
            if size is not None:
                total += times * int(size * (len(size_by_row) / nodes))
        bounded = MIN_THRESHOLD if total < MIN_THRESHOLD else min(total, self._most)
        return MAX_NODE_SCORE * (bounded - MIN_THRESHOLD) // (self._most - MIN_THRESHOLD)
