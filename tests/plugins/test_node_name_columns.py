# SPDX-License-Identifier: Apache-2.0
"""NodeName says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, Change, ChangingCluster, FilterCheck, changes

from steersman import api
from steersman.scheduler.plugins.node_name import NodeName
from steersman.testing import make_node, make_pod

nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, cordoned: make_node(name).unschedulable(cordoned).obj(), st.sampled_from(NODE_NAMES), st.booleans()
)


@examples(60)
@given(changes(nodes))
def test_vector_and_scalar_form_agree(story: list[Change]) -> None:
    cluster = ChangingCluster()
    check = FilterCheck(NodeName(), cluster)
    for change in story:
        cluster.apply(change)
        for pod in (make_pod(), make_pod().node("a"), make_pod().node("b"), make_pod().node("nowhere")):
            check(pod.info())


def test_pods_of_one_shape_are_distinguished_by_the_node_that_they_name() -> None:
    shapes = ChangingCluster().shapes
    one, other = shapes.info(make_pod().node("a").obj()), shapes.info(make_pod().node("b").obj())

    assert one.shape is other.shape
    assert NodeName().filter_fragment(one) != NodeName().filter_fragment(other)


def test_no_column_is_kept_for_pods_that_name_no_node() -> None:
    assert NodeName().filter_kernel(make_pod().info(), ChangingCluster().table) is None
