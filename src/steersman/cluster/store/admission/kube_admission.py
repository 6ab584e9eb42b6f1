# SPDX-License-Identifier: Apache-2.0
"""The admission entry point: rules by kind.

Called by `Store`. A rule completes an object, or a part of it, and returns the same object if it is
complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

from steersman import api
from steersman.api import codec
from steersman.api.defaults import with_default_fields
from steersman.cluster.store.admission import autoscaling, devices, nodes, priority, storage, workloads
from steersman.cluster.store.admission.pod_groups import GroupAdmission
from steersman.cluster.store.admission.pods import PodAdmission, comes_new
from steersman.cluster.store.admission.quotas import quota_ledger
from steersman.cluster.store.store import ClusterView, Store

T = TypeVar("T", bound=api.Object)

# Argument and result have the rule's own type, which a dict by kind cannot express.
_Rule: TypeAlias = Callable[[Any, Any, ClusterView], Any]


def _with_defaults(obj: T, _: T | None, __: ClusterView) -> T:
    """Return the object with the defaults of `api.defaults`; the same object if it is complete."""
    document = codec.to_dict(obj)
    filled = with_default_fields(document)
    return obj if filled == document else codec.convert(filled, type(obj))


_RULES: Final[dict[type[api.Object], _Rule]] = {
    api.CSIDriver: storage.admit_driver,
    api.CronJob: workloads.admit_workload,
    api.DaemonSet: workloads.admit_daemon_set,
    api.Deployment: workloads.admit_workload,
    api.HorizontalPodAutoscaler: autoscaling.admit_autoscaler,
    api.Job: workloads.admit_workload,
    api.LimitRange: _with_defaults,
    api.Namespace: nodes.admit_namespace,
    api.Node: nodes.admit_node,
    api.PersistentVolume: storage.admit_volume,
    api.PersistentVolumeClaim: storage.admit_claim,
    api.PriorityClass: priority.admit_class,
    api.ReplicaSet: workloads.admit_workload,
    api.ReplicationController: workloads.admit_workload,
    api.ResourceClaim: devices.admit_claim,
    api.ResourceClaimTemplate: devices.admit_claim_template,
    api.ResourceSlice: devices.admit_slice,
    api.StatefulSet: workloads.admit_workload,
    api.StorageClass: _with_defaults,
}

_LOOKED_UP: Final = (
    api.Namespace,
    api.PriorityClass,
    api.StorageClass,
    api.LimitRange,
    api.RuntimeClass,
    api.ResourceQuota,
)
"""Kinds that the admission of other objects looks up."""
_GROWING: Final = (api.PersistentVolumeClaim, api.Service)
"""Kinds whose updates can increase quota usage."""


class KubeAdmission:
    """Implements `store.Admission` with the rules of a kube-apiserver v1.36 in its default
    configuration.

    `check_pod` raises errors of a pod before admission, for hosts with pod annotations. With
    `enforces_classes`, a new pod is rejected if its runtime class does not exist, or if its
    priority or preemption policy differs from its priority class. With `assigns_service_accounts`,
    new pods without a service account get their namespace's default one, as by the admission plugin
    ServiceAccount; its existence is not checked, and no token is mounted. `group_policies` says
    whether pod groups have preemption policies (gate PodGroupPreemptionPolicy).
    """

    def __init__(
        self,
        check_pod: Callable[[api.Pod], object] | None = None,
        *,
        enforces_classes: bool = False,
        assigns_service_accounts: bool = False,
        group_policies: bool = False,
    ) -> None:
        self._check_pod = check_pod
        pods = PodAdmission(enforces_classes=enforces_classes, assigns_service_accounts=assigns_service_accounts)
        groups = GroupAdmission(enforces_classes=enforces_classes, has_policies=group_policies).admit
        self._rules: dict[type[api.Object], _Rule] = {
            **_RULES,
            api.CompositePodGroup: groups,
            api.Pod: pods.admit,
            api.PodGroup: groups,
        }

    def __call__(self, obj: T, old: T | None, view: ClusterView) -> T:
        if old is None and obj.NAMESPACED:
            nodes.check_namespace(obj, view)
        rule = self._rules.get(type(obj))
        if self._check_pod is not None and isinstance(obj, api.Pod):
            self._check_pod(obj)
        admitted: T = obj if rule is None else rule(obj, old, view)
        if obj.NAMESPACED and view.objects(api.ResourceQuota):
            _check_quotas(admitted, old, view)
        return admitted


def _check_quotas(obj: api.Object, old: api.Object | None, view: ClusterView) -> None:
    """Check quotas for new objects and updates that may increase usage, except imports."""
    may_use_more = isinstance(obj, _GROWING) if old is not None else comes_new(obj, view)
    if may_use_more and isinstance(view, Store):
        quota_ledger(view).check(obj, old)


def in_creation_order(objects: Iterable[T]) -> list[T]:
    """Sort objects for creation: kinds that admission looks up first, else in the given order."""
    return sorted(objects, key=lambda obj: not isinstance(obj, _LOOKED_UP))
