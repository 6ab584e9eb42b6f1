# SPDX-License-Identifier: Apache-2.0
"""HorizontalPodAutoscaler of `autoscaling/v2`, plus the field of `autoscaling/v1`."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from steersman.api.meta import Condition, Int32, Int64, LabelSelector, Object, Quantity, Struct


class CrossVersionObjectReference(Struct, frozen=True):
    kind: str = ""
    name: str = ""
    api_version: str = ""


class MetricIdentifier(Struct, frozen=True):
    name: str = ""
    selector: LabelSelector | None = None


class MetricTarget(Struct, frozen=True):
    type: str = ""
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class MetricValueStatus(Struct, frozen=True):
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class MetricSource(Struct, frozen=True):
    """A metric and its target, identified by `name` for resources, else by `metric`.

    One struct for the five kinds of sources, each of which uses some of these fields.
    """

    name: str = ""
    container: str = ""
    metric: MetricIdentifier | None = None
    described_object: CrossVersionObjectReference | None = None
    target: MetricTarget = MetricTarget()


class MetricSpec(Struct, frozen=True):
    type: str = ""
    resource: MetricSource | None = None
    container_resource: MetricSource | None = None
    pods: MetricSource | None = None
    object: MetricSource | None = None
    external: MetricSource | None = None


class MetricSourceStatus(Struct, frozen=True):
    """Measured value of a source."""

    name: str = ""
    container: str = ""
    metric: MetricIdentifier | None = None
    described_object: CrossVersionObjectReference | None = None
    current: MetricValueStatus = MetricValueStatus()


class MetricStatus(Struct, frozen=True):
    type: str = ""
    resource: MetricSourceStatus | None = None
    container_resource: MetricSourceStatus | None = None
    pods: MetricSourceStatus | None = None
    object: MetricSourceStatus | None = None
    external: MetricSourceStatus | None = None


class ScalingPolicy(Struct, frozen=True):
    type: str = ""
    value: Int32 = 0
    period_seconds: Int32 = 0


class ScalingRules(Struct, frozen=True):
    stabilization_window_seconds: Int32 | None = None
    select_policy: str | None = None
    policies: tuple[ScalingPolicy, ...] = ()
    tolerance: Quantity | None = None


class ScalingBehavior(Struct, frozen=True):
    scale_up: ScalingRules | None = None
    scale_down: ScalingRules | None = None


class HorizontalPodAutoscalerSpec(Struct, frozen=True):
    scale_target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 0
    metrics: tuple[MetricSpec, ...] = ()
    behavior: ScalingBehavior | None = None
    #: Field of `autoscaling/v1`, which admission converts to a metric.
    target_cpu_utilization_percentage: Int32 | None = msgspec.field(default=None, name="targetCPUUtilizationPercentage")


class HorizontalPodAutoscalerStatus(Struct, frozen=True):
    observed_generation: Int64 | None = None
    last_scale_time: str | None = None
    current_replicas: Int32 = 0
    desired_replicas: Int32 = 0
    current_metrics: tuple[MetricStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()


class HorizontalPodAutoscaler(Object, frozen=True):
    KIND: ClassVar[str] = "HorizontalPodAutoscaler"
    API_VERSION: ClassVar[str] = "autoscaling/v2"
    PLURAL: ClassVar[str] = "horizontalpodautoscalers"

    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()
