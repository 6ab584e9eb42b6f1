# SPDX-License-Identifier: Apache-2.0
"""The quality of service class of a pod, which an API server writes into the status of new pods and kubelets report."""

from __future__ import annotations

from typing import Final

from steersman.api import Pod, Quantity, ResourceRequirements, quantity

_COUNTED: Final = ("cpu", "memory")


def qos_class(pod: Pod) -> str:
    """Guaranteed, Burstable or BestEffort, by requests and limits of cpu and memory."""
    spec = pod.spec
    given = [container.resources for container in (*spec.containers, *spec.init_containers)]
    parts = [spec.resources] if spec.resources is not None and _counts(spec.resources) else given
    if not any(_counts(part) for part in parts):
        return "BestEffort"
    return "Guaranteed" if all(_is_guaranteed(part) for part in parts) else "Burstable"


def _counts(part: ResourceRequirements) -> bool:
    return any(
        name in _COUNTED and _milli(amount) > 0
        for amounts in (part.requests, part.limits)
        for name, amount in amounts.items()
    )


def _is_guaranteed(part: ResourceRequirements) -> bool:
    return all(
        name in part.limits
        and _milli(part.limits[name]) > 0
        and _milli(part.requests.get(name, part.limits[name])) == _milli(part.limits[name])
        for name in _COUNTED
    )


def _milli(amount: Quantity) -> int:
    return quantity.milli_value(quantity.parse(amount))
