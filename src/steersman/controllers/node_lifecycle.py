# SPDX-License-Identifier: Apache-2.0
"""The node lifecycle controller: taints nodes by their conditions, and notices those whose kubelets fell silent.

    no heartbeat for 50 s ─► Ready=Unknown ─┐
    kubelet writes Ready=False ─────────────┴► NoSchedule taint at once, NoExecute taint one node of a zone at a time
                                                  └► `taint_eviction` deletes the pods that do not tolerate it

The fewer nodes of a zone are well, the slower it goes: that so many fail at once is rather the fault of the network. Nodes
without a Ready condition, such as people write by hand, are taken to be well, and have the taints that they came with.

Left out: the labels `beta.kubernetes.io/os` and `arch`; the taint of new nodes; the startup grace period.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from steersman.api import Condition, Node, Object, Pod, Taint, key
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE
from steersman.controllers.controller import Cluster, Controller
from steersman.controllers.pods_by_node import pods_by_node
from steersman.embedded import EventType
from steersman.embedded.heartbeats import NODE_LEASES, Lease, last_heartbeat
from steersman.embedded.pods import with_condition
from steersman.graph_copy import copied_attributes, shallow

MONITOR_GRACE_SECONDS: Final = 50.0
EVICTION_SECONDS: Final = 10.0
"""So long after one node the next one of its zone gets its NoExecute taint."""
SECONDARY_EVICTION_SECONDS: Final = 100.0
"""So long after one node the next one gets its NoExecute taint where most nodes of a large zone are not well; in a small zone
none gets it then."""
LARGE_ZONE: Final = 50
UNHEALTHY_SHARE: Final = 0.55
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
CONDITION_TAINTS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
"""By type and status of a condition: the taint that says so."""
STATUS_CONDITIONS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
ZONE_LABELS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_OWN_KEYS: Final = frozenset((*CONDITION_TAINTS.values(), UNSCHEDULABLE))

_replace = msgspec.structs.replace


@copied_attributes(nodes=shallow, not_ready=shallow, waiting=shallow)
class _Zone:
    """The nodes of a zone that are well and that are not, and those that wait for their NoExecute taint."""

    def __init__(self) -> None:
        self.nodes: dict[str, None] = {}
        self.not_ready: dict[str, None] = {}
        self.waiting: dict[str, None] = {}
        #: The moment before which no other node gets its taint, on the monotonic scale.
        self.next_time = 0.0

    @property
    def is_disrupted(self) -> bool:
        """Whether no node of the zone is well."""
        return len(self.not_ready) == len(self.nodes)

    @property
    def interval(self) -> float | None:
        """Seconds between two nodes; None if no other gets a taint for now."""
        bad, total = len(self.not_ready), len(self.nodes)
        if self.is_disrupted or bad <= 2 or bad / total < UNHEALTHY_SHARE:
            return EVICTION_SECONDS
        return SECONDARY_EVICTION_SECONDS if total > LARGE_ZONE else None


class NodeLifecycleController(Controller):
    """Reconciles nodes by name."""

    NAME = "node-lifecycle"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._zones: dict[str, _Zone] = {}
        #: Whether no node of the cluster was well when that was looked at last.
        self._is_disrupted = False
        #: Names of the nodes whose leases are watched.
        self._monitored: set[str] = set()
        self.store.subscribe(self._on_node, (Node,))
        self.store.subscribe(self._on_lease, (Lease,))

    # -- events ------------------------------------------------------------------------------------------------------

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Node):
            if not isinstance(old, Node):
                name = new.metadata.name
                self.cluster.record(new, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
            self._came(new, old if isinstance(old, Node) else None)
        elif isinstance(old, Node):
            name = old.metadata.name
            self.cluster.record(old, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")
            self._leave_zone(old)

    def _came(self, node: Node, old: Node | None) -> None:
        name, zone_key = node.metadata.name, _zone_key(node)
        if old is not None and _zone_key(old) != zone_key:
            self._leave_zone(old)
        zone = self._zones.setdefault(zone_key, _Zone())
        zone.nodes[name] = None
        if _readiness(node) in (None, "True"):
            zone.not_ready.pop(name, None)
            zone.waiting.pop(name, None)
        else:
            zone.not_ready[name] = None
        if old is None or _concerns(old, node):
            self.enqueue(name)

    def _leave_zone(self, node: Node) -> None:
        zone = self._zones.get(_zone_key(node))
        if zone is None:
            return
        for names in (zone.nodes, zone.not_ready, zone.waiting):
            names.pop(node.metadata.name, None)
        if not zone.nodes:
            del self._zones[_zone_key(node)]

    def _record_not_ready(self, node: Node) -> None:
        """A node that gives no sign of life has no pod that is ready; a kubelet that does says so itself."""
        name = node.metadata.name
        self.cluster.record(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        for pod in pods_by_node(self.store).on(name):
            self._mark_not_ready(pod)

    def _mark_not_ready(self, pod: Pod) -> None:
        ready = next((known for known in pod.status.conditions if known.type == "Ready"), None)
        if ready is None or ready.status == "False":
            return
        changed = _replace(ready, status="False", last_transition_time=None)
        conditions = with_condition(pod.status.conditions, changed, self.store.timestamp())
        current = self.store.get(Pod, key(pod))
        self.store.update_status(_replace(current, status=_replace(current.status, conditions=conditions)))
        self.cluster.record(pod, "NodeNotReady", "Node is not ready", is_warning=True)

    # -- heartbeats --------------------------------------------------------------------------------------------------

    def _on_lease(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if new is not None and new.metadata.namespace == NODE_LEASES and new.metadata.name not in self._monitored:
            self._monitored.add(new.metadata.name)
            self._check_heartbeat(new.metadata.name)

    def _check_heartbeat(self, name: str) -> None:
        """Looks again when the grace period after the last heartbeat is over."""
        heartbeat = last_heartbeat(self.store, name)
        if heartbeat is None:
            self._monitored.discard(name)
            return
        left = heartbeat + MONITOR_GRACE_SECONDS - self.store.clock.now()
        if left > 0:
            self.call_after(left, lambda: self._check_heartbeat(name))
            return
        self._monitored.discard(name)
        node = self.store.find(Node, name)
        if node is not None:
            self._mark_unknown(node)

    def _mark_unknown(self, node: Node) -> None:
        conditions, now = node.status.conditions, self.store.timestamp()
        for kind in STATUS_CONDITIONS:
            known = next((condition for condition in conditions if condition.type == kind), None)
            reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
            if known is None:
                reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
            elif known.status == "Unknown":
                continue
            conditions = with_condition(conditions, Condition(kind, "Unknown", reason, message), now)
        if conditions != node.status.conditions:
            self.store.update_status(_replace(node, status=_replace(node.status, conditions=conditions)))
            if _readiness(node) in (None, "True"):
                self._record_not_ready(node)

    # -- taints ------------------------------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        node = self.store.find(Node, name)
        if node is None:
            return
        readiness = _readiness(node)
        if readiness is None:
            return
        wanted = _no_schedule_taints(node)
        kept = [taint for taint in node.spec.taints if not _is_own(taint, NO_SCHEDULE) or taint.key in wanted]
        node = self._write_taints(node, kept, wanted, NO_SCHEDULE)
        if readiness == "True":
            self._drop_no_execute(node)
            self._taint_waiting()
        else:
            self._taint_no_execute(node, UNREACHABLE if readiness == "Unknown" else NOT_READY)

    def _taint_no_execute(self, node: Node, taint_key: str) -> None:
        """The other taint of the two is swapped at once; a node without any has to wait for its turn."""
        name = node.metadata.name
        zone = self._zones[_zone_key(node)]
        if any(_is_own(taint, NO_EXECUTE) and taint.key != taint_key for taint in node.spec.taints):
            kept = [taint for taint in node.spec.taints if not _is_own(taint, NO_EXECUTE)]
            self._write_taints(node, kept, [taint_key], NO_EXECUTE)
        elif not any(_is_own(taint, NO_EXECUTE) for taint in node.spec.taints):
            zone.waiting[name] = None
        self._taint_waiting()

    def _taint_waiting(self) -> None:
        """Gives NoExecute taints to the nodes whose turn it is; to none if no node of the cluster is well."""
        was_disrupted, self._is_disrupted = self._is_disrupted, all(map(_is_disrupted, self._zones.values()))
        if self._is_disrupted:
            if not was_disrupted:
                for name in [name for zone in self._zones.values() for name in zone.nodes]:
                    self._drop_no_execute(self.store.get(Node, name))
            return
        for zone_key, zone in self._zones.items():
            self._taint_in_zone(zone_key, zone)

    def _taint_in_zone(self, zone_key: str, zone: _Zone) -> None:
        now = self.store.clock.monotonic()
        while zone.waiting:
            interval = zone.interval
            if interval is None:
                return
            if now < zone.next_time:
                self.call_after(zone.next_time - now, lambda: self._next_of_zone(zone_key))
                return
            name = next(iter(zone.waiting))
            del zone.waiting[name]
            node = self.store.get(Node, name)
            zone.next_time = now + interval
            taint_key = UNREACHABLE if _readiness(node) == "Unknown" else NOT_READY
            self._write_taints(node, list(node.spec.taints), [taint_key], NO_EXECUTE)

    def _next_of_zone(self, zone_key: str) -> None:
        zone = self._zones.get(zone_key)
        if zone is not None and zone.waiting and self.store.clock.monotonic() >= zone.next_time:
            self._taint_waiting()

    def _drop_no_execute(self, node: Node) -> None:
        kept = [taint for taint in node.spec.taints if not _is_own(taint, NO_EXECUTE)]
        self._write_taints(node, kept, [], NO_EXECUTE)

    def _write_taints(self, node: Node, kept: list[Taint], wanted: Iterable[str], effect: str) -> Node:
        """Writes the kept taints and those of the wanted ones that are missing among them."""
        having = {(taint.key, taint.effect) for taint in kept}
        now = self.store.timestamp()
        added = [Taint(key=name, effect=effect, time_added=now) for name in wanted if (name, effect) not in having]
        taints = (*kept, *added)
        if taints == node.spec.taints:
            return node
        current = self.store.get(Node, node.metadata.name)
        return self.store.update(_replace(current, spec=_replace(current.spec, taints=taints)))


def _is_disrupted(zone: _Zone) -> bool:
    return zone.is_disrupted


def _readiness(node: Node) -> str | None:
    """The status of the Ready condition; None without one."""
    return next((known.status for known in node.status.conditions if known.type == "Ready"), None)


def _no_schedule_taints(node: Node) -> list[str]:
    keys = (CONDITION_TAINTS.get((known.type, known.status)) for known in node.status.conditions)
    found = [name for name in keys if name is not None]
    return [*found, UNSCHEDULABLE] if node.spec.unschedulable else found


def _is_own(taint: Taint, effect: str) -> bool:
    """Whether this controller is the one that sets, and removes, such taints."""
    keys = _OWN_KEYS if effect == NO_SCHEDULE else (NOT_READY, UNREACHABLE)
    return taint.effect == effect and taint.key in keys


def _concerns(old: Node, new: Node) -> bool:
    return (
        old.spec.taints != new.spec.taints
        or old.spec.unschedulable != new.spec.unschedulable
        or old.status.conditions != new.status.conditions
    )


def _zone_key(node: Node) -> str:
    labels = node.metadata.labels
    region = next((labels[name] for name in REGION_LABELS if name in labels), "")
    zone = next((labels[name] for name in ZONE_LABELS if name in labels), "")
    return f"{region}\0{zone}"
