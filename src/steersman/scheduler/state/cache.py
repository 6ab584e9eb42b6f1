# SPDX-License-Identifier: Apache-2.0
"""The scheduler cache: nodes and pods, including assumed pods.

Watch events come from `ingest`, assume and forget from the cycle and the binding driver. Every
change goes through the transition table of `pod_lifecycle` to the columns of `node_table`. Events
may arrive out of order: a pod before its node, the deletion of a node before that of its pods, an
addition on another node than assumed.

`InputError` leaves the cache unchanged. If a change of the columns raises halfway, which is a
programming error, the columns are rebuilt without the pod or node, and the exception is raised
again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy

import msgspec

from steersman.api import Namespace, Node, Pod, key
from steersman.base import InputError
from steersman.base.graph_copy import copied_attributes, finished_by, shallow, shared_by_copies
from steersman.framework import PlacedPod, PodInfo, PodShapes
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.objects import ObjectStore
from steersman.scheduler.state.pod_groups import PodGroupTable
from steersman.scheduler.state.pod_lifecycle import INITIAL, CachedPodState, Life, PodEvent, illegal
from steersman.scheduler.state.removed_pods import removed
from steersman.scheduler.state.validation import validate

logger = logging.getLogger(__name__)

#: First states of every pod that is assumed.
NEWLY_ASSUMED = INITIAL.after(PodEvent.ASSUME, "")
NEWLY_BOUND = NEWLY_ASSUMED.after(PodEvent.FINISH_BINDING, "")


@shared_by_copies
class PodRecord(msgspec.Struct, eq=False, gc=False):
    """A pod in the cache: its node, and the state of its life cycle.

    A record is not part of any reference cycle, so that the garbage collector need not track 50,000
    of them. Forks of a simulation share records; a cache copies a shared record before it changes
    it (`Cache._owned`).
    """

    info: PodInfo
    node_name: str
    life: Life = INITIAL
    #: Token of the cache that may change the record and its info.
    owner: object = None

    @property
    def state(self) -> CachedPodState:
        return self.life.state


def _disown(original: Cache, made: Cache) -> None:
    """Mark all records as shared: neither cache may change existing ones."""
    original._owner, made._owner = object(), object()


@finished_by(_disown)
@copied_attributes(_records=shallow)
class Cache:
    """Nodes and pods. As in upstream, an assumed pod stays even if the watch never confirms it."""

    def __init__(
        self, objects: ObjectStore, shapes: PodShapes | None = None, pod_groups: PodGroupTable | None = None
    ) -> None:
        self.objects = objects
        #: Pod groups with their members; None without the gate GenericWorkload.
        self.pod_groups = pod_groups
        self.shapes = PodShapes() if shapes is None else shapes
        self.nodes = NodeTable(self.namespace_labels)
        self._records: dict[str, PodRecord] = {}
        self._owner = object()
        #: Returns whether a pod with this uid is in the cache.
        self.knows = self._records.__contains__
        #: Number of assumed pods that the watch has not confirmed yet.
        self.assumed_count = 0
        #: Number of changes that this scheduler did not decide and that may have reduced the free
        #: resources of a node: a pod added or changed by others, or a changed node.
        self.external_changes = 0

    # -- decisions --------------------------------------------------------------------------------

    def assume(self, pod: PodInfo, node_name: str) -> None:
        """Add a pod for which the scheduler chose the node; its binding is in progress."""
        known = self._records.get(pod.uid)
        if known is not None:
            raise illegal(pod.key, known.state, PodEvent.ASSUME, known.life.history)
        self._records[pod.uid] = PodRecord(pod, node_name, NEWLY_ASSUMED, self._owner)
        self.assumed_count += 1
        try:
            self.nodes.add_pod(pod, node_name)
        except Exception:
            self.drop_pod(pod.uid)
            raise
        if self.pod_groups is not None:
            self.pod_groups.assume(pod.pod, node_name)

    def finish_binding(self, pod: PodInfo) -> None:
        """Record that the API server accepted the binding. No effect if the watch has already
        confirmed the pod."""
        record = self._records.get(pod.uid)
        if record is None:
            return
        if record.owner is not self._owner:
            record = self._owned(record)
        if record.life is NEWLY_ASSUMED:
            record.life = NEWLY_BOUND
        elif record.life.is_assumed:
            record.life = record.life.after(PodEvent.FINISH_BINDING, pod.key)

    def forget(self, pod: PodInfo) -> None:
        """Remove an assumed pod whose binding failed."""
        if self.pod_groups is not None:
            self.pod_groups.forget(pod.pod)
        self._drop(self._record(pod.uid, pod.key, PodEvent.FORGET), PodEvent.FORGET)

    # -- watch events -----------------------------------------------------------------------------

    def add_pod(self, pod: Pod) -> None:
        """Add or confirm a pod that the watch shows on a node."""
        record = self._records.get(pod.metadata.uid)
        if record is None:
            self.external_changes += 1
            record = self._records[pod.metadata.uid] = PodRecord(
                self.shapes.info(pod), pod.spec.node_name, INITIAL, self._owner
            )
            self._advance(record, PodEvent.ADD)
            try:
                self.nodes.add_pod(record.info, record.node_name)
            except Exception:
                self.drop_pod(record.info.uid)
                raise
        else:
            if record.owner is not self._owner:
                record = self._owned(record)
            confirmed = record.life.after(PodEvent.ADD, record.info.key)
            self._replace(record, pod)
            self._confirm(record, confirmed)
        if self.pod_groups is not None:
            self.pod_groups.put(pod)

    def update_pod(self, pod: Pod) -> None:
        record = self._record(pod.metadata.uid, key(pod), PodEvent.UPDATE)
        self._advance(record, PodEvent.UPDATE)
        self._replace(record, pod)
        if self.pod_groups is not None:
            self.pod_groups.put(pod)

    def remove_pod(self, pod: Pod) -> None:
        if self.pod_groups is not None:
            self.pod_groups.remove(pod)
        self._drop(self._record(pod.metadata.uid, key(pod), PodEvent.REMOVE), PodEvent.REMOVE)

    def set_node(self, node: Node) -> None:
        self.external_changes += 1
        try:
            self.nodes.set_node(node)
        except InputError:
            raise
        except Exception:
            self.drop_node(node.metadata.name)
            raise

    def remove_node(self, node: Node) -> None:
        try:
            self.nodes.remove_node(node.metadata.name)
        except KeyError:
            raise
        except Exception:
            self.drop_node(node.metadata.name)
            raise

    # -- after programming errors -----------------------------------------------------------------

    def drop_pod(self, uid: str) -> None:
        """Remove the pod in any state and rebuild the columns. No effect on an unknown pod."""
        record = self._records.pop(uid, None)
        if record is None:
            return
        self._dropped(record)
        self._rebuild()

    def _dropped(self, record: PodRecord) -> None:
        """Update the counts and the pod's group after its record was removed."""
        self.assumed_count -= record.life.is_assumed
        if self.pod_groups is not None:
            (self.pod_groups.forget if record.life.is_assumed else self.pod_groups.remove)(record.info.pod)

    def drop_node(self, name: str) -> None:
        """Remove the node, keeping its pods, and rebuild the columns."""
        self._rebuild(without_node=name)

    def _rebuild(self, without_node: str = "") -> None:
        """Rebuild the columns, leaving out nodes and pods that raise again."""
        nodes = {node.metadata.name: node for node in self.nodes.nodes if node is not None}
        nodes.pop(without_node, None)
        while not self._refill(nodes):
            pass

    def _refill(self, nodes: dict[str, Node]) -> bool:
        """Write nodes and records into empty columns. If one of them raises, drop it and return
        False."""
        self.nodes.clear()
        for name, node in nodes.items():
            try:
                self.nodes.set_node(node)
            except Exception:
                logger.exception("node %s cannot be added to the cache", name)
                del nodes[name]
                return False
        for uid, record in self._records.items():
            try:
                self.nodes.add_pod(record.info, record.node_name)
            except Exception:
                logger.exception("pod %s cannot be added to the cache", record.info.key)
                self._dropped(record)
                del self._records[uid]
                return False
        return True

    # -- reading ----------------------------------------------------------------------------------

    def is_assumed(self, uid: str) -> bool:
        record = self._records.get(uid)
        return record is not None and record.life.is_assumed

    def has_room_for(self, pod: PodInfo, node_name: str) -> bool:
        """Return whether the node, with the pod assumed there, is within its number of pods and its
        amounts of the requested resources. True if the node is unknown."""
        table = self.nodes
        row = table.row_of(node_name)
        if row is None:
            return True
        if table.pod_count.cell[row] > table.allowed_pods.cell[row]:
            return False
        offered, requested = table.offered.by_row[row], table.amounts_requested
        for resource, amount in pod.shape.requests.items():
            if amount and requested.amount(resource, row) > offered.get(resource, 0):
                return False
        return True

    def without(self, uid: str) -> AbstractContextManager[None]:
        """Remove the pod from the columns within a `with` block; see `removed`. No effect
        if the pod or its node is unknown."""
        record = self._records.get(uid)
        if record is None or self.nodes.row_of(record.node_name) is None:
            return nullcontext()
        return removed(self.nodes, (PlacedPod(record.info, record.node_name),))

    def get(self, uid: str) -> PodRecord | None:
        return self._records.get(uid)

    def pods(self) -> Iterator[PodRecord]:
        return iter(self._records.values())

    @property
    def pod_count(self) -> int:
        return len(self._records)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = self.objects.get(Namespace, namespace)
        return found.metadata.labels if found is not None else {}

    def validate_state(self) -> None:
        """Recompute the columns from the records; raise StateInvariantError for a difference."""
        validate(self)

    # -- helpers ----------------------------------------------------------------------------------

    def _record(self, uid: str, name: str, event: PodEvent) -> PodRecord:
        record = self._records.get(uid)
        if record is None:
            raise illegal(name, CachedPodState.ABSENT, event, "")
        return record if record.owner is self._owner else self._owned(record)

    def _owned(self, shared: PodRecord) -> PodRecord:
        """Replace a record shared with a fork by an own copy."""
        info = copy(shared.info)
        record = self._records[info.uid] = PodRecord(info, shared.node_name, shared.life, self._owner)
        self.nodes.replace_info(info, record.node_name)
        return record

    def _advance(self, record: PodRecord, event: PodEvent) -> None:
        record.life = record.life.after(event, record.info.key)

    def _replace(self, record: PodRecord, pod: Pod) -> None:
        """Replace the pod by a new version; columns are changed only if relevant fields differ."""
        old = record.info
        before = old.pod
        node_name = pod.spec.node_name
        if node_name != record.node_name or not self.shapes.has_same_shape(old, pod):
            self._move(record, self.shapes.updated(old, pod), node_name)
        elif pod.metadata.labels != old.labels or (pod.metadata.deletion_timestamp is None) == old.is_terminating:
            self._relabel(record, self.shapes.with_new_labels(old, pod))
        else:
            if (pod.spec.priority or 0) != old.priority or pod.metadata.annotations != before.metadata.annotations:
                self.nodes.touch(node_name)
            elif before.status.start_time != pod.status.start_time:
                self.nodes.touch_start(node_name)
            old.update(pod)

    def _relabel(self, record: PodRecord, new: PodInfo) -> None:
        """Update the label class of the pod. Most bound pods get here: the API server copies the
        node's zone to them."""
        try:
            self.nodes.relabel_pod(record.info, new, record.node_name)
        except Exception:
            self.drop_pod(new.uid)
            raise
        record.info = new

    def _move(self, record: PodRecord, new: PodInfo, node_name: str) -> None:
        """Update the columns after the pod's requests or its node changed."""
        self.external_changes += 1
        try:
            self.nodes.remove_pod(record.info, record.node_name)
            record.info = new
            record.node_name = node_name
            self.nodes.add_pod(new, node_name)
        except Exception:
            self.drop_pod(new.uid)
            raise

    def _confirm(self, record: PodRecord, life: Life) -> None:
        """Record that the watch shows an assumed pod."""
        record.life = life
        self.assumed_count -= 1

    def _drop(self, record: PodRecord, event: PodEvent) -> None:
        was_assumed = record.life.is_assumed
        self._advance(record, event)
        self.assumed_count -= was_assumed
        del self._records[record.info.uid]
        try:
            self.nodes.remove_pod(record.info, record.node_name)
        except Exception:
            self._rebuild()
            raise
