# SPDX-License-Identifier: Apache-2.0
"""ImageLocality says the same in its vector form."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, Change, ChangingCluster, ScoreCheck, changes
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.scheduler.plugins.image_locality import ImageLocality
from steersman.scheduler.runtime.handle import TableNodes
from steersman.testing import make_node, make_pod

names = st.sampled_from(["web", "web:latest", "db:v1", "registry:5000/cache"])
sizes = st.one_of(st.integers(0, 3 * 2**30), st.sampled_from([-5, 2**62]))
images = st.lists(
    st.builds(api.ContainerImage, st.lists(names, min_size=1, max_size=2).map(tuple), sizes), max_size=3
).map(tuple)
nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, images: api.Node(metadata=make_node(name).obj().metadata, status=api.NodeStatus(images=images)),
    st.sampled_from(NODE_NAMES),
    images,
)


def using(containers: Sequence[str], init_containers: Sequence[str], volumes: Sequence[str]) -> api.Pod:
    return api.Pod(
        spec=api.PodSpec(
            containers=tuple(api.Container(image=image) for image in containers),
            init_containers=tuple(api.Container(image=image) for image in init_containers),
            volumes=tuple(api.Volume(image=api.ImageVolumeSource(reference=image)) for image in volumes),
        )
    )


pods = st.builds(using, st.lists(names, max_size=3), st.lists(names, max_size=1), st.lists(names, max_size=1))


def plugin_of(cluster: ChangingCluster) -> ImageLocality:
    handle = FakeHandle()
    handle.nodes = TableNodes(cluster.table)
    return ImageLocality(None, handle)


@examples(120)
@given(changes(nodes), st.lists(pods, min_size=1, max_size=4))
def test_vector_and_scalar_form_agree(story: list[Change], pods: list[api.Pod]) -> None:
    cluster = ChangingCluster()
    check = ScoreCheck(plugin_of(cluster), cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check(cluster.shapes.info(pod))


def test_pods_with_the_same_images_share_a_column() -> None:
    plugin, shapes = plugin_of(ChangingCluster()), ChangingCluster().shapes

    fragments = {
        plugin.score_fragment(shapes.info(using(["web", "db:v1"], [], []))),
        plugin.score_fragment(shapes.info(using(["db:v1"], ["web:latest"], []))),
    }

    assert len(fragments) == 1


def test_an_image_that_comes_to_one_node_concerns_all_nodes() -> None:
    cluster = ChangingCluster()
    for name in ("a", "b"):
        cluster.apply(make_node(name).image("web:latest", size=2**30).obj())
    kernel = plugin_of(cluster).score_kernel(make_pod().image("web").info(), cluster.table)
    before = kernel.epoch(), kernel.row(0)

    cluster.apply(make_node("c").obj())

    assert kernel.epoch() != before[0]
    assert kernel.row(0) < before[1]


def test_an_image_that_the_pod_does_not_use_concerns_no_other_node() -> None:
    cluster = ChangingCluster()
    for name in ("a", "b"):
        cluster.apply(make_node(name).image("web:latest", size=2**30).obj())
    kernel = plugin_of(cluster).score_kernel(make_pod().image("web").info(), cluster.table)
    before = kernel.epoch()

    cluster.apply(make_node("b").image("web:latest", size=2**30).image("db:v1", size=5).obj())

    assert kernel.epoch() == before
