# SPDX-License-Identifier: Apache-2.0
"""Every pod may stay for five minutes on a node that is not ready or cannot be reached, unless it says otherwise."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import PodSpec, Toleration

SECONDS: Final = 300
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
NO_EXECUTE: Final = "NoExecute"

_DEFAULTS: Final = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=SECONDS)
    for key in (NOT_READY, UNREACHABLE)
)


def with_default_tolerations(spec: PodSpec) -> PodSpec:
    existing = spec.tolerations
    if not existing:
        return msgspec.structs.replace(spec, tolerations=_DEFAULTS)
    missing = tuple(default for default in _DEFAULTS if not any(_covers(own, default.key) for own in existing))
    return msgspec.structs.replace(spec, tolerations=existing + missing) if missing else spec


def _covers(toleration: Toleration, key: str) -> bool:
    return toleration.key in (key, "") and toleration.effect in (NO_EXECUTE, "")
