# SPDX-License-Identifier: Apache-2.0
"""Defaults of horizontal pod autoscalers: at least one replica, 80 % of the requested cpu, and the rules of its behaviour."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import (
    HorizontalPodAutoscaler,
    MetricSource,
    MetricSpec,
    MetricTarget,
    ScalingPolicy,
    ScalingRules,
)
from steersman.embedded.store import ClusterView

CPU_UTILIZATION: Final = 80
SCALE_UP: Final = ScalingRules(
    stabilization_window_seconds=0,
    select_policy="Max",
    policies=(ScalingPolicy("Pods", 4, 15), ScalingPolicy("Percent", 100, 15)),
)
SCALE_DOWN: Final = ScalingRules(select_policy="Max", policies=(ScalingPolicy("Percent", 100, 15),))

_replace = msgspec.structs.replace


def admit_autoscaler(
    autoscaler: HorizontalPodAutoscaler, _: HorizontalPodAutoscaler | None, __: ClusterView
) -> HorizontalPodAutoscaler:
    spec = autoscaler.spec
    behavior = spec.behavior
    if behavior is not None:
        behavior = _replace(
            behavior, scale_up=_rules(behavior.scale_up, SCALE_UP), scale_down=_rules(behavior.scale_down, SCALE_DOWN)
        )
    completed = _replace(
        spec,
        min_replicas=1 if spec.min_replicas is None else spec.min_replicas,
        metrics=spec.metrics or (_cpu(spec.target_cpu_utilization_percentage or CPU_UTILIZATION),),
        behavior=behavior,
        target_cpu_utilization_percentage=None,
    )
    return autoscaler if completed == spec else _replace(autoscaler, spec=completed)


def _rules(given: ScalingRules | None, default: ScalingRules) -> ScalingRules:
    if given is None:
        return default
    window = given.stabilization_window_seconds
    return _replace(
        given,
        stabilization_window_seconds=default.stabilization_window_seconds if window is None else window,
        select_policy=given.select_policy or default.select_policy,
        policies=given.policies or default.policies,
    )


def _cpu(percentage: int) -> MetricSpec:
    target = MetricTarget(type="Utilization", average_utilization=percentage)
    return MetricSpec(type="Resource", resource=MetricSource(name="cpu", target=target))
