# SPDX-License-Identifier: Apache-2.0
"""Priority classes and disruption budgets."""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Condition, Int32, Int64, LabelSelector, Object, Struct


class PriorityClass(Object, frozen=True):
    KIND: ClassVar[str] = "PriorityClass"
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1"
    PLURAL: ClassVar[str] = "priorityclasses"
    NAMESPACED: ClassVar[bool] = False

    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(Struct, frozen=True):
    min_available: Int64 | str | None = None
    max_unavailable: Int64 | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True):
    observed_generation: Int64 = 0
    #: Evicted pods whose deletion is not observed yet, with the time of the eviction.
    disrupted_pods: dict[str, str] = {}
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Object, frozen=True):
    KIND: ClassVar[str] = "PodDisruptionBudget"
    API_VERSION: ClassVar[str] = "policy/v1"
    PLURAL: ClassVar[str] = "poddisruptionbudgets"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
