# SPDX-License-Identifier: Apache-2.0
"""Custom resources declared by plugins.

A plugin author derives a struct from `Object` with the fields that the plugin reads, or calls
`custom_kind` for objects with plain dicts:

    class PodGroup(api.Object, frozen=True):
        API_VERSION, KIND, PLURAL = "scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"
        spec: PodGroupSpec = PodGroupSpec()

    Rate = api.custom_kind("example.com/v1", "Rate", "rates", namespaced=False)

All readers of objects (`codec`, `manifests`, the client) accept such classes like those of `kinds`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from steersman.api.meta import Object


class CustomObject(Object, frozen=True):
    """Object whose spec and status are plain JSON."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


def custom_kind(api_version: str, kind: str, plural: str, *, namespaced: bool = True) -> type[CustomObject]:
    """Return the class of a custom resource with plain dicts; always the same class for a
    resource."""
    return _custom_kind(api_version, kind, plural, namespaced)


@cache
def _custom_kind(api_version: str, kind: str, plural: str, namespaced: bool) -> type[CustomObject]:
    identity = {"API_VERSION": api_version, "KIND": kind, "PLURAL": plural, "NAMESPACED": namespaced}
    made = msgspec.defstruct(kind, [], bases=(CustomObject,), frozen=True, namespace=identity)
    return cast("type[CustomObject]", made)
