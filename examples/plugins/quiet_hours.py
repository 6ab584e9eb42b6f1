# SPDX-License-Identifier: Apache-2.0
"""Keep batch pods off nodes that are reserved for interactive work, and say when to try again."""

from steersman import api
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    FilterPlugin,
    NodeInfo,
    PodInfo,
    QueueingHint,
)


class QuietHours(FilterPlugin, EnqueueExtensions):
    name = "QuietHours"

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool | str:
        if pod.labels.get("tier") == "batch" and node.labels.get("quiet") == "true":
            return "node(s) are reserved for interactive work"
        return True

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """A batch pod is worth another attempt when a node appears, or when a node's labels change for the better."""
        relevant = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return (ClusterEventWithHint(relevant, self.may_help),)

    def may_help(self, pod: api.Pod, old: object, new: object) -> QueueingHint:
        helps = isinstance(new, api.Node) and new.metadata.labels.get("quiet") != "true"
        return QueueingHint.QUEUE if helps else QueueingHint.SKIP
