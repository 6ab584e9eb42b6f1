# SPDX-License-Identifier: Apache-2.0
"""Protection of pod groups in use: delays the deletion of a PodGroup until none of its pods is
active.

Admission adds the finalizer to every group; this controller removes it.
"""

from __future__ import annotations

from steersman.api import FINISHED_PHASES, Object, Pod, PodGroup, key
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.store import EventType
from steersman.cluster.store.finalizers import POD_GROUP_PROTECTION, without_finalizer


class PodGroupProtection(Controller):
    """PodGroup protection controller; keys are `namespace/name` of groups."""

    NAME = "podgroup-protection"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        #: Group key → keys of active pods; tracked from the first deletion on.
        self._members: dict[str, set[str]] = {}
        self._is_following_pods = False
        self.store.subscribe(self._on_group, (PodGroup,))

    def _on_group(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is not None and new.metadata.deletion_timestamp is not None:
            if not self._is_following_pods:
                self._is_following_pods = True
                self.store.subscribe(self._on_pod, (Pod,))
            self.enqueue(key(new))

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Pod) and new.status.phase not in FINISHED_PHASES:
            if group := group_of(new):
                self._members.setdefault(group, set()).add(key(new))
        elif isinstance(pod := new or old, Pod) and (group := group_of(pod)):
            self._forget_member(group, key(pod))

    def _forget_member(self, group: str, pod: str) -> None:
        members = self._members.get(group, set())
        members.discard(pod)
        if not members:
            self._members.pop(group, None)
            self.enqueue(group)

    def reconcile(self, name: str) -> None:
        group = self.store.find(PodGroup, name)
        if group is None or group.metadata.deletion_timestamp is None or name in self._members:
            return
        if POD_GROUP_PROTECTION in group.metadata.finalizers:
            self.store.update(without_finalizer(group, POD_GROUP_PROTECTION))


def group_of(pod: Pod) -> str:
    """Return the key of the pod's group, or ""."""
    group = pod.spec.scheduling_group
    return "" if group is None or not group.pod_group_name else f"{pod.metadata.namespace}/{group.pod_group_name}"
