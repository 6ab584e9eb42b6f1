# SPDX-License-Identifier: Apache-2.0
"""`make_node`: nodes for tests.

make_node("n1").capacity(cpu="4", memory="8Gi").label("zone", "a").taint("dedicated", "db").obj()
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from steersman import api
from steersman.framework import PodInfo, PodShapes
from steersman.scheduler.state import PlainNodeInfo
from steersman.testing.building import Builder, named, resource_list
from steersman.testing.pods import PodBuilder

DEFAULT_PODS = 110
"""Maximum number of pods of a node by default, as for a kubelet."""


def make_node(name: str = "node") -> NodeBuilder:
    return NodeBuilder(named(api.Node, name)).capacity(pods=DEFAULT_PODS)


class NodeBuilder(Builder[api.Node]):
    """Builds a node; `obj()` returns the API object, `info()` its `NodeInfo`."""

    def info(self, *pods: PodBuilder) -> PlainNodeInfo:
        """Return the `NodeInfo` of the node with these pods."""
        name = self._object.metadata.name
        return node_infos([self.obj()], [pod.node(name).obj() for pod in pods])[0]

    def capacity(self, **amounts: api.Quantity) -> Self:
        """Set capacity and allocatable of these resources; others are unchanged."""
        status = self._object.status
        added = resource_list(amounts)
        return self._status(capacity={**status.capacity, **added}, allocatable={**status.allocatable, **added})

    def allocatable(self, **amounts: api.Quantity) -> Self:
        """Set the allocatable amounts, the part of the capacity that is left for pods."""
        return self._status(allocatable={**self._object.status.allocatable, **resource_list(amounts)})

    def taint(self, key: str, value: str = "", *, effect: str = "NoSchedule") -> Self:
        return self._spec(taints=(*self._object.spec.taints, api.Taint(key=key, value=value, effect=effect)))

    def unschedulable(self, unschedulable: bool = True) -> Self:
        return self._spec(unschedulable=unschedulable)

    def image(self, *names: str, size: int) -> Self:
        """Add one image with one or several names, of this size in bytes."""
        return self._status(images=(*self._object.status.images, api.ContainerImage(names=names, size_bytes=size)))

    def condition(self, kind: str, status: str) -> Self:
        return self._status(conditions=(*self._object.status.conditions, api.Condition(type=kind, status=status)))

    def declared_features(self, *features: str) -> Self:
        return self._status(declared_features=features)


# -- clusters ----------------------------------------------------------------------------------------------------------


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
