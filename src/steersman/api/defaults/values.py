# SPDX-License-Identifier: Apache-2.0
"""Constant default values of built-in kinds by path (upstream: `pkg/apis/*/v1/defaults.go`).

`values.json` lists them. `kinds` calls `with_default_values`; defaults that depend on other fields
are functions there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from steersman.api.json_values import Document, group_kind

_VALUES: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    (group, kind): values
    for name, values in msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes()).items()
    for group, _, kind in (name.rpartition("/"),)
}
"""Default values by kind and path. They are not set below absent parents other than `spec`."""
_FILLED_IF_EMPTY: Final = frozenset(
    {
        "roleRef.apiGroup",
        "spec.persistentVolumeReclaimPolicy",
        "spec.sessionAffinity",
        "spec.type",
        "subsets[*].ports[*].protocol",
        "type",
    }
)
"""Fields that are not pointers in Go: an empty string counts as absent."""


def with_default_values(document: Document) -> Document:
    """Return the document with the constant defaults of its kind."""
    values = _VALUES.get(group_kind(document))
    if values is None:
        return document
    filled = dict(document)
    if filled.get("spec") is None and any(path.startswith("spec.") for path in values):
        filled["spec"] = {}
    for path, value in values.items():
        _fill(filled, path.replace("[*]", ".[*]").split("."), value, or_empty=path in _FILLED_IF_EMPTY)
    return filled


def _fill(part: dict[str, Any], steps: list[str], value: Any, *, or_empty: bool) -> None:
    """Set `value` at the path if absent. Change `part` in place; copy the objects below it."""
    name, *rest = steps
    found = part.get(name)
    if not rest:
        if found is None or (or_empty and found == "") or (found == [] and isinstance(value, list)):
            part[name] = copy.deepcopy(value)
    elif rest[0] == "[*]":
        if isinstance(found, list):
            part[name] = [dict(element) if isinstance(element, dict) else element for element in found]
            for element in part[name]:
                if isinstance(element, dict):
                    _fill(element, rest[1:], value, or_empty=or_empty)
    elif isinstance(found, dict):
        part[name] = dict(found)
        _fill(part[name], rest, value, or_empty=or_empty)
