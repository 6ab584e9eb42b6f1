# SPDX-License-Identifier: Apache-2.0
"""Other pods that a plugin wants to retry immediately, for example the rest of its gang.

A plugin adds them in any phase from PreFilter to PostBind. They are moved to the active queue when
the scheduling cycle has found a node, and again when the pod is bound. A failed cycle moves no
pods.
"""

from __future__ import annotations

from steersman import api
from steersman.framework.cycle_state import CycleState

_KEY = "kubernetes.io/pods-to-activate"


class PodsToActivate:
    """Pods to activate after one scheduling cycle, by namespace/name."""

    __slots__ = ("_pods",)

    def __init__(self) -> None:
        self._pods: dict[str, api.Pod] = {}

    def add(self, pod: api.Pod) -> None:
        self._pods[api.key(pod)] = pod

    def take(self) -> list[api.Pod]:
        """Remove and return all pods."""
        pods = list(self._pods.values())
        self._pods.clear()
        return pods


def pods_to_activate(state: CycleState) -> PodsToActivate:
    """Return the pods to activate after this cycle; plugins add to them."""
    pods = state.read(_KEY, PodsToActivate)
    if pods is None:
        pods = PodsToActivate()
        state.write(_KEY, pods)
    return pods


def take_pods_to_activate(state: CycleState) -> list[api.Pod]:
    """Return the pods added since the last call; nearly always none."""
    pods = state.read(_KEY, PodsToActivate)
    return pods.take() if pods is not None else []
