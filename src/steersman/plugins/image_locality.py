# SPDX-License-Identifier: Apache-2.0
"""ImageLocality: prefers nodes that already have the pod's images.

Score only, without normalisation. An image counts with its size, scaled down to the share of nodes that have it, so
that pods do not pile up on the one node that pulled their image first. The sum is clamped to a range of plausible sizes
and mapped to 0..100. The vector form is in `image_locality_columns`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from steersman.api import PodSpec
from steersman.framework.columns import ColumnarScore, ScoreKernel
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import Handle
from steersman.framework.node_info import ImageState, NodeInfo
from steersman.framework.nodes_view import NodesView
from steersman.framework.plugin import MAX_NODE_SCORE, ScorePlugin
from steersman.framework.pod_info import PodInfo
from steersman.plugins.image_locality_columns import PresentImages

MEBIBYTE = 1024 * 1024
MIN_THRESHOLD = 23 * MEBIBYTE
MAX_CONTAINER_THRESHOLD = 1000 * MEBIBYTE


class ImageLocality(ScorePlugin, ColumnarScore):
    """Scores a node by the size of the pod's images that it has."""

    name = "ImageLocality"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        total_nodes = len(self._handle.nodes.all())
        present = (node.image_states.get(image) for image in image_names(pod.spec))
        total = sum(spread_scaled_size(image, total_nodes) for image in present if image is not None)
        return scaled_to_score(total, max_threshold(pod.spec))

    def score_fragment(self, pod: PodInfo) -> tuple[frozenset[tuple[str, int]], int]:
        """The images, how often the pod names each, and the bound that the number of containers sets."""
        return frozenset(Counter(image_names(pod.spec)).items()), max_threshold(pod.spec)

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        images, most = self.score_fragment(pod)
        return PresentImages(view, dict(images), MIN_THRESHOLD, most)


def image_names(spec: PodSpec) -> Iterator[str]:
    """Every image that the pod needs, as often as it is named: init containers, containers, image volumes."""
    for container in (*spec.init_containers, *spec.containers):
        yield normalized_image_name(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    """The name with a tag; ``latest`` when it has neither tag nor digest (a colon before the last slash is a port)."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def spread_scaled_size(image: ImageState, total_nodes: int) -> int:
    spread = image.num_nodes / total_nodes
    return int(image.size * spread)


def max_threshold(spec: PodSpec) -> int:
    """The sum of sizes that is worth the full score. Image volumes add to the sum, only containers raise this bound."""
    return MAX_CONTAINER_THRESHOLD * (len(spec.init_containers) + len(spec.containers))


def scaled_to_score(total: int, most: int) -> int:
    """Maps the sum of scaled sizes to 0..100."""
    if total < MIN_THRESHOLD:
        total = MIN_THRESHOLD
    elif total > most:
        total = most
    return MAX_NODE_SCORE * (total - MIN_THRESHOLD) // (most - MIN_THRESHOLD)
