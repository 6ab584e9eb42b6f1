# SPDX-License-Identifier: Apache-2.0
"""Prefer nodes whose price label is low."""

from steersman.framework import Depends, NodeInfo, PodInfo, ScorePlugin


class CheapNodes(ScorePlugin):
    """100 for a node that costs nothing, 0 for one that costs 100 or more, or does not say."""

    name = "CheapNodes"
    #: A promise: the score depends on the node object only, so that it is computed once per node.
    depends = Depends.NODE

    def fragment(self, pod: PodInfo) -> None:
        """Nothing in the pod matters: all pods share the scores."""

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 100 - min(100, int(node.labels.get("price", "100")))
