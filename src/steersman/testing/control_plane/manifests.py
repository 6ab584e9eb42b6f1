# SPDX-License-Identifier: Apache-2.0
"""API objects as plain dicts: from builders of `steersman.testing`, and helpers to read them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, TypeVar

from steersman import api
from steersman.api import codec
from steersman.testing.building import Builder

JsonObject: TypeAlias = dict[str, Any]
T = TypeVar("T", bound=api.Object)

IMAGE: Final = "example.com/pause:1"
"""Image of containers without one: it is required, but never pulled."""


def manifest(built: Builder[T] | api.Object) -> JsonObject:
    """Return the manifest for `kubectl create`, without fields that the server sets."""
    obj = codec.to_dict(built.obj() if isinstance(built, Builder) else built)
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        obj["metadata"].pop(field, None)
    if obj["kind"] == "Pod":
        _complete_pod(obj)
    return obj


def _complete_pod(pod: JsonObject) -> None:
    containers = pod.setdefault("spec", {}).setdefault("containers", [])
    if not containers:
        containers.append({"name": "main"})
    for container in [*containers, *pod["spec"].get("initContainers", ())]:
        container.setdefault("image", IMAGE)
        _limit_extended(container.get("resources", {}))


def _limit_extended(resources: JsonObject) -> None:
    """Set the limits of extended resources, which must equal the requests."""
    for name, amount in resources.get("requests", {}).items():
        if "/" in name:
            resources.setdefault("limits", {}).setdefault(name, amount)


def bound_to(pod: JsonObject) -> str:
    """Return the node of a pod; "" if none."""
    node: str = pod["spec"].get("nodeName", "")
    return node


def condition(obj: JsonObject, kind: str) -> JsonObject | None:
    """Return the condition of this type, or None."""
    conditions: list[JsonObject] = obj.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found["type"] == kind), None)
