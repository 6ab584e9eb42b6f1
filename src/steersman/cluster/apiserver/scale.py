# SPDX-License-Identifier: Apache-2.0
"""The scale subresource: desired and actual replicas of a workload or custom resource.

`kubectl scale` and autoscalers use `autoscaling/v1 Scale` objects for every kind.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.api import LabelSelector, LabelSelectorRequirement, from_label_selector
from steersman.base import InputError
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.statuses import bad_request, invalid
from steersman.cluster.store import Document


class ScalePaths(msgspec.Struct, frozen=True):
    """Paths of an object's replica counts, such as `.spec.replicas`; "" for no selector."""

    wanted: str = ".spec.replicas"
    actual: str = ".status.replicas"
    selector: str = ""


BUILT_IN_PATHS: Final = ScalePaths()
SCALE_VERSION: Final = "autoscaling/v1"


def scale_of(document: Document, paths: ScalePaths = BUILT_IN_PATHS) -> Document:
    """Return the `Scale` of an object."""
    metadata = document["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Document = {"replicas": _at(document, paths.actual) or 0}
    selector = _selector(document, paths)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": _at(document, paths.wanted) or 0},
        "status": status,
    }


def scaled(document: Document, scale: Document, paths: ScalePaths = BUILT_IN_PATHS) -> Document:
    """Return the object with the replicas and resource version of a `Scale`. Raises 400 and 422."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request(f"spec.replicas: Invalid value: {replicas!r}: must be an integer")
    if replicas < 0:
        problem = f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid(Resource(SCALE_VERSION, "", "Scale"), document["metadata"].get("name", ""), [problem])
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
    """Return the selector of a scale as text. Replication controllers have a plain map, custom
    resources the text itself."""
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
        return ""  # an invalid selector selects nothing
    return str(selector)
