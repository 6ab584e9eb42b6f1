# SPDX-License-Identifier: Apache-2.0
"""The contract: all that a plugin may import besides `steersman.api` and numpy.

A plugin derives from the extension points it takes part in (`plugin`), answers with `Status` values (`status`), sees pods
and nodes through `PodInfo` and `NodeInfo`, names the events that may help a pod it rejected (`events`), and may have a
vector form (`columns`).
"""

from steersman.framework.columns import Depends
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    HintFn,
    QueueingHint,
)
from steersman.framework.handle import (
    Handle,
    Nodes,
    Objects,
    PermitHandle,
    PodAccess,
    PostFilterHandle,
    PreBindHandle,
    WaitingPod,
    WhatIf,
)
from steersman.framework.hints import changed, deleted
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    BackgroundPlugin,
    BindPlugin,
    ConcernsSomePods,
    EnqueueExtensions,
    FilterPlugin,
    NodeScore,
    NodeStatusReader,
    PermitPlugin,
    PermitResult,
    Plugin,
    PostBindPlugin,
    PostFilterAnswer,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    RejectionAnswer,
    ReservePlugin,
    ScorePlugin,
    StatusAnswer,
    TellsReleasedPods,
    default_normalize_score,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.pods_to_activate import pods_to_activate
from steersman.framework.reading import ApiReader, ApiReadError
from steersman.framework.status import SKIP, Code, Status, unresolvable, unschedulable

__all__ = [
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SKIP",
    "ActionType",
    "ApiReadError",
    "ApiReader",
    "BackgroundPlugin",
    "BindPlugin",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "ConcernsSomePods",
    "CycleState",
    "Depends",
    "EnqueueExtensions",
    "EventResource",
    "FilterPlugin",
    "Handle",
    "HintFn",
    "NodeInfo",
    "NodeScore",
    "NodeStatusReader",
    "Nodes",
    "Objects",
    "PermitHandle",
    "PermitPlugin",
    "PermitResult",
    "Plugin",
    "PodAccess",
    "PodInfo",
    "PostBindPlugin",
    "PostFilterAnswer",
    "PostFilterHandle",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindHandle",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "QueuedPod",
    "QueueingHint",
    "RejectionAnswer",
    "ReservePlugin",
    "ScorePlugin",
    "Status",
    "StatusAnswer",
    "TellsReleasedPods",
    "WaitingPod",
    "WhatIf",
    "changed",
    "default_normalize_score",
    "deleted",
    "pods_to_activate",
    "unresolvable",
    "unschedulable",
]
