# SPDX-License-Identifier: Apache-2.0
"""The scheduler cache: nodes and pods as the scheduler believes them to be, assumed pods included.

Watch events come in from `ingest`, assume and forget from the cycle and the binding driver. Every change goes through the
transition table of `pod_lifecycle` to the columns of `node_table`. Events may come out of order: a pod before its node, a
node gone before its pods, an addition on another node than assumed.

`InputError` leaves everything as it was. Should a change of the columns break off in the middle, which would be a programming
error, the columns are made anew without the pod or node, and the error goes on to the caller.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy

import msgspec

from steersman.api import Namespace, Node, Pod, key
from steersman.errors import InputError
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.graph_copy import copied_attributes, finished_by, shallow, shared_by_copies
from steersman.state.node_table import NodeTable
from steersman.state.objects import ObjectStore
from steersman.state.pod_lifecycle import UNBORN, CachedPodState, Life, PodEvent, illegal
from steersman.state.validation import validate

logger = logging.getLogger(__name__)

#: How every pod begins that the scheduler finds a node for, and how it usually goes on.
NEWLY_ASSUMED = UNBORN.after(PodEvent.ASSUME, "")
NEWLY_BOUND = NEWLY_ASSUMED.after(PodEvent.FINISH_BINDING, "")


@shared_by_copies
class PodRecord(msgspec.Struct, eq=False, gc=False):
    """A pod in the cache: where it is (believed to be), and how far its life has got.

    Nothing that a record refers to leads back to it, so that the garbage collector need not look at 50,000 of them.
    Forks of a simulation share records. Whoever is about to change one makes it its own first (`Cache._owned`).
    """

    info: PodInfo
    node_name: str
    life: Life = UNBORN
    #: Stands for the cache that may change the record and its info.
    owner: object = None

    @property
    def state(self) -> CachedPodState:
        return self.life.state


def _disown(original: Cache, made: Cache) -> None:
    """The records are shared from now on: neither cache may change those that there are."""
    original._owner, made._owner = object(), object()


@finished_by(_disown)
@copied_attributes(_records=shallow)
class Cache:
    """The nodes and pods. An assumed pod that the watch never confirms stays, as upstream keeps it."""

    def __init__(self, objects: ObjectStore) -> None:
        self.objects = objects
        self.shapes = PodShapes()
        self.nodes = NodeTable(self.namespace_labels)
        self._records: dict[str, PodRecord] = {}
        self._owner = object()
        #: Whether a pod with that uid is here.
        self.knows = self._records.__contains__
        #: Pods that were assumed, and that the watch has not confirmed yet.
        self.assumed_count = 0
        #: How often a node may have lost room for a reason that was not decided here: a pod of others came or asks for more,
        #: or the node itself has changed.
        self.foreign_changes = 0

    # -- decisions ---------------------------------------------------------------------------------------------------

    def assume(self, pod: PodInfo, node_name: str) -> None:
        """The scheduler decided; the binding is under way."""
        known = self._records.get(pod.uid)
        if known is not None:
            raise illegal(pod.key, known.state, PodEvent.ASSUME, known.life.story)
        self._records[pod.uid] = PodRecord(pod, node_name, NEWLY_ASSUMED, self._owner)
        self.assumed_count += 1
        try:
            self.nodes.add_pod(pod, node_name)
        except Exception:
            self.expel_pod(pod.uid)
            raise

    def finish_binding(self, pod: PodInfo) -> None:
        """The API server accepted the binding. No effect on a pod that the watch has already confirmed."""
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
        """The binding failed: give the room back."""
        self._drop(self._record(pod.uid, pod.key, PodEvent.FORGET), PodEvent.FORGET)

    # -- watch events ------------------------------------------------------------------------------------------------

    def add_pod(self, pod: Pod) -> None:
        """The API server shows the pod on a node."""
        record = self._records.get(pod.metadata.uid)
        if record is None:
            self.foreign_changes += 1
            record = self._records[pod.metadata.uid] = PodRecord(
                self.shapes.info(pod), pod.spec.node_name, UNBORN, self._owner
            )
            self._advance(record, PodEvent.ADD)
            try:
                self.nodes.add_pod(record.info, record.node_name)
            except Exception:
                self.expel_pod(record.info.uid)
                raise
        else:
            if record.owner is not self._owner:
                record = self._owned(record)
            confirmed = record.life.after(PodEvent.ADD, record.info.key)
            self._replace(record, pod)
            self._confirm(record, confirmed)

    def update_pod(self, pod: Pod) -> None:
        record = self._record(pod.metadata.uid, key(pod), PodEvent.UPDATE)
        self._advance(record, PodEvent.UPDATE)
        self._replace(record, pod)

    def remove_pod(self, pod: Pod) -> None:
        self._drop(self._record(pod.metadata.uid, key(pod), PodEvent.REMOVE), PodEvent.REMOVE)

    def set_node(self, node: Node) -> None:
        self.foreign_changes += 1
        try:
            self.nodes.set_node(node)
        except InputError:
            raise
        except Exception:
            self.expel_node(node.metadata.name)
            raise

    def remove_node(self, node: Node) -> None:
        try:
            self.nodes.remove_node(node.metadata.name)
        except KeyError:
            raise
        except Exception:
            self.expel_node(node.metadata.name)
            raise

    # -- after programming errors ------------------------------------------------------------------------------------

    def expel_pod(self, uid: str) -> None:
        """Forgets the pod whatever its state, and makes the columns anew. No effect on a pod that is not known."""
        record = self._records.pop(uid, None)
        if record is None:
            return
        self.assumed_count -= record.life.is_assumed
        self._rebuild()

    def expel_node(self, name: str) -> None:
        """Forgets the node, whose pods stay, and makes the columns anew."""
        self._rebuild(without_node=name)

    def _rebuild(self, without_node: str = "") -> None:
        """Makes the columns anew; a node or pod with which this breaks off again is left out as well."""
        nodes = {node.metadata.name: node for node in self.nodes.nodes if node is not None}
        nodes.pop(without_node, None)
        while not self._refill(nodes):
            pass

    def _refill(self, nodes: dict[str, Node]) -> bool:
        """Writes nodes and records into empty columns. False: one of them could not be written, and is dropped."""
        self.nodes.clear()
        for name, node in nodes.items():
            try:
                self.nodes.set_node(node)
            except Exception:
                logger.exception("node %s cannot be kept in the cache", name)
                del nodes[name]
                return False
        for uid, record in self._records.items():
            try:
                self.nodes.add_pod(record.info, record.node_name)
            except Exception:
                logger.exception("pod %s cannot be kept in the cache", record.info.key)
                self.assumed_count -= record.life.is_assumed
                del self._records[uid]
                return False
        return True

    # -- reading -----------------------------------------------------------------------------------------------------

    def is_assumed(self, uid: str) -> bool:
        record = self._records.get(uid)
        return record is not None and record.life.is_assumed

    def has_room_for(self, pod: PodInfo, node_name: str) -> bool:
        """Whether the node, with the pod assumed there, has no more pods and no more of what the pod requests than it can
        take. True of a node that is not known."""
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
        """The columns as if the pod were not on its node, within the block; see `NodeTable.without`. As they are, if it is
        unknown or its node is gone."""
        record = self._records.get(uid)
        if record is None or self.nodes.row_of(record.node_name) is None:
            return nullcontext()
        return self.nodes.without(record.info, record.node_name)

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
        """Recomputes everything from the records; StateInvariantError where the columns say something else."""
        validate(self)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _record(self, uid: str, name: str, event: PodEvent) -> PodRecord:
        record = self._records.get(uid)
        if record is None:
            raise illegal(name, CachedPodState.ABSENT, event, "")
        return record if record.owner is self._owner else self._owned(record)

    def _owned(self, shared: PodRecord) -> PodRecord:
        """A record of its own in the place of one that a fork of the simulation has too."""
        info = copy(shared.info)
        record = self._records[info.uid] = PodRecord(info, shared.node_name, shared.life, self._owner)
        self.nodes.replace_info(info, record.node_name)
        return record

    def _advance(self, record: PodRecord, event: PodEvent) -> None:
        record.life = record.life.after(event, record.info.key)

    def _replace(self, record: PodRecord, pod: Pod) -> None:
        """The pod as the API server has it now; columns are touched only when something that counts has changed."""
        old = record.info
        before = old.pod
        node_name = pod.spec.node_name
        if node_name != record.node_name or not self.shapes.same_shape(old, pod):
            self._move(record, self.shapes.updated(old, pod), node_name)
        elif pod.metadata.labels != old.labels or (pod.metadata.deletion_timestamp is None) == old.is_terminating:
            self._relabel(record, self.shapes.relabelled(old, pod))
        else:
            if (pod.spec.priority or 0) != old.priority or pod.metadata.annotations != before.metadata.annotations:
                self.nodes.touch(node_name)
            elif before.status.start_time != pod.status.start_time:
                self.nodes.touch_start(node_name)
            old.renew(pod)

    def _relabel(self, record: PodRecord, new: PodInfo) -> None:
        """Other selectors match the pod from now on. That is so of most pods that are bound: the API server copies the zone of
        the node to them."""
        try:
            self.nodes.relabel_pod(record.info, new, record.node_name)
        except Exception:
            self.expel_pod(new.uid)
            raise
        record.info = new

    def _move(self, record: PodRecord, new: PodInfo, node_name: str) -> None:
        """The pod asks for something else, or is somewhere else."""
        self.foreign_changes += 1
        try:
            self.nodes.remove_pod(record.info, record.node_name)
            record.info = new
            record.node_name = node_name
            self.nodes.add_pod(new, node_name)
        except Exception:
            self.expel_pod(new.uid)
            raise

    def _confirm(self, record: PodRecord, life: Life) -> None:
        """The watch shows a pod that was assumed."""
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
