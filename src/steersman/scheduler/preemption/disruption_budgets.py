# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets for preemption: which pods of a node cannot be evicted without violating
one.

Read from the lister; used by the dry runs. Budgets do not forbid a preemption, but make the node
less preferred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from steersman.api import PodDisruptionBudget, Selector, from_label_selector
from steersman.base import InputError
from steersman.framework import PodInfo, PodTemplate
from steersman.scheduler.preemption.victims import Victim


class ViolatingVictim(NamedTuple):
    """A victim whose eviction violates budgets."""

    victim: Victim
    #: Number of its pods that violate a budget.
    pods: int


class Budget:
    """One budget with a compiled selector."""

    __slots__ = ("allowed", "disrupted", "selector")

    def __init__(self, selector: Selector, allowed: int, disrupted: Collection[str]) -> None:
        self.selector = selector
        self.allowed = allowed
        #: Names of pods whose eviction the API server has already granted and counted.
        self.disrupted = disrupted


class Budgets:
    """All budgets of the cluster at one moment.

    `ends_at_violation` is the rule of v1.37: a pod is charged to its budgets up to the first one
    that is exceeded.
    """

    def __init__(self, objects: Iterable[PodDisruptionBudget], *, ends_at_violation: bool = False) -> None:
        self._ends_at_violation = ends_at_violation
        self._by_namespace: dict[str, list[Budget]] = {}
        #: The budgets that select the pods of a template, which have one namespace.
        self._matching: dict[PodTemplate, tuple[Budget, ...]] = {}
        for obj in objects:
            selector = _usable_selector(obj)
            if selector is not None:
                budget = Budget(selector, obj.status.disruptions_allowed, obj.status.disrupted_pods)
                self._by_namespace.setdefault(obj.metadata.namespace, []).append(budget)
        #: Namespaces and selectors of the budgets, independent of their current allowance.
        self.selectors = frozenset((ns, b.selector) for ns, budgets in self._by_namespace.items() for b in budgets)

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    def select(self, pod: PodInfo) -> bool:
        """Return whether any budget selects the pod."""
        return bool(self._selecting(pod))

    def applicable_to(self, pod: PodInfo) -> Sequence[Budget]:
        """Return the budgets that a disruption of the pod would count against."""
        return [budget for budget in self._selecting(pod) if pod.name not in budget.disrupted]

    def are_violated_by(self, pods: Iterable[PodInfo]) -> bool:
        """Return whether any budget is violated if all of the pods are evicted, in any order."""
        used: dict[Budget, int] = {}
        return any(self._charge(pod, used) for pod in pods)

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return the pods that violate a budget if all are evicted in this order, and the other
        pods."""
        used: dict[Budget, int] = {}
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            (violating if self._charge(pod, used) else others).append(pod)
        return violating, others

    def split_victims(self, victims: Iterable[Victim]) -> tuple[list[ViolatingVictim], list[Victim]]:
        """Return the victims with a pod that violates a budget if all of them are evicted in this
        order, the number of such pods, and the other victims."""
        used: dict[Budget, int] = {}
        violating: list[ViolatingVictim] = []
        others: list[Victim] = []
        for victim in victims:
            count = sum(self._charge(pod, used) for pod in victim.pods)
            if count:
                violating.append(ViolatingVictim(victim, count))
            else:
                others.append(victim)
        return violating, others

    def _charge(self, pod: PodInfo, used: dict[Budget, int]) -> bool:
        """Count a pod against its budgets and return whether it violates one of them."""
        violates = False
        for budget in self.applicable_to(pod):
            used[budget] = used.get(budget, 0) + 1
            violates |= used[budget] > budget.allowed
            if violates and self._ends_at_violation:
                break
        return violates

    def _selecting(self, pod: PodInfo) -> tuple[Budget, ...]:
        if pod.namespace not in self._by_namespace or not pod.labels:
            return ()
        found = self._matching.get(pod.template)
        if found is None:
            budgets = self._by_namespace[pod.namespace]
            found = self._matching[pod.template] = tuple(b for b in budgets if b.selector.matches(pod.labels))
        return found


def _usable_selector(obj: PodDisruptionBudget) -> Selector | None:
    """Return the selector of a budget; None if it selects nothing: a missing, empty or invalid
    selector."""
    try:
        selector = from_label_selector(obj.spec.selector)
    except InputError:
        return None
    return None if obj.spec.selector is None or selector.empty else selector
