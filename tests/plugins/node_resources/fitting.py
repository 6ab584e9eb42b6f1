# SPDX-License-Identifier: Apache-2.0
"""Shorthands for the tests of NodeResourcesFit and NodeResourcesBalancedAllocation."""

from __future__ import annotations

from collections.abc import Mapping

from tests.plugins.handles import FakeHandle

from steersman.config import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy, ScoringStrategyType
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.status import Status
from steersman.scheduler.plugins.node_resources import NodeResourcesFit
from steersman.testing import PodBuilder

GPU = "example.com/gpu"
FPGA = "example.com/fpga"
NATIVE = "kubernetes.io/something"
HUGE_PAGES = "hugepages-2Mi"


def fit_plugin(args: NodeResourcesFitArgs | None = None, gates: Mapping[str, bool] | None = None) -> NodeResourcesFit:
    return NodeResourcesFit(args or NodeResourcesFitArgs(), FakeHandle(gates=gates))


def verdict(pod: PodBuilder, node: NodeInfo, args: NodeResourcesFitArgs | None = None) -> Status | None:
    """What Filter says of the node after PreFilter."""
    plugin, state = fit_plugin(args), CycleState()
    assert plugin.pre_filter(state, pod.info(), [node]) is None
    return plugin.filter(state, pod.info(), node)


def resources(**weights: int) -> tuple[ResourceSpec, ...]:
    """Resources with their weights: `resources(cpu=1, memory=2)`."""
    return tuple(ResourceSpec(name=name, weight=weight) for name, weight in weights.items())


def strategy(kind: ScoringStrategyType, specs: tuple[ResourceSpec, ...] | None = None) -> ScoringStrategy:
    return ScoringStrategy(type=kind) if specs is None else ScoringStrategy(type=kind, resources=specs)


def fit_score(pod: PodBuilder, node: NodeInfo, scoring: ScoringStrategy) -> int | Status:
    """What Score says of the node after PreScore."""
    plugin, state = fit_plugin(NodeResourcesFitArgs(scoring_strategy=scoring)), CycleState()
    assert plugin.pre_score(state, pod.info(), [node]) is None
    return plugin.score(state, pod.info(), node)
