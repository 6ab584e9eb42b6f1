# SPDX-License-Identifier: Apache-2.0
"""API objects as plain dicts: from the builders of `steersman.testing`, and small readings of what a server returns."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, TypeVar

from steersman import api
from steersman.api import codec
from steersman.testing.building import Builder

JsonObject: TypeAlias = dict[str, Any]
T = TypeVar("T", bound=api.Object)

IMAGE: Final = "example.com/pause:1"
"""Of containers that have none: the server insists on one, nothing ever pulls it."""


def manifest(built: Builder[T] | api.Object) -> JsonObject:
    """The manifest that `kubectl create` would be given. Identity and history are the server's to fill in."""
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
    """The server wants the limits of extended resources to be equal to the requests."""
    for name, amount in resources.get("requests", {}).items():
        if "/" in name:
            resources.setdefault("limits", {}).setdefault(name, amount)


def bound_to(pod: JsonObject) -> str:
    """The node of a pod, empty while it has none."""
    node: str = pod["spec"].get("nodeName", "")
    return node


def condition(obj: JsonObject, kind: str) -> JsonObject | None:
    """The condition of this type, None while there is none."""
    conditions: list[JsonObject] = obj.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found["type"] == kind), None)
