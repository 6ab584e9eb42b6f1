# SPDX-License-Identifier: Apache-2.0
"""Typed plugin arguments: `pluginConfig` entries validated against the Struct that a plugin
declares, and decoded to it.

A plugin declares `args: type[msgspec.Struct]`. `check_args` reports every problem of a
configuration with its field path; `runtime.registry` passes the decoded Struct to the plugin's
constructor. Plugins without a declaration get the mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from steersman.api import UnknownField
from steersman.config import ConfigError, ConfigProblem, ConfigStage, SchedulerConfiguration, invalid, required
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, describe_fault
from steersman.scheduler.runtime.registry import Registry, declared_args

_PLACE = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*?)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
#: Present in kube-scheduler configurations, whose decoder requires them.
_TYPE_FIELDS = frozenset({"apiVersion", "kind"})


def check_args(configuration: SchedulerConfiguration, registry: Registry, file: str | None = None) -> None:
    """Raise `ConfigError` with every invalid argument of an enabled plugin."""
    problems = list(_problems(configuration, registry))
    if problems:
        raise ConfigError(ConfigStage.BUILD, problems, file=file)


def _problems(configuration: SchedulerConfiguration, registry: Registry) -> Iterator[ConfigProblem]:
    for index, profile in enumerate(configuration.profiles):
        given = {entry.name: (position, entry.args) for position, entry in enumerate(profile.plugin_config)}
        for name in sorted(profile.plugins.enabled_names()):
            declared = declared_args(registry.class_of(name)) if name in registry else None
            if declared is not None:
                position, args = given.get(name, (None, None))
                where = f"profiles[{index}].pluginConfig"
                field = f"{where}[{position}].args" if position is not None else f"{where}[{name}].args"
                yield from _args_problems(field, {} if args is None else args, declared)


def _args_problems(field: str, args: Any, declared: type[msgspec.Struct]) -> Iterator[ConfigProblem]:
    try:
        for unknown in _unknown_fields(args, inspect.type_info(declared), field):
            yield ConfigProblem(f"{unknown.path}: unknown field", field=unknown.path, hint=unknown.hint or "")
        msgspec.convert(args, declared)
    except msgspec.ValidationError as error:
        yield _conversion_problem(field, args, str(error))
    except PLUGIN_FAULTS as cause:
        yield ConfigProblem(f"{field}: {declared.__name__} cannot be used: {describe_fault(cause)}", field=field)


def _conversion_problem(field: str, args: Any, message: str) -> ConfigProblem:
    found = _PLACE.fullmatch(message)
    text, path = (found["text"], found["path"] or "") if found is not None else (message, "")
    missing = _MISSING.fullmatch(text)
    if missing is not None:
        return ConfigProblem.from_field_error(required(f"{field}{path}.{missing['name']}"))
    value = args
    for name, position in _STEP.findall(path):
        try:
            value = value[name] if name else value[int(position)]
        except (KeyError, IndexError, TypeError):
            break
    detail = text[:1].lower() + text[1:].replace("`", "")
    return ConfigProblem.from_field_error(invalid(f"{field}{path}", value, detail))


def _unknown_fields(value: Any, kind: inspect.Type, path: str) -> Iterator[UnknownField]:
    """Yield unknown fields, which msgspec ignores."""
    if isinstance(kind, inspect.UnionType):
        options = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
        kind = options[0] if len(options) == 1 else kind
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in kind.fields}
        for name, item in value.items():
            if name in fields:
                yield from _unknown_fields(item, fields[name], f"{path}.{name}")
            elif name not in _TYPE_FIELDS and name != kind.tag_field:
                yield UnknownField(f"{path}.{name}", str(name), fields)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_fields(item, kind.item_type, f"{path}[{index}]")
    elif isinstance(kind, inspect.DictType) and isinstance(value, dict):
        for name, item in value.items():
            yield from _unknown_fields(item, kind.value_type, f"{path}.{name}")
