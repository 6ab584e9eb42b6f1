# SPDX-License-Identifier: Apache-2.0
"""Reference of the configuration: every field of the v1 document with its default, plugins, arguments and feature gates."""

from __future__ import annotations

import json
from collections.abc import Iterator

from scripts.site.markdown import code, fenced, table
from steersman.config import (
    ARGS_TYPES,
    DEFAULT_GATES,
    DEFAULT_VERSION,
    GATES,
    IN_TREE_CAPABILITIES,
    args_document,
    default_configuration,
    default_multi_point,
    to_document,
)
from steersman.config.deviations import FIELD_DEVIATIONS, REFUSED, WITHOUT_EFFECT
from steersman.config.document_tree import PlainValue
from steersman.config.field_kinds import (
    Base64,
    Boolean,
    DurationText,
    FieldKind,
    Float32,
    Integer,
    ListOf,
    MapOf,
    ObjectOf,
    Raw,
    TextField,
)
from steersman.config.schema import CONFIGURATION, PLUGINS

_WORDS: dict[type, str] = {
    TextField: "string",
    Boolean: "boolean",
    Integer: "integer",
    Float32: "number",
    DurationText: "duration",
    Base64: "base64",
    Raw: "any",
    MapOf: "map",
}


def configuration_page() -> str:
    return "\n".join(_lines())


def fields() -> list[tuple[str, str, PlainValue]]:
    """Path, kind of value and default of every field, plugin sections left out: they are all alike."""
    return list(_fields(CONFIGURATION, "", to_document(default_configuration())))


def _lines() -> Iterator[str]:
    yield from ("# Configuration", "")
    yield "`KubeSchedulerConfiguration` of `kubescheduler.config.k8s.io/v1`, decoded as strictly as kube-scheduler decodes it:"
    yield "a field that is not here is an error. `steersman config check`, `show` and `diff` work with it."
    yield from ("", "## Fields", "")
    rows = ((code(path), kind, code(_shown(value)), FIELD_DEVIATIONS.get(path, "")) for path, kind, value in fields())
    yield from table(("field", "value", "default", "other than in kube-scheduler"), rows)
    yield from ("## Plugins", "", "Those with a weight or a mark under *default* run when a profile says nothing.", "")
    weights = {entry.name: str(entry.weight) if entry.weight else "✓" for entry in default_multi_point(DEFAULT_GATES)}
    plugins = (
        (code(name), ", ".join(point.value for point in sorted(points)), weights.get(name, ""))
        for name, points in IN_TREE_CAPABILITIES.items()
    )
    yield from table(("plugin", "extension points", "default"), plugins)
    yield from ("## Arguments", "", "Of `profiles[].pluginConfig`, with their defaults.", "")
    for name, arguments in ARGS_TYPES.items():
        yield from (f"### {code(name)}", "", *fenced(json.dumps(args_document(arguments()), indent=2), "json"))
    yield from (
        "## Feature gates",
        "",
        f"Every gate of Kubernetes v{DEFAULT_VERSION} is accepted; the scheduler reads these.",
        "",
    )
    yield from table(("gate", "stage", "default", "needs", "other than in kube-scheduler"), map(_gate, GATES))


def _fields(kind: ObjectOf, path: str, defaults: PlainValue) -> Iterator[tuple[str, str, PlainValue]]:
    for name, field in kind.fields.items():
        default = defaults.get(name) if isinstance(defaults, dict) else None
        yield from _field(f"{path}{name}", field.kind, default)


def _field(path: str, kind: FieldKind, default: PlainValue) -> Iterator[tuple[str, str, PlainValue]]:
    if kind is PLUGINS:
        yield (
            path,
            "lists `enabled` and `disabled` of `{name, weight}` for every extension point and `multiPoint`",
            None,
        )
    elif isinstance(kind, ObjectOf):
        yield from _fields(kind, f"{path}.", default)
    elif isinstance(kind, ListOf) and isinstance(kind.item, ObjectOf):
        yield path, "list", None
        # Of plugins' arguments every item is another one; they have a section of their own.
        first = default[0] if isinstance(default, list) and default and path == "profiles" else None
        yield from _fields(kind.item, f"{path}[].", first)
    else:
        yield path, _WORDS.get(type(kind), "list" if isinstance(kind, ListOf) else "object"), default


def _shown(value: PlainValue) -> str:
    """Defaults of whole lists and objects have sections of their own."""
    if value is None or isinstance(value, dict | list):
        return ""
    return value or '""' if isinstance(value, str) else json.dumps(value)


def _gate(name: str) -> tuple[str, str, str, str, str]:
    spec = GATES[name]
    default = f"{'on' if spec.default else 'off'}{', locked' if spec.locked else ''}"
    return code(name), spec.stage.value.lower(), default, ", ".join(map(code, spec.needs)), _gate_deviation(name)


def _gate_deviation(name: str) -> str:
    refusal = REFUSED.get(name)
    if refusal is not None:
        versions = "" if refusal.last is None else f" up to v{refusal.last}"
        return f"{code(str(refusal.value).lower())} is refused{versions}: {refusal.reason}."
    if name in WITHOUT_EFFECT:
        value, reason = WITHOUT_EFFECT[name]
        return f"{code(str(value).lower())} has no effect: {reason}."
    return ""
