# SPDX-License-Identifier: Apache-2.0
"""Which pod takes the place of which: pods before a disruption, matched with those after it.

A controller that replaces a pod gives the new one another name, except for StatefulSets. A pod that went has a successor if its
owner has a new pod. Pods of the same name are matched first; then the pods of an owner that went, in the order of their names,
with those that came, of which those with a node are first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from steersman import api
from steersman.controllers.controller import controller_of
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim import Simulation

DAEMON_SET: Final = "DaemonSet"


class PodBefore(msgspec.Struct, frozen=True):
    """A pod in a picture of the cluster: where it is, and whose it is."""

    uid: str
    node: str
    #: uid, kind and name of the controller; "" for a pod of nobody.
    owner: str
    owner_kind: str
    owner_name: str


Picture = Mapping[str, PodBefore]
"""Every pod that has not ended, by `namespace/name`."""


def picture(simulation: Simulation) -> Picture:
    pods = simulation.cluster.objects(api.Pod).values()
    return {api.key(pod): _seen(pod) for pod in pods if pod.status.phase not in FINISHED_PHASES}


def _seen(pod: api.Pod) -> PodBefore:
    owner = controller_of(pod)
    if owner is None:
        return PodBefore(pod.metadata.uid, pod.spec.node_name, "", "", "")
    return PodBefore(pod.metadata.uid, pod.spec.node_name, owner.uid, owner.kind, owner.name)


def successors(before: Picture, after: Picture) -> dict[str, str]:
    """Pod that went → the pod that came for it; pods that nobody came for are left out."""
    remaining = {pod.uid for pod in after.values()}
    known = {pod.uid for pod in before.values()}
    went = {key: pod for key, pod in before.items() if pod.uid not in remaining and pod.owner}
    came = {key: pod for key, pod in after.items() if pod.uid not in known and pod.owner}
    matched = {key: key for key, pod in went.items() if key in came and came[key].owner == pod.owner}
    waiting = _by_owner((key, pod) for key, pod in came.items() if key not in matched)
    for key in sorted(key for key in went if key not in matched):
        offers = waiting.get(went[key].owner)
        if offers:
            matched[key] = offers.pop(0)
    return matched


def _by_owner(pods: Iterable[tuple[str, PodBefore]]) -> dict[str, list[str]]:
    """Names in order, those with a node first: who has moved is told before who waits."""
    found: dict[str, list[str]] = {}
    for key, pod in sorted(pods, key=lambda item: (not item[1].node, item[0])):
        found.setdefault(pod.owner, []).append(key)
    return found
