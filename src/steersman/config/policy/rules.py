"""The rules of the Policy API and the plugins that took them over. Facts only; `conversion` applies them."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.config.plugin_args import ScoringStrategyType


class PredicateRule(msgspec.Struct, frozen=True):
    """The plugins that filter for a predicate."""

    plugins: tuple[str, ...]
    note: str = ""
    """What the reader of the result should know; empty if the plugins do exactly what the predicate did."""


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
"""For a policy that does not speak of predicates; the volume limits of single providers are part of the CSI ones."""

LABEL_PRESENCE_PREDICATE: Final = "CheckNodeLabelPresence"
SERVICE_AFFINITY_PREDICATE: Final = "CheckServiceAffinity"

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
"""The plugin that scores for a priority."""

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
"""Priorities that are strategies of NodeResourcesFit today."""

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
"""Name and weight, for a policy that does not speak of priorities."""

LOST_PRIORITIES: Final = {
    "NodePreferAvoidPodsPriority": "the annotation preferAvoidPods has no effect any more; taint such nodes instead",
    "EqualPriority": "it gave every node the same score",
}
"""Priorities without a successor, and why a profile can do without them."""
