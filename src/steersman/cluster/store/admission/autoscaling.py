# SPDX-License-Identifier: Apache-2.0
"""Admission of horizontal pod autoscalers: defaults and the v1 CPU metric."""

from __future__ import annotations

import msgspec

from steersman.api import HorizontalPodAutoscaler, MetricSource, MetricSpec, MetricTarget, codec
from steersman.api.defaults import with_default_fields
from steersman.cluster.store.store import ClusterView

_replace = msgspec.structs.replace


def admit_autoscaler(
    autoscaler: HorizontalPodAutoscaler, _: HorizontalPodAutoscaler | None, __: ClusterView
) -> HorizontalPodAutoscaler:
    """Return the autoscaler with defaults; the same object if it is complete."""
    spec, percentage = autoscaler.spec, autoscaler.spec.target_cpu_utilization_percentage
    if percentage is not None:
        metrics = spec.metrics or ((_cpu(percentage),) if percentage else ())
        spec = _replace(spec, metrics=metrics, target_cpu_utilization_percentage=None)
    document = with_default_fields(codec.to_dict(_replace(autoscaler, spec=spec)))
    completed = codec.convert(document["spec"], type(spec))
    return autoscaler if completed == autoscaler.spec else _replace(autoscaler, spec=completed)


def _cpu(percentage: int) -> MetricSpec:
    target = MetricTarget(type="Utilization", average_utilization=percentage)
    return MetricSpec(type="Resource", resource=MetricSource(name="cpu", target=target))
