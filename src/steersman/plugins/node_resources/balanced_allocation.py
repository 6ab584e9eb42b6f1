"""NodeResourcesBalancedAllocation: prefers nodes whose resources the pod uses more evenly.

Score only. The imbalance of a node is the standard deviation of the used shares of its resources; what counts is how
the pod changes it, so that an already lopsided node is not blamed on the pod. Pods that request none of the resources
are left out: they change no balance, and would all go to the same node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steersman.config import NodeResourcesBalancedAllocationArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import Handle
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import MAX_NODE_SCORE, PreScorePlugin, ScorePlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_resources import scoring_requests
from steersman.framework.status import SKIP, Status, error
from steersman.plugins.node_resources.allocation import ERR_NO_RESOURCES, allocation, requested_on

PRE_SCORE_KEY: Final = "PreScoreNodeResourcesBalancedAllocation"
_HALF: Final = MAX_NODE_SCORE // 2


@dataclass(frozen=True, slots=True)
class BalancedRequests:
    """From PreScore to Score: what the pod requests, in the order of the configured resources."""

    amounts: tuple[int, ...]

    @property
    def is_best_effort(self) -> bool:
        return not any(self.amounts)


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores a node by how much more evenly its resources are used with the pod."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._resources = args.resources

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        requests = self._requests(pod)
        if requests.is_best_effort:
            return SKIP
        state.write(PRE_SCORE_KEY, requests)
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int | Status:
        requests = state.read(PRE_SCORE_KEY, BalancedRequests) or self._requests(pod)
        if requests.is_best_effort:
            return 0
        if not self._resources:
            return error(ERR_NO_RESOURCES)
        return balance_score(*allocation(self._resources, node, requests.amounts, requested_on))

    def _requests(self, pod: PodInfo) -> BalancedRequests:
        requests = scoring_requests(pod.pod, with_minimum=False)
        return BalancedRequests(tuple(requests.get(spec.name, 0) for spec in self._resources))


def balance_score(requested: Sequence[int], allocated: Sequence[int], allocatable: Sequence[int]) -> int:
    """75 when the pod leaves the balance as it is, towards 100 when it improves it, towards 50 when it worsens it."""
    improvement = balance(requested, allocatable) - balance(allocated, allocatable)
    return _HALF + (_HALF + improvement) // 2


def balance(used: Sequence[int], allocatable: Sequence[int]) -> int:
    """50..100: the evener the used shares of the resources, the higher."""
    shares = [min(float(part) / float(whole), 1.0) for part, whole in zip(used, allocatable, strict=True) if whole]
    return int((1 - standard_deviation(shares)) * MAX_NODE_SCORE)


def standard_deviation(shares: Sequence[float]) -> float:
    """The order of the float operations is upstream's; for two shares it takes a shorter way, with other roundings."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2)
    mean = _sum(shares) / len(shares)
    return math.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))


def _sum(values: Sequence[float]) -> float:
    """From left to right; the built-in `sum` compensates rounding errors in newer versions of Python."""
    total = 0.0
    for value in values:
        total += value
    return total
