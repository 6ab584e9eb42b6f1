# SPDX-License-Identifier: Apache-2.0
"""NodeDeclaredFeatures says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, Change, ChangingCluster, FilterCheck, changes
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.pod_info import PodShapes
from steersman.scheduler.plugins.node_declared_features import FEATURE_GATE, NodeDeclaredFeatures
from steersman.testing import make_node

features = st.sets(
    st.sampled_from(["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "Other"])
).map(sorted)
nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, features: make_node(name).declared_features(*features).obj(), st.sampled_from(NODE_NAMES), features
)

RESTARTING = (api.Container(restart_policy_rules=(api.ContainerRestartRule(action="RestartAllContainers"),)),)
PLAIN = api.Pod()
ON_HOST_NETWORK = api.Pod(spec=api.PodSpec(host_network=True))
ISOLATED_ON_HOST_NETWORK = api.Pod(spec=api.PodSpec(host_network=True, host_users=False))
ALL_RESTART = api.Pod(spec=api.PodSpec(containers=RESTARTING))
BOTH = api.Pod(spec=api.PodSpec(host_network=True, host_users=False, containers=RESTARTING))


@examples(60)
@given(changes(nodes), st.booleans())
def test_vector_and_scalar_form_agree(story: list[Change], enabled: bool) -> None:
    cluster = ChangingCluster()
    check = FilterCheck(NodeDeclaredFeatures(None, FakeHandle(gates={FEATURE_GATE: enabled})), cluster)
    for change in story:
        cluster.apply(change)
        for pod in (PLAIN, ON_HOST_NETWORK, ISOLATED_ON_HOST_NETWORK, ALL_RESTART, BOTH):
            check(cluster.shapes.info(pod))


def test_pods_that_differ_in_what_they_need_differ_in_shape() -> None:
    shapes = PodShapes()

    assert shapes.info(ON_HOST_NETWORK).shape is not shapes.info(ISOLATED_ON_HOST_NETWORK).shape
