# SPDX-License-Identifier: Apache-2.0
"""Eviction: deleting a pod only if its disruption budget allows it.

What `kubectl drain` asks for; the scheduler's preemption deletes instead. Budgets count as their status says: nothing
here recalculates it but for the disruption that an eviction uses up.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Condition, Pod, PodDisruptionBudget, key
from steersman.api.selectors import from_label_selector
from steersman.embedded.errors import StatusError, TooManyRequests
from steersman.embedded.pods import FINISHED_PHASES, Pods
from steersman.embedded.store import Store, check_uid
from steersman.errors import InputError

WOULD_VIOLATE: Final = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
EVICTED: Final = Condition(
    type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI", message="Eviction API: evicting"
)

_replace = msgspec.structs.replace


def evict(store: Store, name: str, *, grace_period_seconds: int | None = 0, uid: str = "") -> None:
    """Deletes the pod `namespace/name`; raises `TooManyRequests` if its budget does not allow that now."""
    pod = store.get(Pod, name)
    check_uid(pod, uid)
    if not _needs_no_budget(pod):
        _use_budget(store, pod)
    pods = Pods(store)
    pods.patch_status(name, condition=_replace(EVICTED, observed_generation=pod.metadata.generation))
    pods.delete(name, grace_period_seconds=grace_period_seconds)


def _needs_no_budget(pod: Pod) -> bool:
    """Pods that do not serve, or no longer, disrupt nothing when they go."""
    return pod.status.phase in (*FINISHED_PHASES, "Pending") or pod.metadata.deletion_timestamp is not None


def _use_budget(store: Store, pod: Pod) -> None:
    budgets = budgets_of(store, pod)
    if len(budgets) > 1:
        raise StatusError(SEVERAL_BUDGETS)
    if budgets and (_is_ready(pod) or not _spares_unready(budgets[0])):
        _take_disruption(store, budgets[0], pod)


def budgets_of(store: Store, pod: Pod) -> list[PodDisruptionBudget]:
    """The disruption budgets that select the pod."""
    return [
        budget
        for budget in store.objects(PodDisruptionBudget).values()
        if budget.metadata.namespace == pod.metadata.namespace and _selects(budget, pod)
    ]


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return from_label_selector(budget.spec.selector).matches(pod.metadata.labels)
    except InputError:  # a budget with an unusable selector protects nothing
        return False


def _is_ready(pod: Pod) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)


def _spares_unready(budget: PodDisruptionBudget) -> bool:
    """May a pod that is not ready go without being counted?"""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return budget.status.current_healthy >= budget.status.desired_healthy > 0


def _take_disruption(store: Store, budget: PodDisruptionBudget, pod: Pod) -> None:
    status = budget.status
    if status.disruptions_allowed <= 0:
        raise TooManyRequests(f"{WOULD_VIOLATE} {_explanation(budget)}")
    disrupted = {**status.disrupted_pods, pod.metadata.name: store.timestamp()}
    used = _replace(status, disruptions_allowed=status.disruptions_allowed - 1, disrupted_pods=disrupted)
    current = store.get(PodDisruptionBudget, key(budget))
    store.rewrite(current, _replace(current, status=used))


def _explanation(budget: PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    if status.current_healthy <= status.desired_healthy:
        needs = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        return f"The disruption budget {name} {needs}"
    return f"The disruption budget {name} does not allow evicting pods currently"
