# SPDX-License-Identifier: Apache-2.0
"""What plugin methods are called with in these tests."""

from __future__ import annotations

import re

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.testing import make_node, make_pod


def without_place(message: str) -> str:
    """Return the message of a fault without the file and line of the plugin's code."""
    return re.sub(r" \([^()]*\.py, line \d+(, in \w+)?\)", "", message)


def arguments() -> tuple[CycleState, PodInfo, NodeInfo]:
    return CycleState(), make_pod("p").info(), make_node("n1").info()
