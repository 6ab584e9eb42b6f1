# SPDX-License-Identifier: Apache-2.0
"""Facts that few rows have: pods with affinity, used host ports, users of volume claims.

Dicts by row instead of columns. `node_table` updates them when such a pod is added or removed, and
during what-if questions; `row_info` exposes them as part of a `NodeInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steersman.base import CacheSpec
from steersman.base.graph_copy import copied_attributes, two_levels
from steersman.framework import HostPort, PodInfo

SPARSE_FACTS = CacheSpec(
    name="ports, claims and affinity by row",
    attributes=("SparseFacts.affinity_pods", "SparseFacts.used_ports", "SparseFacts.claim_users"),
    contents="pods with affinity, used host ports, users of volume claims",
    key="row",
    invalidation="never: updated with every change of the cluster state",
    limit="rows that have any",
    reference="a scan of all pods on rows",
)


@copied_attributes(affinity_pods=two_levels, used_ports=two_levels, claim_users=two_levels)
class SparseFacts:
    """Facts by row that few rows have."""

    def __init__(self) -> None:
        self.affinity_pods: dict[int, dict[str, PodInfo]] = {}
        self.used_ports: dict[int, set[HostPort]] = {}
        #: Number of pods that use a claim, by row.
        self.claim_users: dict[int, dict[str, int]] = {}

    def count_affinity(self, pod: PodInfo, row: int, sign: int) -> None:
        if sign > 0:
            self.affinity_pods.setdefault(row, {})[pod.uid] = pod
            return
        here = self.affinity_pods[row]
        del here[pod.uid]
        if not here:
            del self.affinity_pods[row]

    def count_ports(self, ports: Iterable[HostPort], row: int, sign: int) -> None:
        """Add or remove used ports. As in upstream, a port is free once one of its users is
        removed, even if another pod uses it too."""
        used = self.used_ports.setdefault(row, set())
        (used.update if sign > 0 else used.difference_update)(ports)
        if not used:
            del self.used_ports[row]

    def count_claims(self, claims: Iterable[str], row: int, sign: int) -> None:
        users = self.claim_users.setdefault(row, {})
        for claim in claims:
            count = users.get(claim, 0) + sign
            if count > 0:
                users[claim] = count
            else:
                users.pop(claim, None)
        if not users:
            del self.claim_users[row]

    def restorer(self, row: int) -> Callable[[], None]:
        """Return a function that restores the row's affinity pods and ports in their current order
        after its pods were removed and added again."""
        ports = set(self.used_ports.get(row, ()))
        affinity = dict(self.affinity_pods.get(row, {}))

        def restore() -> None:
            if affinity:
                self.affinity_pods[row] = affinity
            if ports:
                self.used_ports[row] = ports
            else:
                self.used_ports.pop(row, None)

        return restore
