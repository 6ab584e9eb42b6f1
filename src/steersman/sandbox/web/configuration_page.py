# SPDX-License-Identifier: Apache-2.0
"""Configuration page: the values in effect and their sources, and validation of another
configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import yaml

from steersman import config
from steersman.api import DEFAULT_SCHEDULER_NAME
from steersman.base import InputError, hide_passwords
from steersman.config import (
    NOT_SET,
    SECRET_FIELDS,
    ConfigError,
    EffectiveProfile,
    FeatureGates,
    SchedulerConfiguration,
    effective_profiles,
)
from steersman.sandbox.web.answers import InputProblem, WebPart, problem_of
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.runtime import capabilities_of

DEFAULT, FILE, FLAG, APPLIED = "default", "file", "flag", "applied"
EDITED: Final = "configuration"
_replace = msgspec.structs.replace


class ConfigurationSource(msgspec.Struct, frozen=True):
    """Text of the user's configuration and its file; both "" without a file."""

    text: str = ""
    file: str = ""
    #: Whether the configuration was applied on the page.
    is_applied: bool = False


class ValueInEffect(WebPart, frozen=True):
    field: str
    value: str
    source: str


class GateInEffect(WebPart, frozen=True):
    name: str
    enabled: bool
    source: str
    stage: str


class PluginInEffect(WebPart, frozen=True):
    """A plugin of a profile: its extension points, weight and arguments."""

    name: str
    points: tuple[str, ...]
    weight: int
    weight_source: str
    args: str
    args_source: str
    in_tree: bool


class ProfileInEffect(WebPart, frozen=True):
    scheduler_name: str
    plugins: list[PluginInEffect]
    percentage_of_nodes_to_score: int | None


class ConfigurationPage(WebPart, frozen=True):
    yaml: str
    written: str
    file: str
    source: str
    profiles: list[ProfileInEffect]
    values: list[ValueInEffect]
    feature_gates: list[GateInEffect]


class ConfigurationDifference(WebPart, frozen=True):
    field: str
    from_: str = msgspec.field(name="from")
    to: str


class ValidateResult(WebPart, frozen=True):
    """Validity of a configuration, and its differences from the one in effect."""

    valid: bool
    problems: list[InputProblem]
    warnings: list[InputProblem]
    differences: list[ConfigurationDifference]


# -- what is in effect -------------------------------------------------------------------------------------------------


def configuration_page(options: SchedulerOptions, source: ConfigurationSource) -> ConfigurationPage:
    configuration, gates = options.configuration, options.gates
    written = _written(source.text)
    source_name = APPLIED if source.is_applied else FILE
    profiles = effective_profiles(configuration, capabilities_of(options.registry, gates), gates)
    return ConfigurationPage(
        config.dump_public_yaml(configuration),
        public_text(source.text),
        source.file,
        source_name if source.text else DEFAULT,
        [_profile(profile, configuration, written, source_name) for profile in profiles],
        list(_values(configuration, gates, written, source_name)),
        [
            GateInEffect(name, gates.enabled(name), FLAG if name in gates.changed() else DEFAULT, spec.stage.value)
            for name, spec in sorted(gates.specs.items())
        ],
    )


def public_text(text: str) -> str:
    """Return the user's configuration; "" if it contains keys."""
    return "" if any(field in text for field in SECRET_FIELDS) else hide_passwords(text)


def _written(text: str) -> dict[str, Any]:
    """Return the user's document; empty if there is none."""
    document = yaml.safe_load(text) if text else None
    return document if isinstance(document, dict) else {}


def _values(
    configuration: SchedulerConfiguration, gates: FeatureGates, written: dict[str, Any], source_name: str
) -> Iterator[ValueInEffect]:
    """Return every value by its path. A value that is neither written nor a default comes from a
    flag."""
    defaults = dict(_leaves("", config.public_document(config.default_configuration(gates))))
    mentioned = dict(_leaves("", written))
    for field, value in _leaves("", config.public_document(configuration)):
        if field in mentioned:
            source = source_name
        else:
            source = DEFAULT if field not in defaults or defaults[field] == value else FLAG
        if written and source == FLAG and field.startswith("profiles["):
            source = source_name  # plugin lists are merged with the written ones
        yield ValueInEffect(field, _text(value), source)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _leaves(f"{path}.{name}" if path else str(name), part)
    elif isinstance(value, list) and value:
        for index, part in enumerate(value):
            yield from _leaves(f"{path}[{index}]", part)
    else:
        yield path, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True).splitlines()[0]


