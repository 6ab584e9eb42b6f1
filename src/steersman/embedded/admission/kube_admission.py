# SPDX-License-Identifier: Apache-2.0
"""The way in: which rules apply to which kind of object.

Called by `Store`. Every rule is a function from an object, or a part of it, to a completed one, and gives back what it got
when there is nothing to complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

from steersman import api
from steersman.embedded.admission import autoscaling, devices, limit_ranges, nodes, priority, storage, workloads
from steersman.embedded.admission.pods import PodAdmission, comes_new
from steersman.embedded.admission.quotas import quota_ledger
from steersman.embedded.store import ClusterView, Store

T = TypeVar("T", bound=api.Object)

# The object's own type on both sides, which a dict of rules by kind cannot say.
_Rule: TypeAlias = Callable[[Any, Any, ClusterView], Any]

_RULES: Final[dict[type[api.Object], _Rule]] = {
    api.CSIDriver: storage.admit_driver,
    api.CronJob: workloads.admit_cron_job,
    api.DaemonSet: workloads.admit_daemon_set,
    api.Deployment: workloads.admit_deployment,
    api.HorizontalPodAutoscaler: autoscaling.admit_autoscaler,
    api.Job: workloads.admit_job,
    api.LimitRange: limit_ranges.admit_limit_range,
    api.Namespace: nodes.admit_namespace,
    api.Node: nodes.admit_node,
    api.PersistentVolume: storage.admit_volume,
    api.PersistentVolumeClaim: storage.admit_claim,
    api.PriorityClass: priority.admit_class,
    api.ReplicaSet: workloads.admit_replica_set,
    api.ReplicationController: workloads.admit_replication_controller,
    api.ResourceClaim: devices.admit_claim,
    api.ResourceClaimTemplate: devices.admit_claim_template,
    api.ResourceSlice: devices.admit_slice,
    api.StatefulSet: workloads.admit_stateful_set,
    api.StorageClass: storage.admit_class,
}

_LOOKED_UP: Final = (
    api.Namespace,
    api.PriorityClass,
    api.StorageClass,
    api.LimitRange,
    api.RuntimeClass,
    api.ResourceQuota,
)
"""The kinds that the admission of other objects consults."""
_GROWING: Final = (api.PersistentVolumeClaim, api.Service)
"""The kinds of which an update may use more of a quota than before."""


class KubeAdmission:
    """Implements `store.Admission` with the rules of a kube-apiserver v1.36 in its default configuration.

    `check_pod` has a look at every pod before and raises what is wrong with it, for hosts that read annotations of pods. With
    `requires_runtime_classes` a pod whose runtime class is not in the cluster is refused. With `assigns_service_accounts` new
    pods that name no service account get that of their namespace, as by the admission plugin ServiceAccount; whether it
    exists is not asked, and no token is mounted.
    """

    def __init__(
        self,
        check_pod: Callable[[api.Pod], object] | None = None,
        *,
        requires_runtime_classes: bool = False,
        assigns_service_accounts: bool = False,
    ) -> None:
        self._check_pod = check_pod
        pods = PodAdmission(
            requires_runtime_classes=requires_runtime_classes, assigns_service_accounts=assigns_service_accounts
        )
        self._rules: dict[type[api.Object], _Rule] = {**_RULES, api.Pod: pods.admit}

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
    """New objects, and those that may grow, are checked; what another cluster has let in is not."""
    may_use_more = isinstance(obj, _GROWING) if old is not None else comes_new(obj, view)
    if may_use_more and isinstance(view, Store):
        quota_ledger(view).check(obj, old)


def in_creation_order(objects: Iterable[T]) -> list[T]:
    """The objects as they should be created: what the admission of others looks up first, else as given."""
    return sorted(objects, key=lambda obj: not isinstance(obj, _LOOKED_UP))
