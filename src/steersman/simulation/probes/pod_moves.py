# SPDX-License-Identifier: Apache-2.0
"""Moves of pods: movable pods, eviction on a trial, and matching of pods with their replacements.

A controller replaces an evicted pod by one with another name, except for StatefulSets. Pods with
equal names are matched first; then the missing pods of an owner, by name, with its new pods, placed
ones first. Fixes, compaction, disruption and the cluster autoscaler of scenarios use this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from steersman import api
from steersman.cluster.controllers import controller_of, find_owner
from steersman.cluster.kubelets import MIRROR_POD
from steersman.cluster.store import Store
from steersman.simulation.simulation import Simulation


def is_daemon(pod: api.Pod) -> bool:
    """Return whether a DaemonSet has created the pod."""
    owner = controller_of(pod)
    return owner is not None and owner.kind == api.DaemonSet.KIND


def belongs_to_node(pod: api.Pod) -> bool:
    """Return whether the pod ends with its node: a pod of a DaemonSet or a static pod."""
    owner = controller_of(pod)
    is_static = MIRROR_POD in pod.metadata.annotations or (owner is not None and owner.kind == api.Node.KIND)
    return is_static or is_daemon(pod)


def is_recreated(cluster: Store, pod: api.Pod) -> bool:
    """Return whether the controller of the pod is in the cluster, so that it replaces the pod."""
    owner = controller_of(pod)
    return owner is not None and find_owner(cluster, owner, pod.metadata.namespace) is not None


class PodPlace(msgspec.Struct, frozen=True):
    """Node and owner of a pod in a snapshot."""

    uid: str
    node: str
    #: uid, kind and name of the controller; "" for a bare pod.
    owner: str
    owner_kind: str
    owner_name: str


PodSnapshot = Mapping[str, PodPlace]
"""Every unfinished pod, by `namespace/name`."""


def pod_snapshot(simulation: Simulation) -> PodSnapshot:
    """Return the current node and owner of every unfinished pod."""
    pods = simulation.cluster.objects(api.Pod).values()
    return {api.key(pod): _place(pod) for pod in pods if pod.status.phase not in api.FINISHED_PHASES}


def _place(pod: api.Pod) -> PodPlace:
    owner = controller_of(pod)
    if owner is None:
        return PodPlace(pod.metadata.uid, pod.spec.node_name, "", "", "")
    return PodPlace(pod.metadata.uid, pod.spec.node_name, owner.uid, owner.kind, owner.name)


def match_replacements(before: PodSnapshot, after: PodSnapshot) -> dict[str, str]:
    """Return the replacement of each missing pod; missing pods without one are left out."""
    remaining = {pod.uid for pod in after.values()}
    missing = {key: pod for key, pod in before.items() if pod.uid not in remaining and pod.owner}
    created = _created(before, after)
    matched = {key: key for key, pod in missing.items() if key in created and created[key].owner == pod.owner}
    waiting = _by_owner((key, pod) for key, pod in created.items() if key not in matched)
    for key in sorted(key for key in missing if key not in matched):
        offers = waiting.get(missing[key].owner)
        if offers:
            matched[key] = offers.pop(0)
    return matched


def _created(before: PodSnapshot, after: PodSnapshot) -> dict[str, PodPlace]:
    known = {pod.uid for pod in before.values()}
    return {key: pod for key, pod in after.items() if pod.uid not in known and pod.owner}


def _by_owner(pods: Iterable[tuple[str, PodPlace]]) -> dict[str, list[str]]:
    """Return the names of pods by owner, placed pods first, then by name."""
    found: dict[str, list[str]] = {}
    for key, pod in sorted(pods, key=lambda item: (not item[1].node, item[0])):
        found.setdefault(pod.owner, []).append(key)
    return found


class PodEviction:
    """Eviction of one pod on a trial, and the pods that its controller has created since."""

    def __init__(self, trial: Simulation, pod: str) -> None:
        """Evict the pod `namespace/name`. Raises `InputError` if a disruption budget does not allow
        it."""
        self._trial = trial
        self._pod = pod
        place = _place(trial.cluster.get(api.Pod, pod))
        self._owner = place.owner
        #: Node of the evicted pod.
        self.source = place.node
        self._before = self._snapshot()
        trial.evict(pod)

    def created(self) -> list[api.Pod]:
        """Return the unfinished pods that the controller has created since the eviction."""
        return [self._trial.cluster.get(api.Pod, key) for key in _created(self._before, self._snapshot())]

    def replacement(self) -> api.Pod | None:
        """Return the pod that replaces the evicted one; None if there is none."""
        key = match_replacements(self._before, self._snapshot()).get(self._pod)
        return None if key is None else self._trial.cluster.get(api.Pod, key)

    def _snapshot(self) -> PodSnapshot:
        """Return the unfinished pods of the evicted pod's controller."""
        return {
            api.key(pod): _place(pod)
            for pod in self._trial.cluster.objects(api.Pod).values()
            if pod.status.phase not in api.FINISHED_PHASES
            and any(each.uid == self._owner and each.controller for each in pod.metadata.owner_references)
        }
