# SPDX-License-Identifier: Apache-2.0
"""Whether the taints of a device keep a request from using it."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.api import DeviceTaint, DeviceToleration


def are_tolerated(taints: Iterable[DeviceTaint], tolerations: Iterable[DeviceToleration]) -> bool:
    return all(any(tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """No effect means every effect, no key every key."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
