# SPDX-License-Identifier: Apache-2.0
"""Arguments of the in-tree plugins, as the plugins receive them: every default applied.

Made by `decoder` and `defaults`, checked by `args_validation`, handed to plugins by the runtime. A Struct made without
arguments is the plugin's default configuration.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from steersman.api import NodeAffinity, TopologySpreadConstraint
from steersman.config.durations import Duration

MAX_CUSTOM_PRIORITY_SCORE: Final = 10
"""The largest score in the shape of a utilization function."""


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all configuration types: immutable, fields by name."""


class UtilizationShapePoint(ConfigStruct, frozen=True):
    """A point of a piecewise linear function from utilization (0 to 100) to score (0 to 10)."""

    utilization: int = 0
    score: int = 0


class ResourceSpec(ConfigStruct, frozen=True):
    name: str = ""
    weight: int = 1


DEFAULT_RESOURCES: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class ScoringStrategyType(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class RequestedToCapacityRatioParam(ConfigStruct, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct, frozen=True):
    """How NodeResourcesFit scores. `type` is plain text until validation, which allows `ScoringStrategyType` only."""

    type: str = ScoringStrategyType.LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(ConfigStruct, frozen=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class DynamicResourcesArgs(ConfigStruct, frozen=True):
    """Arguments of DynamicResources. A timeout of `None` means that its feature is off; a `filter_timeout` of zero means no
    limit."""

    filter_timeout: Duration | None = Duration.from_seconds(10)
    binding_timeout: Duration | None = Duration.from_seconds(600)


class InterPodAffinityArgs(ConfigStruct, frozen=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(ConfigStruct, frozen=True):
    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(ConfigStruct, frozen=True):
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class NodeResourcesFitArgs(ConfigStruct, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = ScoringStrategy()


class DefaultingType(StrEnum):
    SYSTEM = "System"
    LIST = "List"


class PodTopologySpreadArgs(ConfigStruct, frozen=True):
    """Arguments of PodTopologySpread. `defaulting_type` is plain text until validation, which allows `DefaultingType` only."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = DefaultingType.SYSTEM


class VolumeBindingArgs(ConfigStruct, frozen=True):
    """Arguments of VolumeBinding. A `shape` may only be given (even an empty one) with storage capacity scoring."""

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


PluginArgs: TypeAlias = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

ARGS_TYPES: Final[dict[str, type[PluginArgs]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}
"""Plugin name to the type of its arguments, for the plugins that have one."""
