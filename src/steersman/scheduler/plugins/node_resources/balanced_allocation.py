# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesBalancedAllocation: prefers nodes whose resources the pod uses more evenly.

Score only; the rule and its vector form are in `balance`. Pods that request none of the resources
are skipped: they change no balance, and would all go to the same node.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import partial
from typing import Final

import msgspec

from steersman.api import DeviceClass
from steersman.config import NodeResourcesBalancedAllocationArgs, Rule
from steersman.framework import (
    SKIP,
    ClusterScoreKernel,
    ColumnarScore,
    CycleState,
    DeviceClasses,
    Handle,
    NodeInfo,
    NodesView,
    PerPodFragment,
    PodInfo,
    PreScorePlugin,
    ScoreKernel,
    ScorePlugin,
    Status,
    error,
    scoring_requests,
)
from steersman.scheduler.plugins.node_resources.allocation import ERR_NO_RESOURCES, allocation, requested_on
from steersman.scheduler.plugins.node_resources.balance import balance_kernel, balance_score
from steersman.scheduler.plugins.node_resources.device_scores import DeviceAmounts, DeviceRowScores

PRE_SCORE_KEY: Final = "PreScoreNodeResourcesBalancedAllocation"


class BalancedRequests(msgspec.Struct, frozen=True):
    """The pod's requests in the order of the configured resources, from PreScore to Score."""

    amounts: tuple[int, ...]

    @property
    def is_best_effort(self) -> bool:
        return not any(self.amounts)


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin, ColumnarScore, PerPodFragment):
    """Scores a node by how much more evenly its resources are used with the pod."""

    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._resources = args.resources
        self._resize_by_totals = handle.gates.has_rule(Rule.RESIZE_BY_TOTALS)
        classes = DeviceClasses(handle.objects) if handle.gates.enabled("DRAExtendedResource") else None
        self._devices = None if classes is None else DeviceAmounts(args.resources, classes, handle)

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
        return self._score(requests, node)

    def _score(self, requests: BalancedRequests, node: NodeInfo) -> int:
        return balance_score(*allocation(self._resources, node, requests.amounts, requested_on, self._devices))

    def score_fragment(self, pod: PodInfo) -> Hashable:
        requests = self._requests(pod)
        return None if self._counts_devices(requests) else requests

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        requests = self._requests(pod)
        if requests.is_best_effort:
            return None
        if self._counts_devices(requests):
            return DeviceRowScores(view, partial(self._score, requests))
        return balance_kernel(self._resources, requests.amounts, view)

    @property
    def has_pod_fragments(self) -> bool:
        return self._devices is not None and self._devices.may_matter

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        """Return whether devices count, which changes with the cluster's device classes."""
        return self._counts_devices(self._requests(pod))

    @property
    def fragment_kinds(self) -> Collection[type[object]]:
        return () if self._devices is None else (DeviceClass,)

    def _counts_devices(self, requests: BalancedRequests) -> bool:
        return self._devices is not None and self._devices.matter_for(requests.amounts)

    def _requests(self, pod: PodInfo) -> BalancedRequests:
        requests = scoring_requests(pod.pod, with_minimum=False, by_totals=self._resize_by_totals)
        return BalancedRequests(tuple(requests.get(spec.name, 0) for spec in self._resources))
