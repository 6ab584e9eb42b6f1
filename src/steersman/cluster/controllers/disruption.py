# SPDX-License-Identifier: Apache-2.0
"""The disruption controller: updates the status of PodDisruptionBudgets for eviction and
preemption.

Tracks the pods that each budget selects; the pods' controllers determine the expected number.
Difference to upstream, for partial dumps: a missing controller counts with as many replicas as pods
refer to it, while upstream then allows no disruption.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from steersman.api import (
    FINISHED_PHASES,
    Condition,
    CustomObject,
    DaemonSet,
    Deployment,
    Job,
    LabelSelector,
    Object,
    Pod,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    ReplicaSet,
    ReplicationController,
    Selector,
    StatefulSet,
    from_label_selector,
    key,
    timestamps,
)
from steersman.base import InputError
from steersman.cluster.controllers.controller import Cluster, Controller, controller_of, owned_key
from steersman.cluster.store import EventType, Pods, with_condition
from steersman.cluster.store.errors import resource

DISRUPTION_ALLOWED: Final = "DisruptionAllowed"
DISRUPTION_TARGET: Final = "DisruptionTarget"
DELETION_SECONDS: Final = 120.0
"""Time within which an evicted pod is expected to be deleted."""
STALE_SECONDS: Final = 120.0
"""Time after which the condition DisruptionTarget of a pod that is not deleted is stale."""
TERMINATION_BY_KUBELET: Final = "TerminationByKubelet"
UNMANAGED: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of the PDB "
    'cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set "'
    '.spec.minAvailable" field of the PDB to an integer value.'
)
NOT_A_PERCENTAGE: Final = "invalid value for IntOrString: invalid type: string is not a percentage"
_PERCENT: Final = re.compile(r"([+-]?[0-9]+)%")
_SCALABLE: Final = (Deployment, ReplicaSet, StatefulSet, ReplicationController)
_NOT_SCALABLE: Final = (DaemonSet, Job)

_replace = msgspec.structs.replace


class DisruptionController(Controller):
    """Disruption controller; keys are `namespace/name` of budgets."""

    NAME = "disruption"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        #: namespace → budget key → selector.
        self._selectors: dict[str, dict[str, Selector]] = {}
        #: namespace and a required label → budget keys; ("", "") for selectors without a label.
        self._by_label: dict[tuple[str, str, str], dict[str, None]] = {}
        #: budget key → keys of selected pods, in order.
        self._selected: dict[str, dict[str, None]] = {}
        self.store.subscribe(self._on_budget, (PodDisruptionBudget,))
        self.store.subscribe(self._on_pod, (Pod,))
        self.store.subscribe(self._on_scale, _SCALABLE)

    # -- events ------------------------------------------------------------------------------------

    def _on_budget(self, _: EventType, old: Object | None, new: Object | None) -> None:
        budget = new or old
        if not isinstance(budget, PodDisruptionBudget):
            return
        name, of_namespace = key(budget), self._selectors.setdefault(budget.metadata.namespace, {})
        if isinstance(old, PodDisruptionBudget):
            self._by_label.get(_index_label(old), {}).pop(name, None)
        if new is None:
            of_namespace.pop(name, None)
            self._selected.pop(name, None)
            return
        self._by_label.setdefault(_index_label(budget), {})[name] = None
        if not isinstance(old, PodDisruptionBudget) or old.spec.selector != budget.spec.selector:
            selector = of_namespace[name] = _selector(budget)
            self._selected[name] = {key(pod): None for pod in self._pods_of(budget.metadata.namespace, selector)}
        self.enqueue(name)

    def _pods_of(self, namespace: str, selector: Selector) -> Iterable[Pod]:
        pods = self.store.objects(Pod).values()
        return (pod for pod in pods if pod.metadata.namespace == namespace and selector.matches(pod.metadata.labels))

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        pod = new or old
        if not isinstance(pod, Pod):
            return
        selectors = self._selectors.get(pod.metadata.namespace)
        if selectors:
            for name in self._candidates(old, new):
                self._select(name, selectors[name], pod, is_there=new is not None)
        if new is not None and isinstance(old, Pod) and old.status.conditions is not pod.status.conditions:
            self._expect_deletion(pod)

    def _candidates(self, *pods: Object | None) -> Iterable[str]:
        """Return the budgets that may select the old or new pod."""
        found: dict[str, None] = {}
        labels: object = None
        for pod in pods:
            if pod is None or pod.metadata.labels is labels:
                continue
            namespace, labels = pod.metadata.namespace, pod.metadata.labels
            for name, value in (("", ""), *labels.items()):
                budgets = self._by_label.get((namespace, name, value))
                if budgets:
                    found.update(budgets)
        return found

    def _select(self, budget: str, selector: Selector, pod: Pod, *, is_there: bool) -> None:
        selected, name = self._selected[budget], key(pod)
        if is_there and selector.matches(pod.metadata.labels):
            selected[name] = None
        elif name in selected:
            del selected[name]
        else:
            return
        self.enqueue(budget)

    def _on_scale(self, _: EventType, old: Object | None, new: Object | None) -> None:
        """Enqueue all budgets of the namespace if the desired number of replicas has changed."""
        workload = new or old
        if workload is not None and _replicas(old) != _replicas(new):
            for name in self._selectors.get(workload.metadata.namespace, ()):
                self.enqueue(name)

    # -- the status --------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        budget = self.store.find(PodDisruptionBudget, name)
        if budget is None:
            return
        try:
            status = self._status(budget, self._selected_pods(name))
        except InputError as error:
            status = self._failed(budget, str(error))
        if status != budget.status:
            self.store.update_status(_replace(budget, status=status))

    def _selected_pods(self, name: str) -> list[Pod]:
        found = (self.store.find(Pod, pod) for pod in self._selected[name])
        return [pod for pod in found if pod is not None]

    def _status(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> PodDisruptionBudgetStatus:
        if not pods:
            self.cluster.record(budget, "NoPods", "No matching pods found")
        expected, desired = self._expected(budget, pods)
        disrupted = self._disrupted(budget, pods)
        healthy = sum(map(_is_ready, (pod for pod in pods if pod.metadata.name not in disrupted)))
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status = PodDisruptionBudgetStatus(
            observed_generation=budget.metadata.generation,
            disrupted_pods=disrupted,
            disruptions_allowed=allowed,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected,
            conditions=budget.status.conditions,
        )
        return self._with_condition(status, "SufficientPods" if allowed else "InsufficientPods", is_true=allowed > 0)

    def _failed(self, budget: PodDisruptionBudget, message: str) -> PodDisruptionBudgetStatus:
        """Return the status after an error, which allows no disruption."""
        text = f"Failed to calculate the number of expected pods: {message}"
        self.cluster.record(budget, "CalculateExpectedPodCountFailed", text, is_warning=True)
        status = _replace(budget.status, disruptions_allowed=0)
        return self._with_condition(status, "SyncFailed", is_true=False, message=message)

    def _with_condition(
        self, status: PodDisruptionBudgetStatus, reason: str, *, is_true: bool, message: str = ""
    ) -> PodDisruptionBudgetStatus:
        condition = Condition(
            type=DISRUPTION_ALLOWED,
            status="True" if is_true else "False",
            reason=reason,
            message=message,
            observed_generation=status.observed_generation,
        )
        conditions = with_condition(status.conditions, condition, self.store.timestamp())
        return _replace(status, conditions=conditions)

    def _expected(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> tuple[int, int]:
        """Return the expected number of pods, and how many must be healthy."""
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected = self._expected_scale(budget, pods)
            return expected, max(0, expected - scaled(spec.max_unavailable, expected))
        if spec.min_available is None:
            return 0, 0
        if isinstance(spec.min_available, int):
            return len(pods), spec.min_available
        expected = self._expected_scale(budget, pods)
        return expected, scaled(spec.min_available, expected)

    def _expected_scale(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> int:
        """Return the total replicas of the pods' controllers."""
        replicas = dict[str, int]()
        unmanaged = False
        absent = dict[str, int]()
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                unmanaged = True
            elif owner.uid in absent:
                absent[owner.uid] += 1
            elif owner.uid not in replicas:
                found = self._scale_of(pod)
                if found is None:
                    absent[owner.uid] = 1
                else:
                    replicas[owner.uid] = 0
                    replicas[found[0]] = found[1]
        if unmanaged:
            text = UNMANAGED.format(go_selector(budget.spec.selector))
            self.cluster.record(budget, "UnmanagedPods", text, is_warning=True)
        return sum(replicas.values()) + sum(absent.values())

    def _scale_of(self, pod: Pod) -> tuple[str, int] | None:
        """Return uid and replicas of the pod's controller (a ReplicaSet's Deployment), if any."""
        owner = self._owner(pod)
        if isinstance(owner, ReplicaSet):
            reference = controller_of(owner)
            if reference is not None and reference.kind == Deployment.KIND:
                owner = self._owner(owner)
        if owner is None:
            return None
        return owner.metadata.uid, _replicas(owner) or 0

    def _owner(self, obj: Object) -> Object | None:
        reference = controller_of(obj)
        if reference is None:
            return None
        kinds: tuple[type[Object], ...] = (*_SCALABLE, *_NOT_SCALABLE, *self.store.kinds)
        for kind in kinds:
            name = owned_key(obj, kind)
            if name is None:
                continue
            if kind in _NOT_SCALABLE:
                raise InputError(f"{resource(kind)} does not implement the scale subresource")
            found = self.store.find(kind, name)
            return found if found is not None and found.metadata.uid == reference.uid else None
        return None

    def _disrupted(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> dict[str, str]:
        """Return evicted pods that are not deleted yet; enqueue the budget for their deadline."""
        known, now = budget.status.disrupted_pods, self.store.clock.now()
        kept = dict[str, str]()
        if not known:
            return kept
        for pod in pods:
            name = pod.metadata.name
            if pod.metadata.deletion_timestamp is not None or name not in known:
                continue
            left = timestamps.parse(known[name]) + DELETION_SECONDS - now
            if left < 0:
                place = f"{budget.metadata.namespace}/{budget.metadata.namespace}"
                text = f"Pod was expected by PDB {place} to be deleted but it wasn't"
                self.cluster.record(pod, "NotDeleted", text, is_warning=True)
                continue
            kept[name] = known[name]
            self.enqueue_after(key(budget), left + 1, is_background=True)
        return kept

    # -- pods that are said to be disrupted --------------------------------------------------------

    def _expect_deletion(self, pod: Pod) -> None:
        """Set a timer that clears DisruptionTarget if the pod is not deleted in time."""
        if _stale_condition(pod) is not None:
            name, uid = key(pod), pod.metadata.uid
            self.call_after(STALE_SECONDS, lambda: self._clear_stale(name, uid), is_background=True)

    def _clear_stale(self, name: str, uid: str) -> None:
        pod = self.store.find(Pod, name)
        if pod is None or pod.metadata.uid != uid:
            return
        condition = _stale_condition(pod)
        if condition is None:
            return
        since = condition.last_transition_time
        if since and self.store.clock.now() - timestamps.parse(since) >= STALE_SECONDS:
            generation = pod.metadata.generation
            fresh = Condition(type=DISRUPTION_TARGET, status="False", observed_generation=generation)
            Pods(self.store).patch_status(name, condition=fresh)


def scaled(value: int | str, total: int) -> int:
    """Return a number, or a percentage of `total` rounded up. Raises `InputError`."""
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        raise InputError(NOT_A_PERCENTAGE)
    return math.ceil(int(percent[1]) * total / 100)


def go_selector(selector: LabelSelector | None) -> str:
    """Format a selector as Go does."""
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted(selector.match_labels.items()))
    expressions = ",".join(
        f"LabelSelectorRequirement{{Key:{known.key},Operator:{known.operator},Values:[{' '.join(known.values)}],}}"
        for known in selector.match_expressions
    )
    expressions = expressions and f"{expressions},"
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _selector(budget: PodDisruptionBudget) -> Selector:
    try:
        return from_label_selector(budget.spec.selector)
    except InputError:  # an invalid selector selects nothing
        return from_label_selector(None)


def _index_label(budget: PodDisruptionBudget) -> tuple[str, str, str]:
    selector = budget.spec.selector
    labels = {} if selector is None else selector.match_labels
    return (budget.metadata.namespace, *next(iter(labels.items()), ("", "")))


def _replicas(obj: Object | None) -> int | None:
    """Return the desired replicas of an object, 1 by default; None without an object."""
    if isinstance(obj, _SCALABLE):
        return 1 if obj.spec.replicas is None else obj.spec.replicas
    if isinstance(obj, CustomObject):
        replicas = obj.spec.get("replicas", 1)
        return replicas if isinstance(replicas, int) else 1
    return None


def _is_ready(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is not None:
        return False
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)


def _stale_condition(pod: Pod) -> Condition | None:
    if pod.metadata.deletion_timestamp is not None or pod.status.phase in FINISHED_PHASES:
        return None
    for condition in pod.status.conditions:
        if condition.type == DISRUPTION_TARGET and condition.status == "True":
            return None if condition.reason == TERMINATION_BY_KUBELET else condition
    return None
