# SPDX-License-Identifier: Apache-2.0
"""NodeUnschedulable says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, Change, ChangingCluster, FilterCheck, changes
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.scheduler.plugins.node_unschedulable import UNSCHEDULABLE_TAINT, NodeUnschedulable
from steersman.testing import PodBuilder, make_node, make_pod

CORDON = UNSCHEDULABLE_TAINT.key
INDIFFERENT = make_pod()
TOLERANT = make_pod().toleration(CORDON, effect="NoSchedule")

nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, cordoned: make_node(name).unschedulable(cordoned).obj(), st.sampled_from(NODE_NAMES), st.booleans()
)


@examples(60)
@given(changes(nodes))
def test_vector_and_scalar_form_agree(story: list[Change]) -> None:
    cluster = ChangingCluster()
    check = FilterCheck(NodeUnschedulable(None, FakeHandle()), cluster)
    for change in story:
        cluster.apply(change)
        for pod in (INDIFFERENT, TOLERANT, make_pod().toleration(), make_pod().toleration(CORDON, effect="NoExecute")):
            check(pod.info())


def fragment(pod: PodBuilder) -> bool:
    return NodeUnschedulable(None, FakeHandle()).filter_fragment(pod.info())


def test_all_pods_that_do_not_tolerate_the_cordon_share_a_column() -> None:
    assert fragment(INDIFFERENT) == fragment(make_pod().toleration("gpu")) != fragment(TOLERANT)


def test_no_column_is_kept_for_pods_that_tolerate_the_cordon() -> None:
    plugin = NodeUnschedulable(None, FakeHandle())

    assert plugin.filter_kernel(TOLERANT.info(), ChangingCluster().table) is None
