"""Validation of NodeAffinity's `addedAffinity`: exactly what compiling its selectors would stumble over.

Called by `args_validation`. Empty terms, and preferred terms with weight 0, are never compiled and so never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steersman.api import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm
from steersman.config.field_errors import FieldError, child, invalid, not_supported, unique
from steersman.config.kinds import UNWRITTEN_LIST
from steersman.config.names import label_value_problems, qualified_name_problems

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")


def added_affinity_errors(path: str, affinity: NodeAffinity | None) -> list[FieldError]:
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
    problems = qualified_name_problems(requirement.key)
    errors = [invalid(f"{path}.key", requirement.key, "; ".join(problems))] if problems else []
    errors += _value_count(f"{path}.values", requirement.operator, requirement.values)
    for index, value in enumerate(requirement.values):
        problems = label_value_problems(value)
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
