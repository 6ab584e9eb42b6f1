# SPDX-License-Identifier: Apache-2.0
"""Trials of the autoscaler with the scheduler on a fork: placements on new nodes, node removals.

The original simulation does not change, and no time passes: only the scheduler's decisions at this
moment count, without kubelets, evictions and grace periods.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.cluster.store import StatusError
from steersman.simulation.simulation import Simulation
from steersman.simulation.trial import Trial

NEVER: Final = "Never"

_replace = msgspec.structs.replace


def placements_with(simulation: Simulation, nodes: Sequence[api.Node], pods: Collection[str]) -> dict[str, str]:
    """Return pod key → node if these nodes were added now; DaemonSet pods are placed first."""
    fork = simulation.fork()
    names = {node.metadata.name for node in nodes}
    # Cordoned at first, which pods of DaemonSets tolerate, so that they come before pending pods.
    fork.add([_replace(node, spec=_replace(node.spec, unschedulable=True)) for node in nodes])
    fork.settle()
    for name in names:
        fork.uncordon(name)
    fork.schedule_now()
    found = fork.cluster.objects(api.Pod)
    return {key: found[key].spec.node_name for key in pods if key in found and found[key].spec.node_name}


class NodeRemovals:
    """Nodes that are removable together: each is removed if its pods fit on the remaining ones."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._fork: Trial | None = None
        #: Removed nodes with their pods.
        self._gone: list[tuple[str, Sequence[api.Pod]]] = []

    def remove(self, node: str, pods: Sequence[api.Pod]) -> bool:
        """Remove the node if its pods fit elsewhere without preemption; return whether they do."""
        if self._fork is None and not pods:
            self._gone.append((node, pods))
            return True
        if self._fork is None:
            self._fork = self._simulation.fork()
            for name, its_pods in self._gone:
                _move(self._fork, name, its_pods)
        if _move(self._fork, node, pods):
            self._gone.append((node, pods))
            return True
        self._fork = None
        return False


def _move(fork: Trial, node: str, pods: Sequence[api.Pod]) -> bool:
    """Remove the node and reschedule its pods; return whether all have found a node."""
    store = fork.cluster
    store.delete(api.Node, node, finalizers=())
    for pod in pods:
        store.delete(api.Pod, api.key(pod), finalizers=())
    try:
        for pod in pods:
            store.create(_unplaced(pod))
    except (StatusError, InputError):
        return False  # for example because of a quota
    fork.schedule_now(only_ready=True)
    return all(_has_node(fork, api.key(pod)) for pod in pods)


def _has_node(fork: Simulation, key: str) -> bool:
    found = fork.cluster.find(api.Pod, key)
    return found is not None and bool(found.spec.node_name)


def _unplaced(pod: api.Pod) -> api.Pod:
    """Return the pod as its controller would recreate it; it must not preempt."""
    metadata = _replace(
        pod.metadata, uid="", resource_version="", creation_timestamp=None, deletion_timestamp=None, finalizers=()
    )
    spec = _replace(pod.spec, node_name="", preemption_policy=NEVER)
    return api.Pod(metadata=metadata, spec=spec)
