# SPDX-License-Identifier: Apache-2.0
"""What plugin methods are called with in these tests."""

from __future__ import annotations

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.testing import make_node, make_pod


def arguments() -> tuple[CycleState, PodInfo, NodeInfo]:
    return CycleState(), make_pod("p").info(), make_node("n1").info()
