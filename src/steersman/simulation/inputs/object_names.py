# SPDX-License-Identifier: Apache-2.0
"""Names of objects in user input: without the default namespace, or with the kind as a prefix."""

from __future__ import annotations

from collections.abc import Iterable

from steersman import api
from steersman.base import InputError


def pod_key(name: str) -> str:
    """Return `namespace/name` of a pod, with the default namespace if omitted."""
    return name if "/" in name else f"{api.DEFAULT_NAMESPACE}/{name}"


def given_key(obj: api.Object) -> str:
    """Return `namespace/name` of a given object, which may omit the default namespace."""
    name = obj.metadata.name
    return f"{obj.metadata.namespace or api.DEFAULT_NAMESPACE}/{name}" if obj.NAMESPACED else name


def parse_reference(text: str, custom: Iterable[type[api.Object]]) -> tuple[type[api.Object], str]:
    """Parse `pod/default/web-0` as kind (built-in or `custom`) and key. Raises `InputError`."""
    kind, _, name = text.partition("/")
    for cls in (*api.KINDS.values(), *custom):
        if kind.lower() in (cls.KIND.lower(), cls.PLURAL):
            return cls, pod_key(name) if cls.NAMESPACED else name
    raise InputError("is not an object", value=text, hint='write "node/n1" or "pod/default/web-0"')
