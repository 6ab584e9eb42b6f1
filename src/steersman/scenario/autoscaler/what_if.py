# SPDX-License-Identifier: Apache-2.0
"""What-ifs of the autoscaler, by the exact scheduler on a fork: which pods new nodes would take, and whether a node can go.

Nothing that happens here touches the simulation that is asked about. No time passes: kubelets, evictions and grace periods play
no part; what a scheduler would do at this moment does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.embedded import StatusError
from steersman.errors import InputError
from steersman.sim import Simulation

NEVER: Final = "Never"

_replace = msgspec.structs.replace


def placements_with(simulation: Simulation, nodes: Sequence[api.Node], pods: Collection[str]) -> dict[str, str]:
    """The nodes that these pods (by key) would get at this moment if these nodes arrived; daemons have their room first."""
    fork = simulation.fork()
    names = {node.metadata.name for node in nodes}
    # Cordoned at first: pods of DaemonSets tolerate that, and count before those that wait.
    fork.add([_replace(node, spec=_replace(node.spec, unschedulable=True)) for node in nodes])
    fork.settle()
    for name in names:
        fork.uncordon(name)
    fork.schedule_now()
    found = fork.cluster.objects(api.Pod)
    return {key: found[key].spec.node_name for key in pods if key in found and found[key].spec.node_name}


class NodeRemovals:
    """Nodes that could go together: each is taken away only if its pods fit on the others, where those before have gone."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._fork: Simulation | None = None
        #: Nodes that were taken away, with their pods.
        self._gone: list[tuple[str, Sequence[api.Pod]]] = []

    def remove(self, node: str, pods: Sequence[api.Pod]) -> bool:
        """Whether the pods fit elsewhere without the node, and without preempting others; if so, both stay moved."""
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


def _move(fork: Simulation, node: str, pods: Sequence[api.Pod]) -> bool:
    """Takes the node away and schedules its pods anew; whether all have found a node."""
    store = fork.cluster
    store.delete(api.Node, node, finalizers=())
    for pod in pods:
        store.delete(api.Pod, api.key(pod), finalizers=())
    try:
        for pod in pods:
            store.create(_unplaced(pod))
    except (StatusError, InputError):
        return False  # a quota, say, that would not let the replacement in
    fork.schedule_now(only_ready=True)
    return all(_has_node(fork, api.key(pod)) for pod in pods)


def _has_node(fork: Simulation, key: str) -> bool:
    found = fork.cluster.find(api.Pod, key)
    return found is not None and bool(found.spec.node_name)


def _unplaced(pod: api.Pod) -> api.Pod:
    """The pod as its controller would make it again; it may push nobody aside."""
    metadata = _replace(
        pod.metadata, uid="", resource_version="", creation_timestamp=None, deletion_timestamp=None, finalizers=()
    )
    spec = _replace(pod.spec, node_name="", preemption_policy=NEVER)
    return api.Pod(metadata=metadata, spec=spec)
