# SPDX-License-Identifier: Apache-2.0
"""Subresources of pods: binding, status and graceful deletion, with the rules of a kube-apiserver.

The scheduler's binding driver calls `bind` and `patch_status`, preemption `delete`; `eviction` uses
it too. All write through `Store.rewrite`, which notifies watchers and subscribers.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import (
    FINISHED_PHASES,
    POD_SCHEDULED,
    REGION_LABEL,
    ZONE_LABEL,
    Condition,
    Node,
    ObjectMeta,
    Pod,
    PodStatus,
    timestamps,
)
from steersman.cluster.store.errors import Conflict, Invalid, NotFound
from steersman.cluster.store.store import Store, check_uid

TOPOLOGY_LABELS: Final = (REGION_LABEL, ZONE_LABEL)
NO_TARGET: Final = "target.name: Required value"
BINDING: Final = "binding"

_SCHEDULED: Final = Condition(type=POD_SCHEDULED, status="True")

_replace = msgspec.structs.replace


class Pods:
    """Writer of a store's pods. With `topology_labels`, bound pods get region and zone labels of
    their node.

    A kube-apiserver v1.36 does that; no in-tree plugin reads these labels from pods, so most
    simulations omit it.
    """

    def __init__(self, store: Store, *, topology_labels: bool = False) -> None:
        self._store = store
        self._topology_labels = topology_labels
        self._pods = store.objects(Pod)
        #: Last status made scheduled, time and result: pods of a template share statuses.
        self._last: tuple[PodStatus, str, PodStatus] | None = None

    def bind(self, namespace: str, name: str, uid: str, node: str) -> Pod:
        """Bind a pod to a node, which need not exist. Raise `NotFound` or `Conflict`."""
        pod = self._pods.get(f"{namespace}/{name}")
        if pod is None:
            raise NotFound(Pod, name)
        self._check_bindable(pod, uid, node)
        metadata = self._labelled(pod, node) if self._topology_labels else pod.metadata
        bound = Pod(metadata=metadata, spec=_replace(pod.spec, node_name=node), status=self._scheduled(pod.status))
        return self._store.rewrite(pod, bound)

    def patch_status(
        self, key: str, *, condition: Condition | None = None, nominated_node_name: str | None = None, uid: str = ""
    ) -> Pod:
        """Set a condition, the nominated node, or both; unchanged values are not written.

        A condition without a time gets the current one if its status changes, else it keeps its
        time.
        """
        pod = self._store.get(Pod, key)
        check_uid(pod, uid)
        status = pod.status
        if condition is not None:
            conditions = with_condition(status.conditions, condition, self._store.timestamp())
            status = _replace(status, conditions=conditions)
        if nominated_node_name is not None:
            status = _replace(status, nominated_node_name=nominated_node_name)
        return pod if status == pod.status else self._store.rewrite(pod, _replace(pod, status=status))

    def delete(
        self,
        key: str,
        *,
        grace_period_seconds: int | None = 0,
        uid: str = "",
        finalizers: tuple[str, ...] | None = None,
    ) -> Pod:
        """Delete the pod at once, or mark it as terminating if it has a grace period (None for the
        pod's own).

        Pods that are not running are deleted at once. The kubelet removes a terminating pod in the
        end. `finalizers`, if given, replace those of a pod that is not yet terminating.
        """
        pod = self._store.get(Pod, key)
        check_uid(pod, uid)
        if pod.metadata.deletion_timestamp is not None:
            return self._delete_terminating(pod, key, grace_period_seconds)
        period = _grace_period(pod, grace_period_seconds)
        if not period:
            return self._store.delete(Pod, key, finalizers=finalizers)
        end = self._store.clock.now() + period
        return self._mark(pod, end, period, pod.metadata.generation + 1, finalizers)

    def _check_bindable(self, pod: Pod, uid: str, node: str) -> None:
        check_uid(pod, uid)
        if not node:
            raise Invalid(Pod, pod.metadata.name, NO_TARGET)
        why = _unbindable(pod)
        if why:
            raise Conflict(Pod, pod.metadata.name, why, BINDING)

    def _scheduled(self, status: PodStatus) -> PodStatus:
        now, last = self._store.timestamp(), self._last
        if last is not None and last[0] is status and last[1] == now:
            return last[2]
        conditions = with_condition(status.conditions, _SCHEDULED, now)
        scheduled = _replace(status, conditions=conditions, nominated_node_name="")
        self._last = (status, now, scheduled)
        return scheduled

    def _labelled(self, pod: Pod, node_name: str) -> ObjectMeta:
        node = self._store.find(Node, node_name)
        labels = node.metadata.labels if node is not None else {}
        copied = {name: labels[name] for name in TOPOLOGY_LABELS if name in labels}
        return _replace(pod.metadata, labels={**pod.metadata.labels, **copied}) if copied else pod.metadata

    def _mark(
        self, pod: Pod, end: float, period: int, generation: int, finalizers: tuple[str, ...] | None = None
    ) -> Pod:
        metadata = _replace(
            pod.metadata,
            finalizers=pod.metadata.finalizers if finalizers is None else finalizers,
            generation=generation,
            deletion_timestamp=timestamps.render(end),
            deletion_grace_period_seconds=period,
        )
        return self._store.rewrite(pod, _replace(pod, metadata=metadata))

    def _delete_terminating(self, pod: Pod, key: str, period: int | None) -> Pod:
        """Shorten the grace period of a terminating pod; its end is not before now."""
        current = pod.metadata.deletion_grace_period_seconds
        if not current or period == 0:
            return self._store.delete(Pod, key)
        if period is None or period >= current:
            return pod
        period = max(period, 1)
        now = self._store.clock.now()
        end = timestamps.parse(pod.metadata.deletion_timestamp or "") - current + period
        if end < now:
            end, period = now, 1
        return self._mark(pod, end, period, pod.metadata.generation)


def with_condition(conditions: tuple[Condition, ...], condition: Condition, now: str) -> tuple[Condition, ...]:
    """Return the conditions with the one of that type replaced or appended.

    A condition without a time keeps the time of the replaced one if the status is unchanged.
    """
    for index, existing in enumerate(conditions):
        if existing.type == condition.type:
            since = existing.last_transition_time if existing.status == condition.status else now
            return (*conditions[:index], _timed(condition, since), *conditions[index + 1 :])
    return (*conditions, _timed(condition, now))


def _timed(condition: Condition, since: str | None) -> Condition:
    return condition if condition.last_transition_time else _replace(condition, last_transition_time=since)


def _unbindable(pod: Pod) -> str:
    """Return why the pod cannot be bound, or ""."""
    name = pod.metadata.name
    if pod.metadata.deletion_timestamp is not None:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {name} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _grace_period(pod: Pod, requested: int | None) -> int:
    if not pod.spec.node_name or pod.status.phase in FINISHED_PHASES:
        return 0
    period = requested if requested is not None else pod.spec.termination_grace_period_seconds or 0
    return period if period >= 0 else 1
