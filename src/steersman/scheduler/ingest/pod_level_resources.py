# SPDX-License-Identifier: Apache-2.0
"""Removes pod fields that feature gates hide: pod-level resources, and their resize.

An API server with these gates off drops the fields of new pods, and keeps those of pods that
already have them. A scheduler with a gate off must ignore them. `Ingest` removes them before
anything else reads the pod, so that filters, scores, preemption and explanations agree.
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
"""Returns the pod as the scheduler may see it."""


def seen_pods(gates: FeatureGates) -> SeenPod:
    """Return a function that removes hidden fields; the identity if both gates are on, as they are
    by default."""
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
    """Return the pod without the resources in force that the kubelet reports."""
    status = pod.status
    if status.resources is None and not status.allocated_resources:
        return pod
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(status, resources=None, allocated_resources={}))
