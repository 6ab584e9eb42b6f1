# SPDX-License-Identifier: Apache-2.0
"""Nodes that have the pod's images score higher, the more so the more nodes have them."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman.api import Container, ImageVolumeSource, Pod, PodSpec, Volume
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodShapes
from steersman.scheduler.plugins.image_locality import ImageLocality, normalized_image_name
from steersman.testing import NodeBuilder, make_node, node_infos

MEBIBYTE = 1024 * 1024


def node_with(*sizes: int) -> NodeBuilder:
    """A node with an image `gcr.io/<size>` for each size in MiB."""
    node = make_node(f"node-{'-'.join(map(str, sizes))}")
    for size in sizes:
        node = node.image(f"gcr.io/{size}:latest", f"gcr.io/{size}:v1", size=size * MEBIBYTE)
    return node


def containers(*sizes: int) -> tuple[Container, ...]:
    return tuple(Container(image=f"gcr.io/{size}") for size in sizes)


def scores(spec: PodSpec, *nodes: NodeBuilder) -> list[int]:
    infos = node_infos([node.obj() for node in nodes], [])
    plugin, pod = ImageLocality(None, FakeHandle(nodes=infos)), PodShapes().info(Pod(spec=spec))
    return [plugin.score(CycleState(), pod, node) for node in infos]


def test_the_node_with_the_larger_image_is_preferred() -> None:
    # 40 MiB on one of two nodes count 20 MiB, less than the lower bound; (250/2 - 23) / (2000 - 23) is 5 %.
    assert scores(PodSpec(containers=containers(40, 250)), node_with(40, 300, 2000), node_with(250, 10)) == [0, 5]


def test_several_images_on_one_node_add_up() -> None:
    assert scores(PodSpec(containers=containers(40, 300)), node_with(40, 300, 2000), node_with(250, 10)) == [7, 0]


def test_images_beyond_the_upper_bound_give_the_full_score() -> None:
    assert scores(PodSpec(containers=containers(10, 4000)), node_with(4000, 30), node_with(250, 10)) == [100, 0]


def test_an_image_counts_less_the_fewer_nodes_have_it() -> None:
    nodes = node_with(4000, 30), node_with(250, 10), node_with()

    assert scores(PodSpec(containers=containers(10, 4000)), *nodes) == [66, 0, 0]


def test_many_large_images() -> None:
    nodes = node_with(600, 40, 900), node_with(300, 600, 900), node_with()

    assert scores(PodSpec(containers=containers(300, 600, 900)), *nodes) == [32, 36, 0]


def test_small_images_hardly_matter() -> None:
    assert scores(PodSpec(containers=containers(30, 40)), node_with(20, 30, 40), node_with(4000, 30)) == [1, 0]


def test_images_of_init_containers_count() -> None:
    spec = PodSpec(containers=containers(30), init_containers=containers(300))

    assert scores(spec, node_with(40, 300, 2000), node_with(20, 30, 40)) == [6, 0]


def test_image_volumes_count_without_raising_the_upper_bound() -> None:
    volume = Volume(name="image", image=ImageVolumeSource(reference="gcr.io/300"))
    spec = PodSpec(containers=containers(30), volumes=(volume,))

    assert scores(spec, node_with(300, 600, 900), node_with(4000, 30)) == [12, 0]


def test_an_image_that_two_containers_use_counts_twice() -> None:
    nodes = node_with(400), node_with()

    assert scores(PodSpec(containers=containers(400)), *nodes) == [100 * (200 - 23) // (1000 - 23), 0]
    assert scores(PodSpec(containers=containers(400, 400)), *nodes) == [100 * (400 - 23) // (2000 - 23), 0]


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("root", "root:latest"),
        ("root:tag", "root:tag"),
        ("gcr.io:5000/root", "gcr.io:5000/root:latest"),
        ("gcr.io:5000/root:tag", "gcr.io:5000/root:tag"),
        ("gcr.io/root@sha256:abc", "gcr.io/root@sha256:abc"),
    ],
)
def test_an_image_name_without_tag_means_latest(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized
