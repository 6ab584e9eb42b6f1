# SPDX-License-Identifier: Apache-2.0
"""Usage of simulated containers, for the metrics API and the horizontal autoscaler.

A container uses its requests, unless the pod has an annotation `steersman.dev/load-cpu` or
`steersman.dev/load-memory`: a load curve that starts with the pod and is shared evenly by its
containers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from steersman.api import Pod, quantity, timestamps
from steersman.cluster.controllers.load_curve import annotated_curve

MEASURED: Final = ("cpu", "memory")
"""Resources in the metrics API."""


def container_usage(pod: Pod, now: float) -> Sequence[Mapping[str, int]]:
    """Return each container's usage in thousandths. Raise `InputError` for invalid curves."""
    used = {resource: _usage(pod, resource, now) for resource in MEASURED}
    return [
        {resource: amounts[index] for resource, amounts in used.items()} for index in range(len(pod.spec.containers))
    ]


def _usage(pod: Pod, resource: str, now: float) -> list[int]:
    curve, containers = annotated_curve(pod.metadata.annotations, resource), pod.spec.containers
    if curve is None:
        requests = (container.resources.requests.get(resource, 0) for container in containers)
        return [quantity.milli_value(quantity.parse(amount)) for amount in requests]
    created = pod.metadata.creation_timestamp
    load = curve.load_at(now - timestamps.parse(created) if created else 0.0)
    return [load // len(containers)] * len(containers)
