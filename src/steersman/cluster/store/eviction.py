# SPDX-License-Identifier: Apache-2.0
"""Eviction: deletion of a pod if its disruption budget allows it.

Used by `kubectl drain`; the scheduler's preemption deletes instead. Budgets are read from their
status, which is updated here only for the disruption used.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import FINISHED_PHASES, Condition, Pod, PodDisruptionBudget, from_label_selector, key
from steersman.base import InputError
from steersman.cluster.store.errors import StatusError, TooManyRequests
from steersman.cluster.store.pods import Pods
from steersman.cluster.store.store import Store, check_uid

WOULD_VIOLATE: Final = "Cannot evict pod as it would violate the pod's disruption budget."
RETRY_SECONDS: Final = 10
"""Retry delay while the disruption controller has not processed a budget."""
SEVERAL_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
EVICTED: Final = Condition(
    type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI", message="Eviction API: evicting"
)

_replace = msgspec.structs.replace


def evict(store: Store, name: str, *, grace_period_seconds: int | None = 0, uid: str = "") -> None:
    """Evict the pod `namespace/name`. Raise `TooManyRequests` if its budget forbids it."""
    pod = store.get(Pod, name)
    check_uid(pod, uid)
    if not _needs_no_budget(pod):
        _use_budget(store, pod)
    pods = Pods(store)
    pods.patch_status(name, condition=_replace(EVICTED, observed_generation=pod.metadata.generation))
    pods.delete(name, grace_period_seconds=grace_period_seconds)


def _needs_no_budget(pod: Pod) -> bool:
    """Return whether the pod is not or no longer serving, so that its removal is no disruption."""
    return pod.status.phase in (*FINISHED_PHASES, "Pending") or pod.metadata.deletion_timestamp is not None


def _use_budget(store: Store, pod: Pod) -> None:
    budgets = budgets_of(store, pod)
    if len(budgets) > 1:
        raise StatusError(SEVERAL_BUDGETS)
    if budgets and (_is_ready(pod) or not _spares_unready(budgets[0])):
        _take_disruption(store, budgets[0], pod)


def budgets_of(store: Store, pod: Pod) -> list[PodDisruptionBudget]:
    """Return the disruption budgets that select the pod."""
    return [
        budget
        for budget in store.objects(PodDisruptionBudget).values()
        if budget.metadata.namespace == pod.metadata.namespace and _selects(budget, pod)
    ]


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return from_label_selector(budget.spec.selector).matches(pod.metadata.labels)
    except InputError:  # a budget with an invalid selector protects nothing
        return False


def _is_ready(pod: Pod) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)


def _spares_unready(budget: PodDisruptionBudget) -> bool:
    """Return whether a pod that is not ready may be evicted without using the budget."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return budget.status.current_healthy >= budget.status.desired_healthy > 0


def _take_disruption(store: Store, budget: PodDisruptionBudget, pod: Pod) -> None:
    status = budget.status
    if status.disruptions_allowed <= 0:
        is_processed = status.observed_generation >= budget.metadata.generation
        raise TooManyRequests(f"{WOULD_VIOLATE} {_explanation(budget)}", 0 if is_processed else RETRY_SECONDS)
    disrupted = {**status.disrupted_pods, pod.metadata.name: store.timestamp()}
    used = _replace(status, disruptions_allowed=status.disruptions_allowed - 1, disrupted_pods=disrupted)
    current = store.get(PodDisruptionBudget, key(budget))
    store.rewrite(current, _replace(current, status=used))


def _explanation(budget: PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    if status.observed_generation < budget.metadata.generation:
        return f"The disruption budget {name} is still being processed by the server."
    if status.current_healthy <= status.desired_healthy:
        needs = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        return f"The disruption budget {name} {needs}"
    return f"The disruption budget {name} does not allow evicting pods currently"
