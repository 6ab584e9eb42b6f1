# SPDX-License-Identifier: Apache-2.0
"""Other pods that a plugin wants to be tried at once, for example the rest of its gang.

A plugin adds them in any phase from PreFilter to PostBind. They move to the active queue, whatever they wait for, when the
scheduling cycle has ended with a node, and once more when the pod is bound. A cycle that fails moves nobody.
"""

from __future__ import annotations

from steersman import api
from steersman.framework.cycle_state import CycleState

_KEY = "kubernetes.io/pods-to-activate"


class PodsToActivate:
    """The pods of one scheduling cycle, by namespace/name."""

    __slots__ = ("_pods",)

    def __init__(self) -> None:
        self._pods: dict[str, api.Pod] = {}

    def add(self, pod: api.Pod) -> None:
        self._pods[api.key(pod)] = pod

    def take(self) -> list[api.Pod]:
        """Takes all pods out, so that there are none afterwards."""
        pods = list(self._pods.values())
        self._pods.clear()
        return pods


def pods_to_activate(state: CycleState) -> PodsToActivate:
    """The pods to activate after this cycle, to add to."""
    pods = state.read(_KEY, PodsToActivate)
    if pods is None:
        pods = PodsToActivate()
        state.write(_KEY, pods)
    return pods


def take_pods_to_activate(state: CycleState) -> list[api.Pod]:
    """The pods that plugins have asked for since the last time; nearly always nothing."""
    pods = state.read(_KEY, PodsToActivate)
    return pods.take() if pods is not None else []
