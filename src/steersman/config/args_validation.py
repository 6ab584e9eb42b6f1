# SPDX-License-Identifier: Apache-2.0
"""Validation of plugin arguments, with kube-scheduler's texts.

`validation` calls it with the path of the arguments in the document; `effective_configuration` calls it for NodeResourcesFit,
whose arguments kube-scheduler looks at only when it makes the plugin. Each function returns the errors in upstream's order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steersman.api import (
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
    label_syntax,
)
from steersman.config.configuration import (
    MAX_CUSTOM_PRIORITY_SCORE,
    DefaultingType,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from steersman.config.durations import Duration
from steersman.config.errors import FieldError, child, duplicate, forbidden, invalid, not_supported, required, unique
from steersman.config.feature_gates import BINDING_CONDITION_GATES, FeatureGates
from steersman.config.field_kinds import UNWRITTEN_LIST

_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_SHORTEST_BINDING_TIMEOUT: Final = Duration.from_seconds(1)
_MAX_PERCENTAGE: Final = 100
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")


def args_errors(path: str, args: PluginArgs, gates: FeatureGates) -> list[FieldError]:
    """The errors in the arguments of an in-tree plugin; `path` is where they stand, empty for relative fields."""
    match args:
        case DefaultPreemptionArgs():
            return _default_preemption(path, args)
        case DynamicResourcesArgs():
            return _dynamic_resources(path, args, gates)
        case InterPodAffinityArgs():
            return _inter_pod_affinity(path, args)
        case NodeAffinityArgs():
            return added_affinity_errors(child(path, "addedAffinity"), args.added_affinity)
        case NodeResourcesBalancedAllocationArgs():
            return _balanced_allocation(path, args)
        case NodeResourcesFitArgs():
            return _fit(path, args)
        case PodTopologySpreadArgs():
            return _topology_spread(path, args)
        case VolumeBindingArgs():
            return _volume_binding(path, args, gates)


def _default_preemption(path: str, args: DefaultPreemptionArgs) -> list[FieldError]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path, absolute_path = (
        child(path, "minCandidateNodesPercentage"),
        child(path, "minCandidateNodesAbsolute"),
    )
    errors = []
    if not 0 <= percentage <= _MAX_PERCENTAGE:
        errors.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        together = "cannot be zero at the same time as "
        errors.append(invalid(percentage_path, percentage, together + "minCandidateNodesAbsolute"))
        errors.append(invalid(absolute_path, absolute, together + "minCandidateNodesPercentage"))
    return errors


def _dynamic_resources(path: str, args: DynamicResourcesArgs, gates: FeatureGates) -> list[FieldError]:
    return [
        *_filter_timeout(child(path, "filterTimeout"), args.filter_timeout, gates),
        *_binding_timeout(child(path, "bindingTimeout"), args.binding_timeout, gates),
    ]


def _filter_timeout(path: str, timeout: Duration | None, gates: FeatureGates) -> list[FieldError]:
    if timeout is None:
        return []
    if not gates.enabled("DRASchedulerFilterTimeout"):
        return [forbidden(path, "DRASchedulingFilterTimeout feature gate is disabled")]
    return [invalid(path, timeout, "must be zero or positive")] if timeout < Duration(0) else []


def _binding_timeout(path: str, timeout: Duration | None, gates: FeatureGates) -> list[FieldError]:
    if timeout is None:
        return []
    if not all(gates.enabled(gate) for gate in BINDING_CONDITION_GATES):
        return [forbidden(path, f"{' or '.join(BINDING_CONDITION_GATES)} feature gate is disabled")]
    return [invalid(path, timeout, "must be at least 1 second")] if timeout < _SHORTEST_BINDING_TIMEOUT else []


def _inter_pod_affinity(path: str, args: InterPodAffinityArgs) -> list[FieldError]:
    weight = args.hard_pod_affinity_weight
    if 0 <= weight <= _MAX_PERCENTAGE:
        return []
    return [invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]


def _balanced_allocation(path: str, args: NodeResourcesBalancedAllocationArgs) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        where = f"{child(path, 'resources')}[{index}]"
        if resource.name in seen:
            errors.append(duplicate(f"{where}.name", resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            errors.append(invalid(f"{where}.weight", resource.weight, "must be 1"))
    return errors


def _fit(path: str, args: NodeResourcesFitArgs) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, resource in enumerate(args.ignored_resources):
        errors += _label_name(f"{child(path, 'ignoredResources')}[{index}]", resource)
    for index, group in enumerate(args.ignored_resource_groups):
        where = f"{child(path, 'ignoredResourceGroups')}[{index}]"
        if "/" in group:
            errors.append(invalid(where, group, "resource group name can't contain '/'"))
        errors += _label_name(where, group)
    strategy_path = child(path, "scoringStrategy")
    if args.scoring_strategy is None:
        return [*errors, required(strategy_path, "ScoringStrategy field is required")]
    return errors + _strategy(strategy_path, args.scoring_strategy)


def _strategy(path: str, strategy: ScoringStrategy) -> list[FieldError]:
    errors = []
    if strategy.type not in tuple(ScoringStrategyType):
        errors.append(not_supported(f"{path}.type", strategy.type, ScoringStrategyType))
    errors += _resources(f"{path}.resources", strategy.resources)
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type != ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
        unexpected = forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")
        return errors if ratio is None else [*errors, unexpected]
    if ratio is None:
        return [*errors, required(ratio_path, "must be specified when type is RequestedToCapacityRatio")]
    return errors + shape_errors(f"{ratio_path}.shape", ratio.shape)


def _resources(path: str, resources: Sequence[ResourceSpec]) -> list[FieldError]:
    return [
        invalid(
            f"{path}[{index}].weight",
            resource.weight,
            f"resource weight of {resource.name} not in valid range (0, 100]",
        )
        for index, resource in enumerate(resources)
        if not 0 < resource.weight <= _MAX_PERCENTAGE
    ]


def shape_errors(path: str, shape: Sequence[UtilizationShapePoint]) -> list[FieldError]:
    """The errors in a function from utilization to score."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors = _first_unsorted(path, shape)
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= _MAX_PERCENTAGE:
            errors.append(invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= MAX_CUSTOM_PRIORITY_SCORE:
            errors.append(invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]"))
    return errors


def _first_unsorted(path: str, shape: Sequence[UtilizationShapePoint]) -> list[FieldError]:
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            where = f"{path}[{index}].utilization"
            return [invalid(where, shape[index].utilization, "values must be sorted in increasing order")]
    return []


def _topology_spread(path: str, args: PodTopologySpreadArgs) -> list[FieldError]:
    errors = _defaulting_type(child(path, "defaultingType"), args)
    constraints_path = child(path, "defaultConstraints")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        where = f"{constraints_path}[{index}]"
        errors += _constraint(where, constraint)
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            errors.append(duplicate(where, f"{{{identity[0]}, {identity[1]}}}"))
        seen.add(identity)
    return errors


def _defaulting_type(path: str, args: PodTopologySpreadArgs) -> list[FieldError]:
    if args.defaulting_type not in tuple(DefaultingType):
        return [not_supported(path, args.defaulting_type, DefaultingType)]
    if args.defaulting_type == DefaultingType.SYSTEM and args.default_constraints:
        return [invalid(path, str(args.defaulting_type), "when .defaultConstraints are not empty")]
    return []


def _constraint(path: str, constraint: TopologySpreadConstraint) -> list[FieldError]:
    errors = []
    if constraint.max_skew <= 0:
        errors.append(invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"))
    if not constraint.topology_key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    else:
        errors += _label_name(f"{path}.topologyKey", constraint.topology_key)
    if not constraint.when_unsatisfiable:
        errors.append(required(f"{path}.whenUnsatisfiable", "can not be empty"))
    elif constraint.when_unsatisfiable not in _WHEN_UNSATISFIABLE:
        errors.append(not_supported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _WHEN_UNSATISFIABLE))
    if constraint.label_selector is not None:
        reason = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(f"{path}.labelSelector", reason))
    return errors


