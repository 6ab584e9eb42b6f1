# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler's search for nodes as `node_tree.go`, `cache.go` and `schedule_one.go` (v1.36) have it, line by line, with one
worker: the specification of `engine.sampling` and `state.node_tree`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Labels = Mapping[str, str]


def zone_key(labels: Labels) -> str:
    """`GetZoneKey`."""
    zone = labels.get("failure-domain.beta.kubernetes.io/zone")
    if zone is None:
        zone = labels.get("topology.kubernetes.io/zone", "")
    region = labels.get("failure-domain.beta.kubernetes.io/region")
    if region is None:
        region = labels.get("topology.kubernetes.io/region", "")
    return "" if region == "" and zone == "" else region + ":\x00:" + zone


class UpstreamSearch:
    """The node tree, the snapshot's list, and the index of the next search."""

    def __init__(self, percentage: int, *, has_scoring: bool = True) -> None:
        self.percentage = percentage
        self.has_scoring = has_scoring
        self.tree: dict[str, list[str]] = {}
        self.zones: list[str] = []
        self.nodes: dict[str, Labels] = {}
        self.snapshot_map: set[str] = set()
        self.snapshot_list: list[str] = []
        self.next_start = 0

    # -- nodeTree ----------------------------------------------------------------------------------------------------

    def add_node(self, name: str, labels: Labels) -> None:
        self.nodes[name] = labels
        zone = zone_key(labels)
        if zone in self.tree:
            if name not in self.tree[zone]:
                self.tree[zone].append(name)
        else:
            self.zones.append(zone)
            self.tree[zone] = [name]

    def remove_node(self, name: str) -> None:
        zone = zone_key(self.nodes.pop(name))
        self.tree[zone].remove(name)
        if not self.tree[zone]:
            del self.tree[zone]
            self.zones.remove(zone)

    def update_node(self, name: str, labels: Labels) -> None:
        if zone_key(self.nodes[name]) != zone_key(labels):
            self.remove_node(name)
            self.add_node(name, labels)
        self.nodes[name] = labels

    def tree_list(self) -> list[str]:
        found: list[str] = []
        index = 0
        while len(found) < len(self.nodes):
            for zone in self.zones:
                if index < len(self.tree[zone]):
                    found.append(self.tree[zone][index])
            index += 1
        return found

    # -- UpdateSnapshot ----------------------------------------------------------------------------------------------

    def update_snapshot(self) -> None:
        updates_list = False
        for name in self.nodes:
            if name not in self.snapshot_map:
                updates_list = True
                self.snapshot_map.add(name)
        if len(self.snapshot_map) > len(self.nodes):
            self.snapshot_map = set(self.nodes)
            updates_list = True
        if updates_list:
            self.snapshot_list = self.tree_list()

    # -- findNodesThatFitPod -----------------------------------------------------------------------------------------

    def find(self, fits: Callable[[str], bool], nominated: str = "", admitted: list[str] | None = None) -> set[str]:
        """The feasible nodes; `admitted` by PreFilter, None: all."""
        self.update_snapshot()
        if not self.snapshot_list or admitted == []:
            return set()  # no nodes, or PreFilter has rejected the pod
        statuses: set[str] = set()
        if nominated in self.nodes:
            if fits(nominated):
                return {nominated}
            statuses.add(nominated)
        nodes = [name for name in self.snapshot_list if admitted is None or name in admitted]
        feasible = self._pass_filters(fits, nodes, statuses)
        self.next_start = (self.next_start + len(feasible) + len(statuses)) % len(self.snapshot_list)
        return set(feasible)

    def _pass_filters(self, fits: Callable[[str], bool], nodes: Sequence[str], statuses: set[str]) -> list[str]:
        wanted = self._feasible_nodes_to_find(len(nodes)) if self.has_scoring else 1
        feasible: list[str] = []
        for i in range(len(nodes)):
            name = nodes[(self.next_start + i) % len(nodes)]
            if not fits(name):
                statuses.add(name)
            elif len(feasible) == wanted:
                break
            else:
                feasible.append(name)
        return feasible

    def _feasible_nodes_to_find(self, nodes: int) -> int:
        return nodes if nodes < 100 else max(100, nodes * self.percentage // 100)
