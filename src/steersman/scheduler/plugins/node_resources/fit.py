# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit: requires free resources for the pod's requests, and scores by utilisation.

PreFilter adds up the requests, Filter compares them with the free resources (`insufficient`),
PreScore and Score apply the configured strategy (`strategies`). Hints are in `fit_hints`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import partial
from typing import Final

import msgspec

from steersman.api import DeviceClass, Pod
from steersman.base import InputError
from steersman.config import NodeResourcesFitArgs, Rule
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    DeviceClasses,
    EnqueueExtensions,
    EventResource,
    FilterKernel,
    FilterPlugin,
    Handle,
    KernelFault,
    NodeInfo,
    NodesView,
    PerPodFragment,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
    PodInfo,
    PodShape,
    PreFilterPlugin,
    PreScorePlugin,
    ScoreKernel,
    ScorePlugin,
    Status,
    StatusTable,
    error,
    fault,
    may_be_devices,
    pod_requests,
    scoring_requests,
    unresolvable,
)
from steersman.scheduler.plugins.node_resources import fit_hints
from steersman.scheduler.plugins.node_resources.allocation import (
    ERR_NO_RESOURCES,
    allocation,
    requested_with_minimum_on,
)
from steersman.scheduler.plugins.node_resources.device_scores import DeviceAmounts, DeviceRowScores
from steersman.scheduler.plugins.node_resources.fit_columns import fit_kernel
from steersman.scheduler.plugins.node_resources.insufficient import (
    CheckedRequest,
    checked_requests,
    insufficient_resources,
    rejection,
)
from steersman.scheduler.plugins.node_resources.placement_score import placement_score_of_sums
from steersman.scheduler.plugins.node_resources.strategies import strategy_function
from steersman.scheduler.plugins.node_resources.strategy_columns import strategy_kernel

ERR_SIDECARS_DISABLED: Final = "Pod has a restartable init container and the SidecarContainers feature is disabled"
ERR_NO_STRATEGY: Final = "scoring strategy not specified"
PRE_FILTER_KEY: Final = "PreFilterNodeResourcesFit"
PRE_SCORE_KEY: Final = "PreScoreNodeResourcesFit"


class FilterRequests(msgspec.Struct, frozen=True):
    """The requests that the node must satisfy, passed from PreFilter to Filter."""

    checked: tuple[CheckedRequest, ...]


class ScoreRequests(msgspec.Struct, frozen=True):
    """The pod's amounts in the order of the strategy's resources, passed from PreScore to Score."""

    amounts: tuple[int, ...]


class NodeResourcesFit(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    EnqueueExtensions,
    ColumnarFilter,
    ColumnarScore,
    PerPodFragment,
    PlacementScorePlugin,
):
    """Rejects nodes without room for the pod; scores the others by utilisation."""

    name = "NodeResourcesFit"

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        self._ignored_resources = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        if args.scoring_strategy is None:
            raise InputError(ERR_NO_STRATEGY)
        self._strategy = args.scoring_strategy
        self._resources = args.scoring_strategy.resources
        self._score_allocation = strategy_function(args.scoring_strategy)
        self._gates = handle.gates
        self._resize_by_totals = handle.gates.has_rule(Rule.RESIZE_BY_TOTALS)
        self._classes = DeviceClasses(handle.objects) if handle.gates.enabled("DRAExtendedResource") else None
        self._devices = DeviceAmounts(self._resources, self._classes, handle) if self._classes is not None else None
        self._nodes = handle.nodes
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if has_sidecar(pod.pod) and not self._gates.enabled("SidecarContainers"):
            return unresolvable(ERR_SIDECARS_DISABLED)
        state.write(PRE_FILTER_KEY, FilterRequests(self.checked_requests(pod)))
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        requests = state.read(PRE_FILTER_KEY, FilterRequests)
        if requests is None:
            return error(f'error reading "{PRE_FILTER_KEY}" from cycleState: not found')
        lacking = insufficient_resources(requests.checked, node)
        if not lacking:
            return None
        return rejection((resource.reason for resource in lacking), any(resource.unresolvable for resource in lacking))

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        return self.checked_requests(pod)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel:
        return fit_kernel(self.checked_requests(pod), view, self.statuses)

    def checked_requests(self, pod: PodInfo) -> tuple[CheckedRequest, ...]:
        """Return the requests that a node must have enough free resources for."""
        requests = pod_requests(pod.pod, status=False)
        return checked_requests(requests, self._ignored_resources, self._ignored_groups, self._classes)

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        """Return the extended resources that device classes, which may change, back at present."""
        if self._classes is None:
            return ()
        classes = self._classes
        return tuple(r for r in pod.shape.requests if may_be_devices(r) and classes.behind(r) is not None)

    @property
    def fragment_kinds(self) -> Collection[type[object]]:
        return () if self._classes is None else (DeviceClass,)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        state.write(PRE_SCORE_KEY, self._score_requests(pod))
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int | Status:
        if not self._resources:
            return error(ERR_NO_RESOURCES)
        requests = state.read(PRE_SCORE_KEY, ScoreRequests) or self._score_requests(pod)
        return self._score(requests, node)

    def _score(self, requests: ScoreRequests, node: NodeInfo) -> int:
        amounts = allocation(self._resources, node, requests.amounts, requested_with_minimum_on, self._devices)
        return self._score_allocation(*amounts)

    def score_placement(self, state: CycleState, group: PodGroupInfo, placed: PodGroupAssignments) -> int:
        """Return how much of the placement's resources is used with the members placed there."""
        members: dict[PodShape, list[PodInfo]] = {}
        for assignment in placed.assignments:
            members.setdefault(assignment.pod.shape, []).append(assignment.pod)
        amounts = [(self._score_requests(alike[0]).amounts, len(alike)) for alike in members.values()]
        wanted = [sum(each[i] * number for each, number in amounts) for i in range(len(self._resources))]
        names = () if placed.placement is None else placed.placement.node_names
        return placement_score_of_sums(self._resources, wanted, partial(self._nodes.amounts, names))

    def score_fragment(self, pod: PodInfo) -> Hashable:
        requests = self._score_requests(pod)
        return None if self._counts_devices(requests) else requests

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel:
        if not self._resources:
            raise KernelFault(fault("Score", self.name, ERR_NO_RESOURCES))
        requests = self._score_requests(pod)
        if self._counts_devices(requests):
            return DeviceRowScores(view, partial(self._score, requests))
        return strategy_kernel(self._strategy, requests.amounts, view)

    def _counts_devices(self, requests: ScoreRequests) -> bool:
        return self._devices is not None and self._devices.matter_for(requests.amounts)

    def _score_requests(self, pod: PodInfo) -> ScoreRequests:
        """Return the amounts with per-container minimums, without pod-level requests or resizes."""
        requests = scoring_requests(pod.pod, with_minimum=True, status=False, pod_level=False)
        return ScoreRequests(tuple(requests.get(spec.name, 0) for spec in self._resources))

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pod_event = ClusterEvent(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        events = (
            ClusterEventWithHint(pod_event, partial(fit_hints.after_pod_event, by_totals=self._resize_by_totals)),
            ClusterEventWithHint(node_event, partial(fit_hints.after_node_event, self._classes)),
        )
        if not self._gates.enabled("DRAExtendedResource"):
            return events
        class_event = ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE)
        return (*events, ClusterEventWithHint(class_event, fit_hints.after_device_class_event))


def has_sidecar(pod: Pod) -> bool:
    return any(container.restart_policy == "Always" for container in pod.spec.init_containers)
