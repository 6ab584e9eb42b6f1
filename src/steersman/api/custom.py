# SPDX-License-Identifier: Apache-2.0
"""Kinds that Steersman does not ship: custom resources, declared by the plugins that look at them.

A plugin author writes a struct that derives from `Object` and names the fields that the plugin reads, or asks here for a kind
whose objects hold plain dicts:

    class PodGroup(api.Object, frozen=True):
        API_VERSION, KIND, PLURAL = "scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"

        spec: PodGroupSpec = PodGroupSpec()

    Rate = api.custom_kind("example.com/v1", "Rate", "rates", namespaced=False)

Everything that reads objects (`codec`, `manifests`, the client) takes such classes like those of `kinds`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from steersman.api.meta import Object


class CustomObject(Object, frozen=True):
    """An object whose spec and status are what the JSON holds."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


def custom_kind(api_version: str, kind: str, plural: str, *, namespaced: bool = True) -> type[CustomObject]:
    """The class of a custom resource that is read as plain dicts; the same class for the same resource."""
    return _custom_kind(api_version, kind, plural, namespaced)


@cache
def _custom_kind(api_version: str, kind: str, plural: str, namespaced: bool) -> type[CustomObject]:
    identity = {"API_VERSION": api_version, "KIND": kind, "PLURAL": plural, "NAMESPACED": namespaced}
    made = msgspec.defstruct(kind, [], bases=(CustomObject,), frozen=True, namespace=identity)
    return cast("type[CustomObject]", made)
