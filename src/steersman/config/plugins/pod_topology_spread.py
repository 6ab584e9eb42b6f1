# SPDX-License-Identifier: Apache-2.0
"""Arguments of PodTopologySpread."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from steersman.api import LabelSelector, LabelSelectorRequirement, TopologySpreadConstraint
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
from steersman.config.field_kinds import INT32, TEXT, TEXTS, Field, ListOf, MapOf, ObjectOf, Printed, always
from steersman.config.plugins.arguments import PluginArgs

_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_REQUIREMENT: Final = ObjectOf(
    LabelSelectorRequirement,
    {"key": always("key", TEXT), "operator": always("operator", TEXT), "values": Field("values", TEXTS)},
)
_SELECTOR: Final = ObjectOf(
    LabelSelector,
    {
        "matchLabels": Field("match_labels", MapOf(TEXT)),
        "matchExpressions": Field("match_expressions", ListOf(_REQUIREMENT)),
    },
)
_CONSTRAINT: Final = ObjectOf(
    TopologySpreadConstraint,
    {
        "maxSkew": always("max_skew", INT32),
        "topologyKey": always("topology_key", TEXT),
        "whenUnsatisfiable": always("when_unsatisfiable", TEXT),
        "labelSelector": Field("label_selector", _SELECTOR),
        "minDomains": Field("min_domains", INT32, printed=Printed.UNLESS_NONE),
        "nodeAffinityPolicy": Field("node_affinity_policy", TEXT, printed=Printed.UNLESS_NONE),
        "nodeTaintsPolicy": Field("node_taints_policy", TEXT, printed=Printed.UNLESS_NONE),
        "matchLabelKeys": Field("match_label_keys", TEXTS),
    },
)


class DefaultingType(StrEnum):
    SYSTEM = "System"
    LIST = "List"


class PodTopologySpreadArgs(PluginArgs, frozen=True):
    """`defaulting_type` is plain text until validation, which allows `DefaultingType` only."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = DefaultingType.SYSTEM

    document_fields = {
        "defaultConstraints": Field("default_constraints", ListOf(_CONSTRAINT)),
        "defaultingType": Field("defaulting_type", TEXT, zero_is_absent=True),
    }

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        errors = self._defaulting_type_errors(child(path, "defaultingType"))
        seen: set[tuple[str, str]] = set()
        for index, constraint in enumerate(self.default_constraints):
            where = f"{child(path, 'defaultConstraints')}[{index}]"
            errors += _constraint_errors(where, constraint)
            identity = (constraint.topology_key, constraint.when_unsatisfiable)
            if identity in seen:
                errors.append(duplicate(where, f"{{{identity[0]}, {identity[1]}}}"))
            seen.add(identity)
        return errors

    def _defaulting_type_errors(self, path: str) -> list[FieldError]:
        if self.defaulting_type not in tuple(DefaultingType):
            return [not_supported(path, self.defaulting_type, DefaultingType)]
        if self.defaulting_type == DefaultingType.SYSTEM and self.default_constraints:
            return [invalid(path, str(self.defaulting_type), "when .defaultConstraints are not empty")]
        return []


def _constraint_errors(path: str, constraint: TopologySpreadConstraint) -> list[FieldError]:
    errors = []
    if constraint.max_skew <= 0:
        errors.append(invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"))
    if not constraint.topology_key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    else:
        errors += label_key_errors(f"{path}.topologyKey", constraint.topology_key)
    if not constraint.when_unsatisfiable:
        errors.append(required(f"{path}.whenUnsatisfiable", "can not be empty"))
    elif constraint.when_unsatisfiable not in _WHEN_UNSATISFIABLE:
        errors.append(not_supported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _WHEN_UNSATISFIABLE))
    if constraint.label_selector is not None:
        reason = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(f"{path}.labelSelector", reason))
    return errors
