# SPDX-License-Identifier: Apache-2.0
"""Fields of pods that feature gates hide from the scheduler: what a pod as a whole asks for, and the resize of it.

An API server whose gates are off drops these fields of new pods, and keeps those of pods that have them already. A scheduler
with the gate off does not count them. `Ingest` takes them away before anything else sees the pod, so that filters, scores,
preemption and explanations agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from steersman import api
from steersman.config import FeatureGates

POD_LEVEL_GATE: Final = "PodLevelResources"
RESIZE_GATE: Final = "InPlacePodLevelResourcesVerticalScaling"

SeenPod = Callable[[api.Pod], api.Pod]
"""Gives a pod as the scheduler may see it."""


def seen_pods(gates: FeatureGates) -> SeenPod:
    """The pod itself where both gates are on, as they are by default; else the pod without what its gate would allow."""
    if not gates.enabled(POD_LEVEL_GATE):
        return _without_requests_of_the_pod
    return _whole if gates.enabled(RESIZE_GATE) else _without_resize_of_the_pod


def _whole(pod: api.Pod) -> api.Pod:
    return pod


def _without_requests_of_the_pod(pod: api.Pod) -> api.Pod:
    pod = _without_resize_of_the_pod(pod)
    if pod.spec.resources is None:
        return pod
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resources=None))


def _without_resize_of_the_pod(pod: api.Pod) -> api.Pod:
    """The pod with the requests of its spec: those that the kubelet reports to be in force do not count."""
    status = pod.status
    if status.resources is None and not status.allocated_resources:
        return pod
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(status, resources=None, allocated_resources={}))