def _volume_binding(path: str, args: VolumeBindingArgs, gates: FeatureGates) -> list[FieldError]:
    errors = []
    if args.bind_timeout_seconds < 0:
        reason = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(child(path, "bindTimeoutSeconds"), args.bind_timeout_seconds, reason))
    if gates.enabled("StorageCapacityScoring"):
        return errors + shape_errors(child(path, "shape"), args.shape or ())
    if args.shape is not None:
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        reason = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        errors.append(invalid(child(path, "shape"), points, reason))
    return errors


def _label_name(path: str, name: str) -> list[FieldError]:
    return [invalid(path, name, problem) for problem in label_syntax.key_errors(name)]


# -- addedAffinity of NodeAffinity -------------------------------------------------------------------------------------


def added_affinity_errors(path: str, affinity: NodeAffinity | None) -> list[FieldError]:
    """The errors that compiling the selectors of `addedAffinity` would stumble over.

    Empty terms, and preferred terms with weight 0, are never compiled and so never wrong.
    """
    if affinity is None:
        return []
    errors: list[FieldError] = []
    selector = affinity.required_during_scheduling_ignored_during_execution
    if selector is not None:
        terms_path = child(path, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")
        for index, term in enumerate(selector.node_selector_terms):
            errors += _term(f"{terms_path}[{index}]", term)
    preferred_path = child(path, "preferredDuringSchedulingIgnoredDuringExecution")
    for index, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if preferred.weight != 0:
            errors += _term(f"{preferred_path}[{index}]", preferred.preference)
    return errors


def _term(path: str, term: NodeSelectorTerm) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, requirement in enumerate(term.match_expressions):
        errors += _expression(f"{path}.matchExpressions[{index}]", requirement)
    for index, requirement in enumerate(term.match_fields):
        errors += _field(f"{path}.matchFields[{index}]", requirement)
    return errors


def _expression(path: str, requirement: NodeSelectorRequirement) -> list[FieldError]:
    if requirement.operator not in _OPERATORS:
        return [not_supported(f"{path}.operator", requirement.operator, _OPERATORS)]
    problems = label_syntax.key_errors(requirement.key)
    errors = [invalid(f"{path}.key", requirement.key, "; ".join(problems))] if problems else []
    errors += _value_count(f"{path}.values", requirement.operator, requirement.values)
    for index, value in enumerate(requirement.values):
        problems = label_syntax.value_errors(value)
        if problems:
            errors.append(invalid(f"{path}.values[{index}][{requirement.key}]", value, "; ".join(problems)))
    return unique(errors)


def _value_count(path: str, operator: str, values: Sequence[str]) -> list[FieldError]:
    given = _shown(values)
    if operator in ("In", "NotIn"):
        reason = "for 'in', 'notin' operators, values set can't be empty"
        return [] if values else [invalid(path, given, reason)]
    if operator in ("Exists", "DoesNotExist"):
        reason = "values set must be empty for exists and does not exist"
        return [invalid(path, given, reason)] if values else []
    errors = []
    if len(values) != 1:
        errors.append(invalid(path, given, "for 'Gt', 'Lt' operators, exactly one value is required"))
    for index, value in enumerate(values):
        if not _is_int64(value):
            errors.append(invalid(f"{path}[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer"))
    return errors


def _is_int64(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def _field(path: str, requirement: NodeSelectorRequirement) -> list[FieldError]:
    if requirement.operator not in _FIELD_OPERATORS:
        return [not_supported(f"{path}.operator", requirement.operator, _FIELD_OPERATORS)]
    if len(requirement.values) != 1:
        return [invalid(f"{path}.values", _shown(requirement.values), "must have one element")]
    return []


def _shown(values: Sequence[str]) -> list[str] | None:
    return None if values is UNWRITTEN_LIST else list(values)
