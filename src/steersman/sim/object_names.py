# SPDX-License-Identifier: Apache-2.0
"""Names of objects as users write them: without the default namespace, or with the kind before a slash."""

from __future__ import annotations

from collections.abc import Iterable

from steersman import api
from steersman.api.manifests import DEFAULT_NAMESPACE
from steersman.errors import InputError


def pod_key(name: str) -> str:
    """`namespace/name` of a pod; without a namespace it is the default one."""
    return name if "/" in name else f"{DEFAULT_NAMESPACE}/{name}"


def given_key(obj: api.Object) -> str:
    """`namespace/name` of an object as it was given, which may leave the default namespace out."""
    name = obj.metadata.name
    return f"{obj.metadata.namespace or DEFAULT_NAMESPACE}/{name}" if obj.NAMESPACED else name


def parse_reference(text: str, custom: Iterable[type[api.Object]]) -> tuple[type[api.Object], str]:
    """The kind, built-in or `custom`, and the key: `pod/default/web-0` → Pod, default/web-0. Raises `InputError`."""
    kind, _, name = text.partition("/")
    for cls in (*api.KINDS.values(), *custom):
        if kind.lower() in (cls.KIND.lower(), cls.PLURAL):
            return cls, pod_key(name) if cls.NAMESPACED else name
    raise InputError("is no object", value=text, hint='write "node/n1" or "pod/default/web-0"')
