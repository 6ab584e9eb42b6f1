# SPDX-License-Identifier: Apache-2.0
"""The filter and score plugins that replaced predicates and priorities, and the conversion to them.

Converts a `Policy` to `Filters` and `Scores` for `conversion`, with warnings and problems.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from steersman.config.errors import ConfigProblem, invalid
from steersman.config.plugins.arguments import PluginArgs
from steersman.config.plugins.inter_pod_affinity import InterPodAffinityArgs
from steersman.config.plugins.node_affinity import NodeAffinityArgs
from steersman.config.plugins.node_resources import (
    DEFAULT_RESOURCES,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
    ScoringStrategyType,
)
from steersman.config.plugins.pod_topology_spread import DefaultingType, PodTopologySpreadArgs
from steersman.config.plugins.utilization_shape import shape_errors
from steersman.config.policy.document import (
    LabelsPresence,
    Policy,
    Predicate,
    Priority,
    PriorityArgument,
    RequestedToCapacityRatioArguments,
)

# -- predicates become filters -----------------------------------------------------------------------------------------


class PredicateRule(msgspec.Struct, frozen=True):
    """The plugins that replace a predicate."""

    plugins: tuple[str, ...]
    note: str = ""
    """A note about differences; "" if the plugins do exactly what the predicate did."""


_MIGRATED: Final = "its volumes are CSI volumes today, whose limits NodeVolumeLimits checks"
_TAINTED: Final = "the condition became a taint, which TaintToleration checks"

PREDICATES: Final[dict[str, PredicateRule]] = {
    "CheckNodeUnschedulable": PredicateRule(("NodeUnschedulable",)),
    "GeneralPredicates": PredicateRule(("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity")),
    "HostName": PredicateRule(("NodeName",)),
    "PodFitsHostPorts": PredicateRule(("NodePorts",)),
    "MatchNodeSelector": PredicateRule(("NodeAffinity",)),
    "PodFitsResources": PredicateRule(("NodeResourcesFit",)),
    "NoDiskConflict": PredicateRule(("VolumeRestrictions",)),
    "PodToleratesNodeTaints": PredicateRule(("TaintToleration",)),
    "CheckNodeCondition": PredicateRule(("TaintToleration",), _TAINTED),
    "CheckNodeMemoryPressure": PredicateRule(("TaintToleration",), _TAINTED),
    "CheckNodeDiskPressure": PredicateRule(("TaintToleration",), _TAINTED),
    "CheckNodePIDPressure": PredicateRule(("TaintToleration",), _TAINTED),
    "MaxEBSVolumeCount": PredicateRule(("NodeVolumeLimits",), _MIGRATED),
    "MaxGCEPDVolumeCount": PredicateRule(("NodeVolumeLimits",), _MIGRATED),
    "MaxCSIVolumeCountPred": PredicateRule(("NodeVolumeLimits",)),
    "MaxAzureDiskVolumeCount": PredicateRule(("NodeVolumeLimits",), _MIGRATED),
    "MaxCinderVolumeCount": PredicateRule(("NodeVolumeLimits",), _MIGRATED),
    "CheckVolumeBinding": PredicateRule(("VolumeBinding",)),
    "NoVolumeZoneConflict": PredicateRule(("VolumeZone",)),
    "EvenPodsSpread": PredicateRule(("PodTopologySpread",)),
    "MatchInterPodAffinity": PredicateRule(("InterPodAffinity",)),
}
"""In the order in which predicates ran, which is the order of the filter plugins."""

PREDICATE_ALIASES: Final = {"PodFitsPorts": "PodFitsHostPorts"}
MANDATORY_PREDICATES: Final = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
DEFAULT_PREDICATES: Final = (
    "NoVolumeZoneConflict",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
"""For a policy without `predicates`; provider-specific volume limits are part of the CSI ones."""

LABEL_PRESENCE_PREDICATE: Final = "CheckNodeLabelPresence"
SERVICE_AFFINITY_PREDICATE: Final = "CheckServiceAffinity"

_ONE_PREDICATE_ARGUMENT = "exactly 1 predicate argument is required: serviceAffinity or labelsPresence"
_NO_SERVICE_AFFINITY = (
    "the ServiceAffinity plugin no longer exists; give the pods of the service a required pod affinity instead"
)
_PREDICATE_NOT_FOUND = "predicate type not found; use a predicate of kube-scheduler v1.22"


class Filters(msgspec.Struct):
    """Filter plugins and arguments that replace the predicates of a policy."""

    plugins: list[str] = []
    """In calling order."""
    args: dict[str, PluginArgs] = {}
    warnings: list[str] = []
    problems: list[ConfigProblem] = []


def filters_of(policy: Policy) -> Filters:
    found = Filters()
    names = set(MANDATORY_PREDICATES)
    presences: list[LabelsPresence] = []
    if policy.predicates is None:
        names.update(DEFAULT_PREDICATES)
    for index, predicate in enumerate(policy.predicates or ()):
        _add_predicate(f"predicates[{index}]", predicate, names, presences, found)
    for name, rule in PREDICATES.items():
        if name in names:
            found.plugins += [plugin for plugin in rule.plugins if plugin not in found.plugins]
    if presences:
        _require_labels(presences, found)
    return found


def _add_predicate(
    path: str, predicate: Predicate, names: set[str], presences: list[LabelsPresence], found: Filters
) -> None:
    name = PREDICATE_ALIASES.get(predicate.name, predicate.name)
    argument = predicate.argument
    if argument is not None and (argument.service_affinity is None) == (argument.labels_presence is None):
        found.problems.append(_problem(f"{path}.argument", predicate.name, _ONE_PREDICATE_ARGUMENT))
    elif name in PREDICATES:
        names.add(name)
        _explain_predicate(path, predicate, PREDICATES[name].note, found)
    elif name == SERVICE_AFFINITY_PREDICATE or (argument and argument.service_affinity):
        found.problems.append(_problem(f"{path}.name", predicate.name, _NO_SERVICE_AFFINITY))
    elif argument and argument.labels_presence:
        presences.append(argument.labels_presence)
    elif name == LABEL_PRESENCE_PREDICATE:
        found.warnings.append(f"{path}: {name} names no labels and is left out")
    else:
        found.problems.append(_problem(f"{path}.name", predicate.name, _PREDICATE_NOT_FOUND))


def _explain_predicate(path: str, predicate: Predicate, note: str, found: Filters) -> None:
    if note:
        found.warnings.append(f"{path}: {predicate.name}: {note}")
    if predicate.argument is not None:
        found.warnings.append(f"{path}.argument: {predicate.name} takes no argument, it is left out")


def _require_labels(presences: list[LabelsPresence], found: Filters) -> None:
    """Add the presence and absence of labels to the added affinity of NodeAffinity."""
    requirements = tuple(
        NodeSelectorRequirement(key=label, operator="Exists" if presence.presence else "DoesNotExist")
        for presence in presences
        for label in presence.labels
    )
    term = NodeSelectorTerm(match_expressions=requirements)
    selector = NodeSelector(node_selector_terms=(term,))
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    found.args["NodeAffinity"] = NodeAffinityArgs(added_affinity=affinity)
    found.warnings.append("predicates: labelsPresence became addedAffinity in the arguments of NodeAffinity")
    if "NodeAffinity" not in found.plugins:
        found.plugins.append("NodeAffinity")
        found.warnings.append("predicates: NodeAffinity also checks the node selector and node affinity of pods")


# -- priorities become scores ------------------------------------------------------------------------------------------

PRIORITIES: Final = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    "NodeAffinityPriority": "NodeAffinity",
    "RequestedToCapacityRatio": "NodeResourcesFit",
    "SelectorSpreadPriority": "PodTopologySpread",
    "TaintTolerationPriority": "TaintToleration",
}
"""The score plugin for each priority."""

PRIORITY_ALIASES: Final = {
    "ServiceSpreadingPriority": "SelectorSpreadPriority",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
}
SELECTOR_SPREAD_PRIORITY: Final = "SelectorSpreadPriority"
EVEN_SPREAD_PRIORITY: Final = "EvenPodsSpreadPriority"
CAPACITY_RATIO_PRIORITY: Final = "RequestedToCapacityRatio"

STRATEGIES: Final = {
    "LeastRequestedPriority": ScoringStrategyType.LEAST_ALLOCATED,
    "MostRequestedPriority": ScoringStrategyType.MOST_ALLOCATED,
    CAPACITY_RATIO_PRIORITY: ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO,
}
"""Priorities that are now strategies of NodeResourcesFit."""

DEFAULT_PRIORITIES: Final = {
    # Its own weight was 1, but the weight of EvenPodsSpreadPriority counted for both.
    "SelectorSpreadPriority": 2,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
"""Name and weight, for a policy without `priorities`."""

LOST_PRIORITIES: Final = {
    "NodePreferAvoidPodsPriority": "the annotation preferAvoidPods has no effect any more; taint such nodes instead",
    "EqualPriority": "it gave every node the same score",
}
"""Priorities without a replacement, and why profiles do not need them."""

_MAX_WEIGHT: Final = 2**31 - 1
_BAD_WEIGHT: Final = f"should have a positive weight, at most {_MAX_WEIGHT}"
_ONE_PRIORITY_ARGUMENT: Final = (
    "exactly 1 priority argument is required: serviceAntiAffinity, labelPreference or requestedToCapacityRatioArguments"
)
_PRIORITY_NOT_FOUND: Final = "priority type not found; use a priority of kube-scheduler v1.22"
_NO_RATIO: Final = "requestedToCapacityRatioArguments with a shape are required"
_ONE_STRATEGY: Final = "NodeResourcesFit scores by one strategy only; keep one of {}"
_NO_SERVICE_ANTI_AFFINITY: Final = (
    "the ServiceAffinity plugin no longer exists; use topology spread constraints instead"
)
_NO_LABEL_PREFERENCE: Final = (
    "the NodeLabel plugin no longer exists; use a preferred term in addedAffinity of NodeAffinity instead"
)


class Scores(msgspec.Struct):
    """Score plugins and arguments that replace the priorities of a policy."""

    weights: dict[str, int] = {}
    """Weight by plugin, in calling order."""
    args: dict[str, PluginArgs] = {}
    warnings: list[str] = []
    problems: list[ConfigProblem] = []


def scores_of(policy: Policy) -> Scores:
    found = Scores()
    chosen: dict[str, int] = {}
    ratio: RequestedToCapacityRatioArguments | None = None
    for path, priority in _priorities(policy):
        name = _accepted(path, priority, found)
        if name is not None:
            chosen[name] = priority.weight
            ratio = _ratio_of(priority) or ratio
    for name in sorted(chosen):
        _score_with(PRIORITIES[name], chosen[name], name, found)
    _add_strategy(chosen, ratio, found)
    _add_spreading(chosen, found)
    _add_affinity(chosen, policy, found)
    return found


def _priorities(policy: Policy) -> list[tuple[str, Priority]]:
    """Return the priorities of a policy with their paths for messages."""
    if policy.priorities is not None:
        return [(f"priorities[{index}]", priority) for index, priority in enumerate(policy.priorities)]
    return [("default priorities", Priority(name=name, weight=weight)) for name, weight in DEFAULT_PRIORITIES.items()]


def _accepted(path: str, priority: Priority, found: Scores) -> str | None:
    """Return the name of a priority with a plugin; for others record a warning or problem."""
    if not 0 < priority.weight <= _MAX_WEIGHT:
        found.problems.append(_problem(f"{path}.weight", priority.weight, _BAD_WEIGHT))
    argument = priority.argument
    if argument is not None and _given(argument) != 1:
        found.problems.append(_problem(f"{path}.argument", priority.name, _ONE_PRIORITY_ARGUMENT))
        return None
    name = PRIORITY_ALIASES.get(priority.name, priority.name)
    if _ratio_of(priority) is not None:
        name = CAPACITY_RATIO_PRIORITY
    if name in PRIORITIES:
        return _with_ratio(path, name, priority, found)
    _explain_loss(path, priority, found)
    return None


def _given(argument: PriorityArgument) -> int:
    choices = (argument.service_anti_affinity, argument.label_preference, argument.requested_to_capacity_ratio)
    return sum(1 for choice in choices if choice is not None)


def _ratio_of(priority: Priority) -> RequestedToCapacityRatioArguments | None:
    return priority.argument.requested_to_capacity_ratio if priority.argument else None


def _with_ratio(path: str, name: str, priority: Priority, found: Scores) -> str | None:
    ratio = _ratio_of(priority)
    if name != CAPACITY_RATIO_PRIORITY:
        if priority.argument is not None:
            found.warnings.append(f"{path}.argument: {priority.name} takes no argument, it is left out")
        return name
    if ratio is None:
        found.problems.append(_problem(f"{path}.argument", priority.name, _NO_RATIO))
        return None
    where = f"{path}.argument.requestedToCapacityRatioArguments.shape"
    found.problems += [ConfigProblem.from_field_error(error) for error in shape_errors(where, ratio.shape)]
    return name


def _explain_loss(path: str, priority: Priority, found: Scores) -> None:
    argument = priority.argument
    if priority.name in LOST_PRIORITIES:
        reason = LOST_PRIORITIES[priority.name]
    elif argument and argument.service_anti_affinity:
        reason = _NO_SERVICE_ANTI_AFFINITY
    elif argument and argument.label_preference:
        reason = _NO_LABEL_PREFERENCE
    else:
        found.problems.append(_problem(f"{path}.name", priority.name, _PRIORITY_NOT_FOUND))
        return
    found.warnings.append(f"{path}: {priority.name} is left out: {reason}")


def _score_with(plugin: str, weight: int, priority: str, found: Scores) -> None:
    """Use the weight of the first priority of a plugin, as in v1.22."""
    decided = found.weights.setdefault(plugin, weight)
    if decided != weight:
        found.warnings.append(f"priorities: {priority}: {plugin} keeps weight {decided}, {weight} is left out")


def _add_strategy(chosen: dict[str, int], ratio: RequestedToCapacityRatioArguments | None, found: Scores) -> None:
    names = [name for name in STRATEGIES if name in chosen]
    if not names:
        return
    if len(names) > 1:
        detail = _ONE_STRATEGY.format(", ".join(names))
        found.problems.append(_problem("priorities", names, detail))
        return
    strategy = ScoringStrategy(type=STRATEGIES[names[0]])
    if ratio is not None and names[0] == CAPACITY_RATIO_PRIORITY:
        strategy = ScoringStrategy(
            type=STRATEGIES[names[0]],
            resources=ratio.resources or DEFAULT_RESOURCES,
            requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=ratio.shape),
        )
    found.args["NodeResourcesFit"] = NodeResourcesFitArgs(scoring_strategy=strategy)


def _add_spreading(chosen: dict[str, int], found: Scores) -> None:
    """Configure PodTopologySpread: SelectorSpreadPriority needs system defaults, else these are
    off."""
    if SELECTOR_SPREAD_PRIORITY in chosen:
        found.args["PodTopologySpread"] = PodTopologySpreadArgs(defaulting_type=DefaultingType.SYSTEM)
    elif EVEN_SPREAD_PRIORITY in chosen:
        found.args["PodTopologySpread"] = PodTopologySpreadArgs(defaulting_type=DefaultingType.LIST)


def _add_affinity(chosen: dict[str, int], policy: Policy, found: Scores) -> None:
    weight = policy.hard_pod_affinity_symmetric_weight
    if weight == 0:
        return
    if "InterPodAffinityPriority" in chosen:
        found.args["InterPodAffinity"] = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
    else:
        found.warnings.append("hardPodAffinitySymmetricWeight: has no effect without InterPodAffinityPriority")


def _problem(path: str, value: object, detail: str) -> ConfigProblem:
    return ConfigProblem.from_field_error(invalid(path, value, detail))
