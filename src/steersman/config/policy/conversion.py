# SPDX-License-Identifier: Apache-2.0
"""Conversion of a legacy `Policy` to a configuration with one profile.

The mapping is that of kube-scheduler v1.22, the last version with policies, to current plugins. A
filter without an equivalent is an error, because pods could run where the policy forbade it; a
preference without an equivalent is a warning. Nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from steersman.api import DEFAULT_SCHEDULER_NAME
from steersman.config.configuration import (
    ALL_PLUGINS,
    ExtensionPoint,
    PluginEntry,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
)
from steersman.config.defaults import DecodedDocument, with_defaults
from steersman.config.errors import ConfigError, ConfigProblem, ConfigStage, invalid
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.plugins.in_tree import IN_TREE_CAPABILITIES
from steersman.config.policy.document import Policy, read_policy
from steersman.config.policy.plugin_mapping import Filters, Scores, filters_of, scores_of
from steersman.config.validation import extender_errors

_NEITHER: Final = ("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")
"""Plugins that were neither predicates nor priorities, and that every profile needs."""

_FILTER_POINTS: Final = (
    ExtensionPoint.PRE_FILTER,
    ExtensionPoint.FILTER,
    ExtensionPoint.RESERVE,
    ExtensionPoint.PRE_BIND,
)
_SCORE_POINTS: Final = (ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE)
_NO_CHECK_ALL: Final = (
    "alwaysCheckAllPredicates: has no effect any more, filtering a node ends with the first plugin that rejects it"
)
_NEWER: Final = (
    "plugins that are newer than policies are off: DynamicResources, NodeDeclaredFeatures; enable them under "
    "profiles[0].plugins if pods need them"
)


class PolicyConversion(msgspec.Struct, frozen=True):
    """The configuration that replaces a policy, and warnings about differences."""

    configuration: SchedulerConfiguration
    warnings: tuple[str, ...] = ()


def convert_policy(
    text: str,
    source: str = "policy",
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    gates: FeatureGates = DEFAULT_GATES,
) -> PolicyConversion:
    """Convert a policy in YAML or JSON. Raises `ConfigError` with all problems."""
    policy = read_policy(text, source)
    filters, scores = filters_of(policy), scores_of(policy)
    problems = [*filters.problems, *scores.problems, *_problems(policy)]
    if problems:
        raise ConfigError(ConfigStage.VALIDATE, problems, file=source)
    profile = {
        "scheduler_name": scheduler_name,
        "plugins": _plugins(filters, scores),
        "plugin_config": [{"name": name, "args": args} for name, args in {**filters.args, **scores.args}.items()],
    }
    configuration = with_defaults(DecodedDocument({"profiles": (profile,), "extenders": policy.extenders}), gates)
    checked_all = [_NO_CHECK_ALL] if policy.always_check_all_predicates else []
    return PolicyConversion(configuration, (*filters.warnings, *scores.warnings, *checked_all, _NEWER))


def _problems(policy: Policy) -> list[ConfigProblem]:
    errors = extender_errors("extenders", policy.extenders)
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= 100:
        errors.append(invalid("hardPodAffinitySymmetricWeight", weight, "not in valid range [0-100]"))
    return [ConfigProblem.from_field_error(error) for error in errors]


def _plugins(filters: Filters, scores: Scores) -> Plugins:
    """Return all sections; defaults are disabled, because a policy lists everything it needs."""
    sections: dict[ExtensionPoint, list[PluginEntry]] = {point: [] for point in ExtensionPoint}
    for name in _NEITHER:
        _enable(sections, PluginEntry(name=name), ExtensionPoint)
    for name in filters.plugins:
        _enable(sections, PluginEntry(name=name), _FILTER_POINTS)
    for name, weight in scores.weights.items():
        _enable(sections, PluginEntry(name=name, weight=weight), _SCORE_POINTS)
    written = {point.name.lower(): PluginSet(enabled=tuple(plugins)) for point, plugins in sections.items()}
    return Plugins(multi_point=PluginSet(disabled=(PluginEntry(name=ALL_PLUGINS),)), **written)


def _enable(
    sections: dict[ExtensionPoint, list[PluginEntry]], plugin: PluginEntry, points: Iterable[ExtensionPoint]
) -> None:
    for point in points:
        if point in IN_TREE_CAPABILITIES[plugin.name]:
            weight = plugin.weight if point is ExtensionPoint.SCORE else 0
            sections[point].append(PluginEntry(name=plugin.name, weight=weight))
