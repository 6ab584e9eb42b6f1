# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.cycles import Cycle

from steersman.framework.events import ActionType, ClusterEvent
from steersman.testing import make_pod


def test_pods_and_node_labels_wake_rejected_pods() -> None:
    registered = Cycle(make_pod(), []).plugin.events_to_register()
    assert [row.event for row in registered] == [
        ClusterEvent("Pod", ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE),
        ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
    ]
    assert all(row.hint is not None for row in registered)
