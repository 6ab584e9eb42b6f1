# SPDX-License-Identifier: Apache-2.0
"""Changes of a simulation's cluster: adding, changing, deleting objects; node failures and drains.

Every method returns the simulation for chaining, and raises `InputError` for missing or invalid
objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO, Self

from steersman import api
from steersman.api import Validation
from steersman.simulation.inputs import sources
from steersman.simulation.inputs.object_names import parse_reference, pod_key
from steersman.simulation.inputs.sources import Source
from steersman.simulation.simulated_cluster import SimulatedCluster


class ClusterEdits:
    """The methods of `Simulation` that change its cluster."""

    _cluster: SimulatedCluster

    def add(self, *source: Source, stdin: BinaryIO | None = None, validate: Validation = "warn") -> Self:
        """Add objects, as in `load`; none of them may exist."""
        kinds = self._cluster.scheduler.known_kinds
        self._cluster.add(sources.gather(source, stdin, kinds, validate))
        return self

    def apply(self, *source: Source, stdin: BinaryIO | None = None, validate: Validation = "warn") -> Self:
        """Add objects; one that exists gets the spec, labels and annotations that are given."""
        kinds = self._cluster.scheduler.known_kinds
        self._cluster.add(sources.gather(source, stdin, kinds, validate), replaces=True)
        return self

    def patch(self, what: str, document: Mapping[str, Any]) -> Self:
        """Apply a JSON merge patch: `("deployment/web", {"spec": {"replicas": 5}})`."""
        self._cluster.patch(what, document)
        return self

    def delete(self, *what: str | api.Object) -> Self:
        """Delete objects at once; texts such as `node/n1` and `pod/default/web-0` name them."""
        kinds = self._cluster.scheduler.known_kinds
        for item in what:
            named = parse_reference(item, kinds) if isinstance(item, str) else (type(item), api.key(item))
            self._cluster.delete(*named)
        return self

    def evict(self, pod: str) -> Self:
        """Evict the pod `namespace/name` with its own grace period, as the eviction API does.

        Raises `InputError` also if a disruption budget does not allow it now.
        """
        self._cluster.evict(pod_key(pod.removeprefix("pod/")))
        return self

    def crash(self, node: str) -> Self:
        """Stop the kubelet of a node; its pods stay until they are evicted or deleted."""
        self._cluster.crash(_node_name(node))
        return self

    def recover(self, node: str) -> Self:
        """Start the kubelet of a node that crashed."""
        self._cluster.recover(_node_name(node))
        return self

    def reboot(self, node: str) -> Self:
        """Restart a node, and the containers on it."""
        self._cluster.reboot(_node_name(node))
        return self

    def drain(self, node: str) -> Self:
        """Cordon a node and evict its pods, at once or when disruption budgets allow."""
        self._cluster.drain(_node_name(node))
        return self

    def cordon(self, node: str) -> Self:
        """Make a node unschedulable; its pods stay."""
        self._cluster.cordon(_node_name(node))
        return self

    def uncordon(self, node: str) -> Self:
        """Make a node schedulable again."""
        self._cluster.uncordon(_node_name(node))
        return self


def _node_name(node: str) -> str:
    return node.removeprefix("node/")
