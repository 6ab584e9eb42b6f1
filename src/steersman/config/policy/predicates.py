"""Predicates of a policy to filter plugins. One half of `conversion`; `rules` has the facts."""

from __future__ import annotations

import msgspec

from steersman.api import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from steersman.config.errors import Problem
from steersman.config.field_errors import invalid
from steersman.config.plugin_args import NodeAffinityArgs, PluginArgs
from steersman.config.policy.document import LabelsPresence, Policy, Predicate
from steersman.config.policy.rules import (
    DEFAULT_PREDICATES,
    LABEL_PRESENCE_PREDICATE,
    MANDATORY_PREDICATES,
    PREDICATE_ALIASES,
    PREDICATES,
    SERVICE_AFFINITY_PREDICATE,
)

_ONE_ARGUMENT = "exactly 1 predicate argument is required: serviceAffinity or labelsPresence"
_NO_SERVICE_AFFINITY = (
    "the ServiceAffinity plugin no longer exists; give the pods of the service a required pod affinity instead"
)
_NOT_FOUND = "predicate type not found; use a predicate of kube-scheduler v1.22"


class Filters(msgspec.Struct):
    """What the predicates of a policy become."""

    plugins: list[str] = []
    """In calling order."""
    args: dict[str, PluginArgs] = {}
    warnings: list[str] = []
    problems: list[Problem] = []


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


def _problem(path: str, value: str, detail: str) -> Problem:
    return Problem.of(invalid(path, value, detail))


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
