# SPDX-License-Identifier: Apache-2.0
"""The placement score of NodeResourcesFit: how much of the resources of all nodes of a placement is
used with the members of the group placed there.

Always by the strategy MostAllocated, whatever the configured one is, with its resources and
weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from steersman.config import ResourceSpec, ScoringStrategy, ScoringStrategyType
from steersman.framework import NodeAmounts, NodeInfo, int64
from steersman.scheduler.plugins.node_resources.allocation import requested_with_minimum_on, takes_part
from steersman.scheduler.plugins.node_resources.strategies import strategy_function


def placement_score(resources: Sequence[ResourceSpec], wanted: Sequence[int], nodes: Iterable[NodeInfo]) -> int:
    """Return the score of a placement with these nodes; `wanted` are the amounts of the members in
    the order of `resources`."""
    requested, offered = [int64(amount) for amount in wanted], [0] * len(resources)
    for node in nodes:
        for index, spec in enumerate(resources):
            # As upstream: a scalar resource takes part only once some of it is requested.
            capacity = node.allocatable(spec.name) if takes_part(spec.name, requested[index]) else 0
            if capacity:
                offered[index] = int64(offered[index] + capacity)
                requested[index] = int64(requested[index] + requested_with_minimum_on(node, spec.name))
    return _score(resources, requested, offered)


def placement_score_of_sums(
    resources: Sequence[ResourceSpec], wanted: Sequence[int], amounts: Callable[[str], NodeAmounts]
) -> int:
    """Return `placement_score` from the summed amounts of the nodes."""
    requested, offered = [int64(amount) for amount in wanted], [0] * len(resources)
    for index, spec in enumerate(resources):
        if takes_part(spec.name, requested[index]):
            offered[index], used = amounts(spec.name)
            requested[index] = int64(requested[index] + used)
    return _score(resources, requested, offered)


def _score(resources: Sequence[ResourceSpec], requested: Sequence[int], offered: Sequence[int]) -> int:
    most_allocated = ScoringStrategy(ScoringStrategyType.MOST_ALLOCATED, tuple(resources))
    return strategy_function(most_allocated)(requested, requested, offered)
