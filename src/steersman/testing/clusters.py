# SPDX-License-Identifier: Apache-2.0
"""Nodes with their pods, as plugins see them; a pod is on the node of its `spec.nodeName`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from steersman import api
from steersman.framework import PodInfo, PodShapes
from steersman.scheduler.state import PlainNodeInfo


class KnownImage(msgspec.Struct, frozen=True):
    """`framework.ImageState` of an image."""

    size: int
    num_nodes: int


def node_infos(nodes: Iterable[api.Node], pods: Iterable[api.Pod] = ()) -> list[PlainNodeInfo]:
    """Return the nodes in order with the pods on them; pods on other nodes are ignored."""
    nodes, shapes = list(nodes), PodShapes()
    on_node: dict[str, list[PodInfo]] = {node.metadata.name: [] for node in nodes}
    for pod in pods:
        on_node.get(pod.spec.node_name, []).append(shapes.info(pod))
    spread = _image_spread(nodes)
    return [PlainNodeInfo(node, on_node[node.metadata.name], _images(node, spread)) for node in nodes]


def _image_spread(nodes: Sequence[api.Node]) -> Counter[str]:
    """Return the number of nodes by image name."""
    return Counter(name for node in nodes for name in {n for image in node.status.images for n in image.names})


def _images(node: api.Node, spread: Counter[str]) -> dict[str, KnownImage]:
    return {
        name: KnownImage(size=image.size_bytes, num_nodes=spread[name])
        for image in node.status.images
        for name in image.names
    }
