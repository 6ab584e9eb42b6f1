# SPDX-License-Identifier: Apache-2.0
"""Pod disruption budgets as preemption reads them: which pods of a node could not go without violating one.

Comes from the listers' PodDisruptionBudgets; used by the dry runs. Budgets do not forbid a preemption, they make it
less attractive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from steersman.api import PodDisruptionBudget
from steersman.api.selectors import Selector, from_label_selector
from steersman.errors import InputError
from steersman.framework.pod_info import PodInfo


class Budget:
    """One budget with its selector compiled."""

    __slots__ = ("allowed", "disrupted", "selector")

    def __init__(self, selector: Selector, allowed: int, disrupted: Collection[str]) -> None:
        self.selector = selector
        self.allowed = allowed
        #: Names of pods whose eviction the API server has already granted and counted.
        self.disrupted = disrupted


class Budgets:
    """All budgets of the cluster at one moment."""

    def __init__(self, objects: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[Budget]] = {}
        self._matching: dict[tuple[str, frozenset[tuple[str, str]]], tuple[Budget, ...]] = {}
        for obj in objects:
            selector = _usable_selector(obj)
            if selector is not None:
                budget = Budget(selector, obj.status.disruptions_allowed, obj.status.disrupted_pods)
                self._by_namespace.setdefault(obj.metadata.namespace, []).append(budget)
        #: What the budgets select, whatever they allow at the moment.
        self.selectors = frozenset((ns, b.selector) for ns, budgets in self._by_namespace.items() for b in budgets)

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    def select(self, pod: PodInfo) -> bool:
        """Whether any budget is about the pod."""
        return bool(self._selecting(pod))

    def of(self, pod: PodInfo) -> Sequence[Budget]:
        """The budgets that a disruption of the pod would use up."""
        return [budget for budget in self._selecting(pod) if pod.name not in budget.disrupted]

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """The pods that violate a budget if all of them go in this order, and the others."""
        used: dict[Budget, int] = {}
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            violates = False
            for budget in self.of(pod):
                used[budget] = used.get(budget, 0) + 1
                violates |= used[budget] > budget.allowed
            (violating if violates else others).append(pod)
        return violating, others

    def _selecting(self, pod: PodInfo) -> tuple[Budget, ...]:
        if pod.namespace not in self._by_namespace or not pod.labels:
            return ()
        labels = (pod.namespace, frozenset(pod.labels.items()))
        found = self._matching.get(labels)
        if found is None:
            budgets = self._by_namespace[pod.namespace]
            found = self._matching[labels] = tuple(b for b in budgets if b.selector.matches(pod.labels))
        return found


def _usable_selector(obj: PodDisruptionBudget) -> Selector | None:
    """The selector of a budget; None if it protects nothing: without a selector, with an empty or with an invalid one."""
    try:
        selector = from_label_selector(obj.spec.selector)
    except InputError:
        return None
    return None if obj.spec.selector is None or selector.empty else selector
