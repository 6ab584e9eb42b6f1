# SPDX-License-Identifier: Apache-2.0
"""Validate stage: kube-scheduler's checks of a decoded and defaulted configuration, in its words.

Takes a configuration from `documents` or from code, returns all errors. Plugin arguments check
themselves (`plugins.arguments`); `effective_configuration` makes the checks that need plugins.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.api import Duration, label_syntax
from steersman.config.configuration import (
    API_VERSION,
    ClientConnection,
    Extender,
    ExtensionPoint,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginEntry,
    PluginSet,
    SchedulerConfiguration,
)
from steersman.config.errors import (
    ConfigError,
    ConfigProblem,
    ConfigStage,
    FieldError,
    duplicate,
    invalid,
    label_key_errors,
    required,
    unique,
)
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.plugins.in_tree import ARGS_TYPES, REMOVED_PLUGINS

_REMOVAL_NOT_CHECKED = (ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE)


def validate(config: SchedulerConfiguration, gates: FeatureGates = DEFAULT_GATES, file: str | None = None) -> None:
    """Raise `ConfigError` with all errors."""
    errors = configuration_errors(config, gates)
    if errors:
        raise ConfigError(ConfigStage.VALIDATE, (ConfigProblem.from_field_error(error) for error in errors), file=file)


def configuration_errors(config: SchedulerConfiguration, gates: FeatureGates = DEFAULT_GATES) -> list[FieldError]:
    return [
        *_client_connection(config.client_connection),
        *_leader_election(config.leader_election),
        *_parallelism(config.parallelism),
        *_profiles(config.profiles, gates),
        *_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score),
        *_backoff(config),
        *extender_errors("extenders", config.extenders),
    ]


def _client_connection(connection: ClientConnection) -> list[FieldError]:
    if connection.burst >= 0:
        return []
    return [invalid("clientConnection.burst", connection.burst, "must be non-negative")]


def _leader_election(election: LeaderElectionConfiguration) -> list[FieldError]:
    if not election.leader_elect:
        return []
    path = "leaderElection"
    errors = [
        *_positive(f"{path}.leaseDuration", election.lease_duration),
        *_positive(f"{path}.renewDeadline", election.renew_deadline),
        *_positive(f"{path}.retryPeriod", election.retry_period),
    ]
    if election.lease_duration <= election.renew_deadline:
        # Upstream shows the renew deadline as the bad value of the lease duration.
        errors.append(invalid(f"{path}.leaseDuration", election.renew_deadline, "must be greater than `RenewDeadline`"))
    named = {
        "resourceLock": election.resource_lock,
        "resourceNamespace": election.resource_namespace,
        "resourceName": election.resource_name,
    }
    errors += [required(f"{path}.{name}") for name, value in named.items() if not value]
    if election.resource_lock != "leases":
        errors.append(invalid(f"{path}.resourceLock", election.resource_lock, 'resourceLock value must be "leases"'))
    return unique(errors)


def _positive(path: str, value: Duration) -> list[FieldError]:
    return [] if value > Duration(0) else [invalid(path, value, "must be greater than zero")]


def _parallelism(value: int) -> list[FieldError]:
    if value > 0:
        return []
    return [invalid("parallelism", value, "should be an integer value greater than zero")]


def _percentage(path: str, value: int | None) -> list[FieldError]:
    if value is None or 0 <= value <= 100:
        return []
    return [invalid(path, value, "not in valid range [0-100]")]


def _backoff(config: SchedulerConfiguration) -> list[FieldError]:
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    errors = []
    if initial <= 0:
        errors.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        reason = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(invalid("podMaxBackoffSeconds", longest, reason))
    return errors


def _profiles(profiles: Sequence[KubeSchedulerProfile], gates: FeatureGates) -> list[FieldError]:
    if not profiles:
        return [required("profiles")]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        errors += _profile(path, profile, gates)
        if profile.scheduler_name in seen:
            errors.append(duplicate(f"{path}.schedulerName", {}))
        seen.add(profile.scheduler_name)
    return errors + _common_queue_sort(profiles)


def _profile(path: str, profile: KubeSchedulerProfile, gates: FeatureGates) -> list[FieldError]:
    errors = [] if profile.scheduler_name else [required(f"{path}.schedulerName")]
    errors += _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    for point in ExtensionPoint:
        if point not in _REMOVAL_NOT_CHECKED:
            errors += _removed(f"{path}.plugins.{point}", profile.plugins.plugins_at(point))
    seen: set[str] = set()
    for index, entry in enumerate(profile.plugin_config):
        where = f"{path}.pluginConfig[{index}]"
        if entry.name in seen:
            errors.append(duplicate(where, entry.name))
        seen.add(entry.name)
        errors += _plugin_config(where, entry, gates)
    return errors


def _removed(path: str, section: PluginSet) -> list[FieldError]:
    return [
        _removed_plugin(f"{path}.enabled[{index}]", plugin.name)
        for index, plugin in enumerate(section.enabled)
        if plugin.name in REMOVED_PLUGINS
    ]


def _removed_plugin(path: str, name: str) -> FieldError:
    return invalid(path, name, f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")')


def _plugin_config(path: str, entry: PluginConfig, gates: FeatureGates) -> list[FieldError]:
    if entry.name in REMOVED_PLUGINS:
        return [_removed_plugin(path, entry.name)]
    wanted = ARGS_TYPES.get(entry.name)
    if wanted is None or wanted.checked_only_when_built:
        return []
    if not isinstance(entry.args, wanted):
        return [invalid(f"{path}.args", None, "has to match plugin args")]
    return unique(entry.args.errors(f"{path}.args", gates))


def _common_queue_sort(profiles: Sequence[KubeSchedulerProfile]) -> list[FieldError]:
    first = profiles[0]
    section = first.plugins.queue_sort
    errors = []
    if len(section.enabled) > 1:
        where = "profiles[0].plugins.queueSort.Enabled"
        errors.append(invalid(where, len(section.enabled), "only one queue sort plugin can be enabled"))
    name = section.enabled[0].name if section.enabled else ""
    args = [entry.args for entry in first.plugin_config if name and entry.name == name]
    for index, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != section:
            shown = _shown_section(profile.plugins.queue_sort)
            reason = "must be the same for all profiles"
            errors.append(invalid(f"profiles[{index}].plugins.queueSort", shown, reason))
        for entry in profile.plugin_config:
            if entry.name == name and entry.args != (args[-1] if args else None):
                reason = "queueSort must be the same for all profiles"
                errors.append(invalid(f"profiles[{index}].pluginConfig.args", _shown_args(entry), reason))
    return errors


def _shown_section(section: PluginSet) -> dict[str, object]:
    def shown(plugins: Sequence[PluginEntry]) -> list[dict[str, object]] | None:
        return [{"Name": plugin.name, "Weight": plugin.weight} for plugin in plugins] or None

    return {"Enabled": shown(section.enabled), "Disabled": shown(section.disabled)}


def _shown_args(entry: PluginConfig) -> object:
    return str(entry.args) if entry.name in ARGS_TYPES else entry.args


def extender_errors(path: str, extenders: Sequence[Extender]) -> list[FieldError]:
    """Return the errors in extenders of a configuration or of a legacy policy."""
    errors: list[FieldError] = []
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        where = f"{path}[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            errors.append(invalid(f"{where}.weight", extender.weight, "must have a positive weight applied to it"))
        for position, resource in enumerate(extender.managed_resources):
            name_path = f"{where}.managedResources[{position}].name"
            errors += _extended_resource(name_path, resource.name)
            if resource.name in managed:
                errors.append(invalid(name_path, resource.name, "duplicate extender managed resource name"))
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        errors.append(invalid(path, found, "only one extender can implement bind"))
    return errors


def _extended_resource(path: str, name: str) -> list[FieldError]:
    errors = label_key_errors(path, name)
    if errors:
        return errors
    return [] if _is_extended_resource(name) else [invalid(path, name, "is an invalid extended resource name")]


def _is_extended_resource(name: str) -> bool:
    """Return whether extenders may manage a resource: it is neither native nor a quota item."""
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and not label_syntax.key_errors(f"requests.{name}")
