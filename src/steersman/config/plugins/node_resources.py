# SPDX-License-Identifier: Apache-2.0
"""Arguments of NodeResourcesFit and NodeResourcesBalancedAllocation."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from steersman.config.configuration import ConfigStruct
from steersman.config.errors import (
    FieldError,
    child,
    duplicate,
    forbidden,
    invalid,
    label_key_errors,
    not_supported,
    required,
)
from steersman.config.feature_gates import FeatureGates
from steersman.config.field_kinds import INT64, TEXT, TEXTS, Field, ListOf, ObjectOf, always
from steersman.config.plugins.arguments import PluginArgs
from steersman.config.plugins.utilization_shape import SHAPE, UtilizationShapePoint, shape_errors


class ResourceSpec(ConfigStruct, frozen=True):
    name: str = ""
    weight: int = 1


RESOURCES: Final = ListOf(
    ObjectOf(ResourceSpec, {"name": always("name", TEXT), "weight": Field("weight", INT64, zero_is_absent=True)})
)
DEFAULT_RESOURCES: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


# -- NodeResourcesBalancedAllocation -----------------------------------------------------------------------------------


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True):
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES

    document_fields = {"resources": Field("resources", RESOURCES, zero_is_absent=True)}

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        errors = []
        seen: set[str] = set()
        for index, resource in enumerate(self.resources):
            where = f"{child(path, 'resources')}[{index}]"
            if resource.name in seen:
                errors.append(duplicate(f"{where}.name", resource.name))
            seen.add(resource.name)
            if resource.weight != 1:
                errors.append(invalid(f"{where}.weight", resource.weight, "must be 1"))
        return errors


# -- NodeResourcesFit --------------------------------------------------------------------------------------------------


class ScoringStrategyType(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class RequestedToCapacityRatioParam(ConfigStruct, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct, frozen=True):
    """The scoring of NodeResourcesFit. Validation limits `type` to `ScoringStrategyType`."""

    type: str = ScoringStrategyType.LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


_RATIO: Final = ObjectOf(RequestedToCapacityRatioParam, {"shape": Field("shape", SHAPE)})
_STRATEGY: Final = ObjectOf(
    ScoringStrategy,
    {
        "type": Field("type", TEXT, absent=""),
        "resources": Field("resources", RESOURCES, zero_is_absent=True),
        "requestedToCapacityRatio": Field("requested_to_capacity_ratio", _RATIO),
    },
)


class NodeResourcesFitArgs(PluginArgs, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = ScoringStrategy()

    document_fields = {
        "ignoredResources": Field("ignored_resources", TEXTS),
        "ignoredResourceGroups": Field("ignored_resource_groups", TEXTS),
        "scoringStrategy": Field("scoring_strategy", _STRATEGY),
    }
    #: Upstream's table of argument checks misspells the name of this plugin.
    checked_only_when_built = True

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        errors: list[FieldError] = []
        for index, resource in enumerate(self.ignored_resources):
            errors += label_key_errors(f"{child(path, 'ignoredResources')}[{index}]", resource)
        for index, group in enumerate(self.ignored_resource_groups):
            where = f"{child(path, 'ignoredResourceGroups')}[{index}]"
            if "/" in group:
                errors.append(invalid(where, group, "resource group name can't contain '/'"))
            errors += label_key_errors(where, group)
        strategy_path = child(path, "scoringStrategy")
        if self.scoring_strategy is None:
            return [*errors, required(strategy_path, "ScoringStrategy field is required")]
        return errors + _strategy_errors(strategy_path, self.scoring_strategy)


def _strategy_errors(path: str, strategy: ScoringStrategy) -> list[FieldError]:
    errors = []
    if strategy.type not in tuple(ScoringStrategyType):
        errors.append(not_supported(f"{path}.type", strategy.type, ScoringStrategyType))
    errors += _weight_errors(f"{path}.resources", strategy.resources)
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type != ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
        unexpected = forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")
        return errors if ratio is None else [*errors, unexpected]
    if ratio is None:
        return [*errors, required(ratio_path, "must be specified when type is RequestedToCapacityRatio")]
    return errors + shape_errors(f"{ratio_path}.shape", ratio.shape)


def _weight_errors(path: str, resources: Sequence[ResourceSpec]) -> list[FieldError]:
    return [
        invalid(
            f"{path}[{index}].weight",
            resource.weight,
            f"resource weight of {resource.name} not in valid range (0, 100]",
        )
        for index, resource in enumerate(resources)
        if not 0 < resource.weight <= 100
    ]
