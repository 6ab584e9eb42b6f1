# SPDX-License-Identifier: Apache-2.0
"""The node lifecycle controller: taints nodes by their conditions, and detects missing heartbeats.

    no heartbeat for 50 s ─► Ready=Unknown ─┐
    kubelet writes Ready=False ─────────────┴► NoSchedule taint at once, NoExecute taint one node of a zone at a
    time
                                                  └► `taint_eviction` deletes the pods that do not tolerate it

The eviction rate falls with the share of healthy nodes in a zone, because many simultaneous
failures are probably network failures. Nodes without a Ready condition, as in hand-written files,
count as healthy and keep their taints. Not implemented: the labels `beta.kubernetes.io/os` and
`arch`; the taint of new nodes; the startup grace period.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from steersman.api import (
    NO_EXECUTE,
    NO_SCHEDULE,
    Condition,
    Node,
    Object,
    Pod,
    Taint,
    key,
)
from steersman.base.graph_copy import copied_attributes, shallow
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.controllers.pods_by_node import pods_by_node
from steersman.cluster.store import EventType
from steersman.cluster.store.heartbeats import NODE_LEASES, Lease, last_heartbeat
from steersman.cluster.store.pods import with_condition
from steersman.scheduler.state import Zone, zone_of

MONITOR_GRACE_SECONDS: Final = 50.0
EVICTION_SECONDS: Final = 10.0
"""Interval between NoExecute taints in a zone."""
SECONDARY_EVICTION_SECONDS: Final = 100.0
"""Interval between NoExecute taints in a large, mostly unhealthy zone; a small one gets none."""
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
"""(type, status) of a condition → its taint."""
STATUS_CONDITIONS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_OWN_KEYS: Final = frozenset((*CONDITION_TAINTS.values(), UNSCHEDULABLE))

_replace = msgspec.structs.replace


@copied_attributes(nodes=shallow, not_ready=shallow, waiting=shallow)
class _Zone:
    """Healthy and unhealthy nodes of a zone, and nodes waiting for their NoExecute taint."""

    def __init__(self) -> None:
        self.nodes: dict[str, None] = {}
        self.not_ready: dict[str, None] = {}
        self.waiting: dict[str, None] = {}
        #: Earliest time of the next taint, on the monotonic scale.
        self.next_time = 0.0

    @property
    def is_disrupted(self) -> bool:
        """Whether all nodes of the zone are unhealthy."""
        return len(self.not_ready) == len(self.nodes)

    @property
    def interval(self) -> float | None:
        """Seconds between taints; None if tainting is suspended."""
        bad, total = len(self.not_ready), len(self.nodes)
        if self.is_disrupted or bad <= 2 or bad / total < UNHEALTHY_SHARE:
            return EVICTION_SECONDS
        return SECONDARY_EVICTION_SECONDS if total > LARGE_ZONE else None


class NodeLifecycleController(Controller):
    """Node lifecycle controller; keys are node names."""

    NAME = "node-lifecycle"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._zones: dict[Zone, _Zone] = {}
        #: Whether all nodes of the cluster were unhealthy at the last check.
        self._is_disrupted = False
        #: Names of nodes with monitored Leases.
        self._monitored: set[str] = set()
        self.store.subscribe(self._on_node, (Node,))
        self.store.subscribe(self._on_lease, (Lease,))

    # -- events ------------------------------------------------------------------------------------

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
        name, zone_key = node.metadata.name, zone_of(node.metadata.labels)
        if old is not None and zone_of(old.metadata.labels) != zone_key:
            self._leave_zone(old)
        zone = self._zones.setdefault(zone_key, _Zone())
        zone.nodes[name] = None
        readiness = _readiness(node)
        if readiness in (None, "True"):
            zone.not_ready.pop(name, None)
            zone.waiting.pop(name, None)
        else:
            zone.not_ready[name] = None
        if readiness is not None and (old is None or _concerns(old, node)):
            self.enqueue(name)

    def _leave_zone(self, node: Node) -> None:
        zone = self._zones.get(zone_of(node.metadata.labels))
        if zone is None:
            return
        for names in (zone.nodes, zone.not_ready, zone.waiting):
            names.pop(node.metadata.name, None)
        if not zone.nodes:
            del self._zones[zone_of(node.metadata.labels)]

    def _record_not_ready(self, node: Node) -> None:
        """Mark the pods of a node without heartbeat as not ready; a live kubelet does so itself."""
        name = node.metadata.name
        self.cluster.record(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        for pod in pods_by_node(self.store).pods_on(name):
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

    # -- heartbeats --------------------------------------------------------------------------------

    def _on_lease(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if new is not None and new.metadata.namespace == NODE_LEASES and new.metadata.name not in self._monitored:
            self._monitored.add(new.metadata.name)
            self._check_heartbeat(new.metadata.name)

    def _check_heartbeat(self, name: str) -> None:
        """Check the heartbeat, now or at the end of its grace period."""
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

    # -- taints ------------------------------------------------------------------------------------

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
        """Swap the taint if the node has the other one; else let it wait for its turn."""
        name = node.metadata.name
        zone = self._zones[zone_of(node.metadata.labels)]
        if any(_is_own(taint, NO_EXECUTE) and taint.key != taint_key for taint in node.spec.taints):
            kept = [taint for taint in node.spec.taints if not _is_own(taint, NO_EXECUTE)]
            self._write_taints(node, kept, [taint_key], NO_EXECUTE)
        elif not any(_is_own(taint, NO_EXECUTE) for taint in node.spec.taints):
            zone.waiting[name] = None
        self._taint_waiting()

    def _taint_waiting(self) -> None:
        """Taint the nodes that are due; none if all nodes of the cluster are unhealthy."""
        was_disrupted, self._is_disrupted = self._is_disrupted, all(map(_is_disrupted, self._zones.values()))
        if self._is_disrupted:
            if not was_disrupted:
                for name in [name for zone in self._zones.values() for name in zone.nodes]:
                    self._drop_no_execute(self.store.get(Node, name))
            return
        for zone_key, zone in self._zones.items():
            self._taint_in_zone(zone_key, zone)

    def _taint_in_zone(self, zone_key: Zone, zone: _Zone) -> None:
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

    def _next_of_zone(self, zone_key: Zone) -> None:
        zone = self._zones.get(zone_key)
        if zone is not None and zone.waiting and self.store.clock.monotonic() >= zone.next_time:
            self._taint_waiting()

    def _drop_no_execute(self, node: Node) -> None:
        kept = [taint for taint in node.spec.taints if not _is_own(taint, NO_EXECUTE)]
        self._write_taints(node, kept, [], NO_EXECUTE)

    def _write_taints(self, node: Node, kept: list[Taint], wanted: Iterable[str], effect: str) -> Node:
        """Write the kept taints and the missing ones."""
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
    """Return the status of the Ready condition; None without one."""
    return next((known.status for known in node.status.conditions if known.type == "Ready"), None)


def _no_schedule_taints(node: Node) -> list[str]:
    keys = (CONDITION_TAINTS.get((known.type, known.status)) for known in node.status.conditions)
    found = [name for name in keys if name is not None]
    return [*found, UNSCHEDULABLE] if node.spec.unschedulable else found


def _is_own(taint: Taint, effect: str) -> bool:
    """Return whether this controller manages the taint."""
    keys = _OWN_KEYS if effect == NO_SCHEDULE else (NOT_READY, UNREACHABLE)
    return taint.effect == effect and taint.key in keys


def _concerns(old: Node, new: Node) -> bool:
    return (
        old.spec.taints != new.spec.taints
        or old.spec.unschedulable != new.spec.unschedulable
        or old.status.conditions != new.status.conditions
    )
