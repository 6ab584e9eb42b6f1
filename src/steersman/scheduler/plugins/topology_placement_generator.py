# SPDX-License-Identifier: Apache-2.0
"""TopologyPlacementGenerator: a group with a topology constraint has one placement per value of the
node label that the constraint names.

PlacementGenerate only. If members are running or assumed, only their domain is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steersman import api
from steersman.framework import CycleState, Handle, Placement, PlacementGeneratePlugin, PodGroupInfo, Status, error

NO_DOMAIN: Final = "cannot determine domain for already scheduled pods: {}"
NODE_NOT_FOUND: Final = 'getting node for pod {}: nodeinfo not found for node name "{}"'
WITHOUT_DOMAIN: Final = "no topology domain found for pod {}"
TWO_DOMAINS: Final = "more than 1 domain found for pod group: {}, {}"


class _NoDomainError(Exception):
    """The running and assumed members are not in one domain."""


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """Divides the nodes by the topology key of the group."""

    name = "TopologyPlacementGenerator"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def generate_placements(
        self, state: CycleState, group: PodGroupInfo, parent: Placement
    ) -> Sequence[Placement] | Status:
        key = None if group.group is None else api.topology_key(group.group)
        if key is None:
            return [parent]
        try:
            domain = self._domain_of_scheduled(group, key)
        except _NoDomainError as failure:
            return error(NO_DOMAIN.format(failure))
        domains = self._handle.nodes.domains(key)
        if len(parent.node_names) < len(self._handle.nodes.all()):
            inside = frozenset(parent.node_names)
            domains = {value: tuple(name for name in names if name in inside) for value, names in domains.items()}
        return [Placement(value, tuple(names)) for value, names in domains.items() if names and domain in (None, value)]

    def _domain_of_scheduled(self, group: PodGroupInfo, key: str) -> str | None:
        """Return the domain of the running and assumed members, or None if there are none."""
        domain: str | None = None
        for pod in self._scheduled(group):
            node = self._handle.nodes.get(pod.spec.node_name)
            if node is None:
                raise _NoDomainError(NODE_NOT_FOUND.format(api.key(pod), pod.spec.node_name))
            value = node.labels.get(key)
            if value is None:
                raise _NoDomainError(WITHOUT_DOMAIN.format(api.key(pod)))
            if domain and domain != value:
                raise _NoDomainError(TWO_DOMAINS.format(domain, value))
            domain = value
        return domain

    def _scheduled(self, group: PodGroupInfo) -> Iterator[api.Pod]:
        groups = self._handle.pod_groups
        if groups is not None:
            for leaf in group.leaves():
                members = groups.state(leaf.key.namespace, leaf.key.name)
                yield from members.assigned.values()
                yield from members.assumed.values()
