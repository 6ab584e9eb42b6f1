# SPDX-License-Identifier: Apache-2.0
"""The scale subresource: how many replicas a workload, or a custom resource that says where it has them, wants and has.

`kubectl scale` and autoscalers read and write `autoscaling/v1 Scale` objects, whatever the kind behind them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.api import LabelSelector, LabelSelectorRequirement
from steersman.api.selectors import from_label_selector
from steersman.apiserver.statuses import bad_request
from steersman.embedded import Document
from steersman.errors import InputError


class ScalePaths(msgspec.Struct, frozen=True):
    """Where an object has its numbers, as `.spec.replicas`; without a path for the selector there is none."""

    wanted: str = ".spec.replicas"
    actual: str = ".status.replicas"
    selector: str = ""


BUILT_IN_PATHS: Final = ScalePaths()


def scale_of(document: Document, paths: ScalePaths = BUILT_IN_PATHS) -> Document:
    """The `Scale` of an object."""
    metadata = document["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Document = {"replicas": _at(document, paths.actual) or 0}
    selector = _selector(document, paths)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": _at(document, paths.wanted) or 0},
        "status": status,
    }


def scaled(document: Document, scale: Document, paths: ScalePaths = BUILT_IN_PATHS) -> Document:
    """The object with the number of replicas, and the precondition, of a `Scale`; raises 400."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        raise bad_request(f"spec.replicas: Invalid value: {replicas!r}: must be greater than or equal to 0")
    metadata = dict(document["metadata"])
    seen = (scale.get("metadata") or {}).get("resourceVersion")
    if seen:
        metadata["resourceVersion"] = seen
    changed: Document = _with({**document, "metadata": metadata}, _names(paths.wanted), replicas)
    return changed


def _names(path: str) -> list[str]:
    return [name for name in path.split(".") if name]


def _at(document: Document, path: str) -> Any:
    value: Any = document
    for name in _names(path):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with(document: Any, names: list[str], value: Any) -> Any:
    if not names:
        return value
    inside = document if isinstance(document, dict) else {}
    return {**inside, names[0]: _with(inside.get(names[0]), names[1:], value)}


def _selector(document: Document, paths: ScalePaths) -> str:
    """The selector of a scale as text. Replication controllers have a plain map, custom resources the text itself."""
    if paths.selector:
        return str(_at(document, paths.selector) or "")
    if paths is not BUILT_IN_PATHS:
        return ""
    found = (document.get("spec") or {}).get("selector") or {}
    if not {"matchLabels", "matchExpressions"} & set(found):
        found = {"matchLabels": found}
    expressions = tuple(
        LabelSelectorRequirement(entry.get("key", ""), entry.get("operator", ""), tuple(entry.get("values") or ()))
        for entry in found.get("matchExpressions") or ()
    )
    try:
        selector = from_label_selector(LabelSelector(dict(found.get("matchLabels") or {}), expressions))
    except InputError:
        return ""  # a selector that cannot be used selects nothing; the object says it as it is
    return str(selector)
