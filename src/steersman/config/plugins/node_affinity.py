# SPDX-License-Identifier: Apache-2.0
"""Arguments of NodeAffinity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steersman.api import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    label_syntax,
)
from steersman.config.errors import FieldError, child, invalid, not_supported, unique
from steersman.config.feature_gates import FeatureGates
from steersman.config.field_kinds import INT32, TEXT, TEXTS, UNWRITTEN_LIST, Field, ListOf, ObjectOf, Printed, always
from steersman.config.plugins.arguments import PluginArgs

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")

_REQUIREMENT: Final = ObjectOf(
    NodeSelectorRequirement,
    {
        "key": always("key", TEXT),
        "operator": always("operator", TEXT),
        "values": Field("values", TEXTS, absent=UNWRITTEN_LIST),
    },
)
_TERM: Final = ObjectOf(
    NodeSelectorTerm,
    {
        "matchExpressions": Field("match_expressions", ListOf(_REQUIREMENT)),
        "matchFields": Field("match_fields", ListOf(_REQUIREMENT)),
    },
)
_SELECTOR: Final = ObjectOf(
    NodeSelector,
    {"nodeSelectorTerms": Field("node_selector_terms", ListOf(_TERM), printed=Printed.ALWAYS, absent=UNWRITTEN_LIST)},
)
_AFFINITY: Final = ObjectOf(
    NodeAffinity,
    {
        "requiredDuringSchedulingIgnoredDuringExecution": Field(
            "required_during_scheduling_ignored_during_execution", _SELECTOR
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": Field(
            "preferred_during_scheduling_ignored_during_execution",
            ListOf(
                ObjectOf(
                    PreferredSchedulingTerm,
                    {"weight": always("weight", INT32), "preference": always("preference", _TERM)},
                )
            ),
        ),
    },
)


class NodeAffinityArgs(PluginArgs, frozen=True):
    added_affinity: NodeAffinity | None = None

    document_fields = {"addedAffinity": Field("added_affinity", _AFFINITY)}

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        return _affinity_errors(child(path, "addedAffinity"), self.added_affinity)


def _affinity_errors(path: str, affinity: NodeAffinity | None) -> list[FieldError]:
    """Return the errors that prevent compiling the selectors of `addedAffinity`.

    Empty terms, and preferred terms with weight 0, are never compiled and therefore not checked.
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
