"""Build stage: everything that can fail when extenders and one framework per profile are made from a configuration.

Follows `validation`. The checks are kube-scheduler's, in its order and words, and need no plugin instances: the TLS
material of extenders, arguments of NodeResourcesFit, extension points and weights (`expansion`), one queue sort for all.
"""

from __future__ import annotations

from collections.abc import Iterator

from steersman.api.go_text import quote
from steersman.config.args_validation import args_errors
from steersman.config.catalog import IN_TREE_CAPABILITIES, Capabilities
from steersman.config.configuration import Args, Extender, ExtensionPoint, Profile, SchedulerConfiguration
from steersman.config.durations import Duration
from steersman.config.errors import ConfigError, ConfigStage, Problem
from steersman.config.expansion import EffectiveProfile, ExpansionError, effective_profile
from steersman.config.extenders import ExtenderError, check_tls, in_call_order, timeout, with_ignored_resources
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.field_errors import joined
from steersman.config.plugin_args import ARGS_TYPES, ConfigStruct


class EffectiveConfiguration(ConfigStruct, frozen=True):
    """What a scheduler with this configuration does."""

    profiles: tuple[EffectiveProfile, ...]
    extenders: tuple[Extender, ...] = ()
    """In the order in which they are called."""
    extender_timeouts: tuple[Duration, ...] = ()
    """Of the extenders in the order of the document."""


def build(
    config: SchedulerConfiguration,
    capabilities: Capabilities = IN_TREE_CAPABILITIES,
    gates: FeatureGates = DEFAULT_GATES,
    file: str | None = None,
) -> EffectiveConfiguration:
    """What runs with the given plugins; reads the TLS files of extenders. Raises `ConfigError`."""
    try:
        check_tls(config.extenders)
        profiles = tuple(_effective(config, capabilities, gates))
    except ExtenderError as error:
        raise _error(f"couldn't build extenders: {error}", file) from None
    except ExpansionError as error:
        raise _error(f"initializing profiles: {error}", file) from None
    return EffectiveConfiguration(
        profiles=profiles,
        extenders=in_call_order(config.extenders),
        extender_timeouts=tuple(timeout(extender) for extender in config.extenders),
    )


def effective_profiles(
    config: SchedulerConfiguration,
    capabilities: Capabilities = IN_TREE_CAPABILITIES,
    gates: FeatureGates = DEFAULT_GATES,
    file: str | None = None,
) -> list[EffectiveProfile]:
    """What runs per profile, without touching the extenders' files. Raises `ConfigError`."""
    try:
        return list(_effective(config, capabilities, gates))
    except ExtenderError as error:
        raise _error(f"couldn't build extenders: {error}", file) from None
    except ExpansionError as error:
        raise _error(f"initializing profiles: {error}", file) from None


def _error(text: str, file: str | None) -> ConfigError:
    return ConfigError(ConfigStage.BUILD, [Problem(text)], file=file)


def _effective(
    config: SchedulerConfiguration, capabilities: Capabilities, gates: FeatureGates
) -> Iterator[EffectiveProfile]:
    first: tuple[str, Args] | None = None
    for profile in with_ignored_resources(config):
        try:
            _check_args(profile, capabilities, gates)
            effective = effective_profile(profile, capabilities)
        except ExpansionError as error:
            raise ExpansionError(f"creating profile for scheduler name {profile.scheduler_name}: {error}") from None
        first = first or _queue_sort(profile, effective)
        _check_same_queue_sort(profile, first, _queue_sort(profile, effective))
        yield effective


def _check_args(profile: Profile, capabilities: Capabilities, gates: FeatureGates) -> None:
    """The arguments of every plugin that is made; after `validation` only those of NodeResourcesFit can be wrong."""
    running = profile.plugins.enabled_names() & set(capabilities)
    for entry in sorted(profile.plugin_config, key=lambda entry: entry.name):
        if entry.name not in running or entry.name not in ARGS_TYPES:
            continue
        if not isinstance(entry.args, ARGS_TYPES[entry.name]):
            wanted = ARGS_TYPES[entry.name].__name__
            got = type(entry.args).__name__
            raise ExpansionError(f'initializing plugin "{entry.name}": want args to be of type {wanted}, got {got}')
        errors = args_errors("", entry.args, gates)
        if errors:
            raise ExpansionError(f'initializing plugin "{entry.name}": {joined(errors)}')


def _queue_sort(profile: Profile, effective: EffectiveProfile) -> tuple[str, Args]:
    name = effective.at(ExtensionPoint.QUEUE_SORT)[0]
    return name, next((entry.args for entry in profile.plugin_config if entry.name == name), None)


def _check_same_queue_sort(profile: Profile, first: tuple[str, Args], own: tuple[str, Args]) -> None:
    where = f"profile {quote(profile.scheduler_name)}"
    if own[0] != first[0]:
        raise ExpansionError(f"different queue sort plugins for {where}: {quote(own[0])}, first: {quote(first[0])}")
    if own[1] != first[1]:
        raise ExpansionError(f"different queue sort plugin args for {where}")
