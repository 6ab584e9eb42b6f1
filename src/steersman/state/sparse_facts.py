# SPDX-License-Identifier: Apache-2.0
"""Facts that few rows have: pods with affinity, used host ports, users of volume claims.

Dicts by row instead of columns. `node_table` writes here when such a pod comes or goes, and when a what-if takes one away for a
moment; `row_info` shows it as part of a `NodeInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steersman.framework.pod_info import HostPort, PodInfo
from steersman.graph_copy import copied_attributes, two_levels
from steersman.kept import Kept

SPARSE_FACTS = Kept(
    name="ports, claims and affinity by row",
    attributes=("SparseFacts.affinity_pods", "SparseFacts.used_ports", "SparseFacts.claim_users"),
    holds="pods with affinity, used host ports, users of volume claims",
    key="row",
    stamps="never: written with every change of the facts",
    bound="rows that have some",
    twin="a look at all pods on rows",
)


@copied_attributes(affinity_pods=two_levels, used_ports=two_levels, claim_users=two_levels)
class SparseFacts:
    """Facts by row that most rows have nothing of."""

    def __init__(self) -> None:
        self.affinity_pods: dict[int, dict[str, PodInfo]] = {}
        self.used_ports: dict[int, set[HostPort]] = {}
        #: Of each row, how many pods use a claim.
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
        """Notes the ports. As upstream has it, one is free once one of its users has gone, even if another pod holds it too."""
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
        """Brings back what is known of the row's affinity pods and ports, in the order of now, after its pods have gone and
        come again."""
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
