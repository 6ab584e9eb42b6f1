# SPDX-License-Identifier: Apache-2.0
"""Patches as an API server applies them: merge patches, and the strategic ones of lists that have a key."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from steersman import api
from steersman.api import codec
from steersman.kube.client.requests import STRATEGIC_MERGE_PATCH

T = TypeVar("T", bound=api.Object)

MERGE_KEYS: Final = {"conditions": "type"}
_DIRECTIVE: Final = "$"


def patched(obj: T, patch: dict[str, Any], content_type: str) -> T:
    """The object with the patch; a uid or resource version in the patch is a precondition that the store checks."""
    merged = _merged(codec.to_dict(obj), patch, strategic=content_type == STRATEGIC_MERGE_PATCH)
    if "resourceVersion" not in patch.get("metadata", {}):
        merged["metadata"]["resourceVersion"] = ""
    return codec.convert(merged, type(obj))


def _merged(old: dict[str, Any], patch: dict[str, Any], *, strategic: bool) -> dict[str, Any]:
    result = dict(old)
    for name, value in patch.items():
        if name.startswith(_DIRECTIVE):
            continue
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = _merged(result.get(name) or {}, value, strategic=strategic)
        elif strategic and name in MERGE_KEYS:
            result[name] = _merged_list(result.get(name) or [], value, MERGE_KEYS[name])
        else:
            result[name] = value
    return result


def _merged_list(old: list[dict[str, Any]], patch: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    by_key = {element[key]: element for element in old}
    for element in patch:
        by_key[element[key]] = _merged(by_key.get(element[key], {}), element, strategic=True)
    return list(by_key.values())