def _profile(
    profile: EffectiveProfile, configuration: SchedulerConfiguration, written: dict[str, Any], source_name: str
) -> ProfileInEffect:
    mine: dict[str, Any] = next(
        (
            one
            for one in written.get("profiles") or ()
            if one.get("schedulerName", DEFAULT_SCHEDULER_NAME) == profile.scheduler_name
        ),
        {},
    )
    names = dict.fromkeys(name for names in profile.plugins.values() for name in names)
    share = profile.percentage_of_nodes_to_score
    return ProfileInEffect(
        profile.scheduler_name,
        [_plugin(name, profile, mine, source_name) for name in names],
        configuration.percentage_of_nodes_to_score if share is None else share,
    )


def _plugin(name: str, profile: EffectiveProfile, mine: dict[str, Any], source_name: str) -> PluginInEffect:
    points = tuple(point.value for point, names in profile.plugins.items() if name in names)
    document = config.args_document(profile.args.get(name))
    enabled = [entry for point in (mine.get("plugins") or {}).values() for entry in (point or {}).get("enabled") or ()]
    has_weight = any(entry.get("name") == name and "weight" in entry for entry in enabled)
    has_args = any(entry.get("name") == name for entry in mine.get("pluginConfig") or ())
    return PluginInEffect(
        name,
        points,
        profile.score_weights.get(name, 0) if config.ExtensionPoint.SCORE in points else 0,
        source_name if has_weight else DEFAULT,
        "" if document is None else yaml.safe_dump(document, sort_keys=False),
        source_name if has_args else DEFAULT,
        name in config.IN_TREE_CAPABILITIES,
    )


# -- another one -------------------------------------------------------------------------------------------------------


def loaded(text: str, options: SchedulerOptions) -> SchedulerOptions:
    """Return the options with another configuration, checked as by `config check`. Raises
    `InputError`."""
    configuration = config.load(text, EDITED, options.gates)
    capabilities = capabilities_of(options.registry, options.gates)
    effective_profiles(configuration, capabilities, options.gates, EDITED)
    config.check_disabled(configuration, capabilities, EDITED)
    return _replace(options, configuration=configuration, extenders=(), instruments=None, postpones=False)


def validated(text: str, options: SchedulerOptions) -> ValidateResult:
    try:
        other = loaded(text, options)
    except InputError as error:
        return ValidateResult(False, problems_of(error, text), [], [])
    changes = config.diff(options.configuration, other.configuration, capabilities_of(options.registry, options.gates))
    differences = [
        ConfigurationDifference(field=change.path, from_=_shown(change.before), to=_shown(change.after))
        for change in changes
    ]
    return ValidateResult(True, [], list(_warnings(other)), differences)


def _warnings(options: SchedulerOptions) -> Iterator[InputProblem]:
    if options.configuration.extenders:
        yield InputProblem("extenders are not called when a configuration is tried", field="extenders")


def _shown(value: Any) -> str:
    return NOT_SET if value is None else _text(value)


def problems_of(error: InputError, text: str) -> list[InputProblem]:
    """Return the problems of a configuration, with the line if the field is in the text."""
    if not isinstance(error, ConfigError):
        return [problem_of(error)]
    return [
        InputProblem(
            " ".join(problem.text.split()),
            problem.field or None,
            None if problem.bad_value is None else str(problem.bad_value),
            problem.hint or None,
            line=line_of(text, problem.field),
        )
        for problem in error.errors
    ]


def line_of(text: str, field: str) -> int | None:
    """Return the line (from 1) of a field such as `profiles[0].plugins`, or of the nearest existing
    part of its path."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return None if mark is None else int(mark.line) + 1
    return None if node is None else line_in(node, field)


def line_in(node: yaml.Node, field: str) -> int | None:
    """Return the line (from 1) of a field below a YAML node, or of the nearest existing part of its
    path."""
    line = None
    for part in field.replace("[", ".[").split("."):
        found = _child(node, part)
        if found is None:
            break
        key, node = found
        line = int(key.start_mark.line) + 1
    return line


def _child(node: yaml.Node, part: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the YAML node with the position of a part of a path, and its value."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in _pairs(node) if key.value == part), None)
    index = part.strip("[]")
    if isinstance(node, yaml.SequenceNode) and index.isdecimal() and int(index) < len(node.value):
        return node.value[int(index)], node.value[int(index)]
    return None


def _pairs(node: yaml.MappingNode) -> Iterable[tuple[yaml.Node, yaml.Node]]:
    pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
    return pairs
