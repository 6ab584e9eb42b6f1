# SPDX-License-Identifier: Apache-2.0
"""The way in: which rules apply to which kind of object.

Called by `Store`. Every rule is a function from an object, or a part of it, to a completed one, and gives back what it got
when there is nothing to complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

from steersman import api
from steersman.embedded.admission import autoscaling, devices, nodes, priority, storage, workloads
from steersman.embedded.admission.pods import PodAdmission
from steersman.embedded.store import ClusterView

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

_LOOKED_UP: Final = (api.Namespace, api.PriorityClass, api.StorageClass)
"""The kinds that the admission of other objects consults."""


class KubeAdmission:
    """Implements `store.Admission` with the rules of a kube-apiserver v1.36 in its default configuration.

    `check_pod` has a look at every pod before and raises what is wrong with it, for hosts that read annotations of pods.
    """

    def __init__(self, check_pod: Callable[[api.Pod], object] | None = None) -> None:
        self._check_pod = check_pod
        self._rules: dict[type[api.Object], _Rule] = {**_RULES, api.Pod: PodAdmission().admit}

    def __call__(self, obj: T, old: T | None, view: ClusterView) -> T:
        if old is None and obj.NAMESPACED:
            nodes.check_namespace(obj, view)
        rule = self._rules.get(type(obj))
        if rule is None:
            return obj
        if self._check_pod is not None and isinstance(obj, api.Pod):
            self._check_pod(obj)
        admitted: T = rule(obj, old, view)
        return admitted


def in_creation_order(objects: Iterable[T]) -> list[T]:
    """The objects as they should be created: what the admission of others looks up first, else as given."""
    return sorted(objects, key=lambda obj: not isinstance(obj, _LOOKED_UP))
