# SPDX-License-Identifier: Apache-2.0
"""Predicates of a policy, the filter plugins that took them over, and how the one becomes the other.

One half of `conversion`; `priorities` is the other.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from steersman.config.errors import ConfigProblem, invalid
from steersman.config.plugin_args import NodeAffinityArgs, PluginArgs
from steersman.config.policy.document import LabelsPresence, Policy, Predicate


class PredicateRule(msgspec.Struct, frozen=True):
    """The plugins that filter for a predicate."""

    plugins: tuple[str, ...]
    note: str = ""
    """A word for the reader of the result; empty if the plugins do exactly what the predicate did."""


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

_ONE_ARGUMENT = "exactly 1 predicate argument is required: serviceAffinity or labelsPresence"
_NO_SERVICE_AFFINITY = (
    "the ServiceAffinity plugin no longer exists; give the pods of the service a required pod affinity instead"
)
_NOT_FOUND = "predicate type not found; use a predicate of kube-scheduler v1.22"


class Filters(msgspec.Struct):
    """Filter plugins with their arguments that the predicates of a policy become."""

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
        _add(f"predicates[{index}]", predicate, names, presences, found)
    for name, rule in PREDICATES.items():
        if name in names:
            found.plugins += [plugin for plugin in rule.plugins if plugin not in found.plugins]
    if presences:
        _require_labels(presences, found)
    return found


def _add(path: str, predicate: Predicate, names: set[str], presences: list[LabelsPresence], found: Filters) -> None:
    name = PREDICATE_ALIASES.get(predicate.name, predicate.name)
    argument = predicate.argument
    if argument is not None and (argument.service_affinity is None) == (argument.labels_presence is None):
        found.problems.append(_problem(f"{path}.argument", predicate.name, _ONE_ARGUMENT))
    elif name in PREDICATES:
        names.add(name)
        _explain(path, predicate, PREDICATES[name].note, found)
    elif name == SERVICE_AFFINITY_PREDICATE or (argument and argument.service_affinity):
        found.problems.append(_problem(f"{path}.name", predicate.name, _NO_SERVICE_AFFINITY))
    elif argument and argument.labels_presence:
        presences.append(argument.labels_presence)
    elif name == LABEL_PRESENCE_PREDICATE:
        found.warnings.append(f"{path}: {name} names no labels and is left out")
    else:
        found.problems.append(_problem(f"{path}.name", predicate.name, _NOT_FOUND))


def _explain(path: str, predicate: Predicate, note: str, found: Filters) -> None:
    if note:
        found.warnings.append(f"{path}: {predicate.name}: {note}")
    if predicate.argument is not None:
        found.warnings.append(f"{path}.argument: {predicate.name} takes no argument, it is left out")


def _problem(path: str, value: str, detail: str) -> ConfigProblem:
    return ConfigProblem.of(invalid(path, value, detail))


def _require_labels(presences: list[LabelsPresence], found: Filters) -> None:
    """Presence and absence of labels is what NodeAffinity checks for all pods when it is told so."""
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
