# SPDX-License-Identifier: Apache-2.0
"""Event handlers, one per kind of change: update the cache, the listers and the queue.

The order is upstream's: the cache gets a new object before the queue gets its event, so that a pod
moved by the event can use the object; the removal of a node is announced before the node is
removed.

An invalid object raises `InputError`, and nothing is changed. Any other exception is an internal
error: the previous version of the object is restored or, if that fails too, the object is dropped;
then the exception is raised again.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from steersman import api
from steersman.api import DEFAULT_SCHEDULER_NAME
from steersman.base import InputError, LayeredDict, SteersmanError
from steersman.framework import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    change_event,
    node_update_events,
)
from steersman.scheduler.cycle.commit import assigned
from steersman.scheduler.ingest import readable
from steersman.scheduler.ingest.pod_level_resources import SeenPod
from steersman.scheduler.ingest.recovery import Recovery
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore

START_TIME = "status.startTime"
SHARED_UID = "is the uid of pod {} too; every pod needs one of its own"

#: Called when an assumed pod is being deleted; returns True if it waited for permission and was
#: rejected.
RejectWaiting = Callable[[str], bool]


class Ingest:
    """The scheduler's event sink. `pods` is the lister of unfinished pods."""

    def __init__(
        self,
        cache: Cache,
        objects: ObjectStore,
        queue: SchedulingQueue,
        scheduler_names: Container[str],
        pods: dict[str, api.Pod],
        reject_waiting: RejectWaiting,
        parse: Callable[[api.Pod], object] | None = None,
        on_dequeued: Callable[[str], object] | None = None,
        seen: SeenPod = lambda pod: pod,
    ) -> None:
        """`parse` raises InputError for an invalid pending pod before the queue gets it.
        `on_dequeued` is called with the uid of a pending pod that was deleted or has a node. `seen`
        removes fields hidden by feature gates."""
        self._cache = cache
        self._groups = cache.pod_groups
        self._objects = objects
        self._queue = queue
        self._scheduler_names = scheduler_names
        self.pods = pods
        self._reject_waiting = reject_waiting
        self._parse = parse or cache.shapes.info
        self._on_dequeued = on_dequeued
        self.seen = seen
        #: Name of a pod by uid, which may be outdated; `pods` is authoritative.
        self._names: LayeredDict[str, str] = LayeredDict()
        self._recovery = Recovery(cache, objects, queue, pods)

    # -- any object -------------------------------------------------------------------------------

    def expect(self, kind: type[api.Object], count: int) -> None:
        """Reserve rows for a list of nodes."""
        if kind is api.Node:
            self._cache.nodes.reserve(count)

    def changed(self, obj: api.Object) -> None:
        """Handle an added or modified object."""
        if isinstance(obj, api.Pod):
            self._pod_changed(self.seen(obj))
        elif isinstance(obj, api.Node):
            self._node_changed(obj)
        else:
            self._other_changed(obj)

    def deleted(self, obj: api.Object) -> None:
        """Handle a deleted object, given its last known state."""
        if isinstance(obj, api.Pod):
            self._pod_deleted(obj)
        elif isinstance(obj, api.Node):
            self._node_deleted(obj)
        else:
            self._other_deleted(obj)

    # -- nodes ------------------------------------------------------------------------------------

    def _node_changed(self, node: api.Node) -> None:
        table = self._cache.nodes
        row = table.row_of(node.metadata.name)
        old = None if row is None else table.node(row)
        try:
            self._cache.set_node(node)
            self._announce_node(old, node)
        except InputError as error:
            raise readable.located(error, node) from error
        except Exception:
            self._recovery.node(node.metadata.name, old)
            raise

    def _announce_node(self, old: api.Node | None, node: api.Node) -> None:
        if old is None:
            self._queue.move_all(NODE_ADD, None, node)
            return
        for event in node_update_events(old, node):
            self._queue.move_all(event, old, node)

    def _node_deleted(self, node: api.Node) -> None:
        try:
            self._queue.move_all(NODE_DELETE, node, None)
            if self._cache.nodes.row_of(node.metadata.name) is not None:
                self._cache.remove_node(node)
        except Exception:
            self._recovery.node(node.metadata.name, None)
            raise

    # -- pods -------------------------------------------------------------------------------------

    def _pod_changed(self, pod: api.Pod) -> None:
        name = api.key(pod)
        old = self.pods.get(name)
        if old is not None and old.metadata.uid != pod.metadata.uid:
            self._pod_deleted(old)
            old = None
        if pod.status.phase in api.FINISHED_PHASES:
            if old is not None:
                self._pod_deleted(old)
            return
        if old is None:
            self._check_uid(pod, name)
        self.pods[name] = pod
        try:
            if old is None:
                self._pod_added(pod)
            elif old.metadata.resource_version != pod.metadata.resource_version or not pod.metadata.resource_version:
                self._pod_updated(old, pod)
        except SteersmanError as error:
            self._put_back(pod, old)
            raise readable.located(error, pod) from error
        except Exception:
            self._recovery.pod(pod, old, self._pod_added)
            raise

    def _check_uid(self, pod: api.Pod, name: str) -> None:
        """Raise `InputError` for a new pod with the uid of another one, which cache and queue could
        not distinguish."""
        uid = pod.metadata.uid
        other = self.pods.get(self._names.get(uid) or name)
        if other is not None and other.metadata.uid == uid:
            raise InputError(SHARED_UID.format(api.key(other)), field="metadata.uid", value=uid)
        self._names.put(uid, name)

    def _put_back(self, pod: api.Pod, old: api.Pod | None) -> None:
        """Restore the lister after an invalid pod."""
        if old is None:
            del self.pods[api.key(pod)]
            self._names.pop(pod.metadata.uid)
        else:
            self.pods[api.key(pod)] = old

    def _pod_added(self, pod: api.Pod) -> None:
        if pod.spec.node_name:
            readable.check_time(pod.status.start_time, START_TIME)
            self._cache.add_pod(pod)
            self._queue.move_all(ASSIGNED_POD_ADD, None, pod)
        elif self._is_ours(pod):
            self._parse(pod)
            if self._groups is None:
                self._queue.add(pod)
                return
            self._groups.put(pod)
            self._queue.add(pod)
            self._queue.move_all(self._queue.pod_events.unscheduled_add, None, pod)

    def _pod_updated(self, old: api.Pod, new: api.Pod) -> None:
        if new.status.start_time != old.status.start_time:
            readable.check_time(new.status.start_time, START_TIME)
        if old.spec.node_name and not new.spec.node_name:
            self._pod_unbound(old, new)
        elif old.spec.node_name:
            self._cache.update_pod(new)
            if self._queue.has_event_subscribers:  # otherwise the events are not needed
                for event in self._queue.pod_events.of_update(old, new):
                    self._queue.move_all(event, old, new)
        elif new.spec.node_name:
            self._cache.add_pod(new)
            self._queue.move_all(ASSIGNED_POD_ADD, None, new)
            if self._is_ours(old):
                self._leave_queue(old)
        elif self._is_ours(old):
            self._pending_pod_updated(old, new)

    def _pod_unbound(self, old: api.Pod, new: api.Pod) -> None:
        """Handle a pod that lost its node, which no API server does; like upstream, as a deletion
        and an addition."""
        self._parse(new)
        self._take_out(old)
        self._pod_added(new)

    def _pending_pod_updated(self, old: api.Pod, new: api.Pod) -> None:
        if self._groups is not None:
            self._groups.put(new)
        if self._cache.is_assumed(new.metadata.uid):
            if new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
                self._assumed_pod_deleted(new)
            return
        if not readable.same_amounts(old, new):
            self._parse(new)
        self._queue.update(old, new)
        nominated = old.status.nominated_node_name
        if nominated and nominated != new.status.nominated_node_name:
            self._release_nomination(old)

    def _pod_deleted(self, pod: api.Pod) -> None:
        known = self.pods.pop(api.key(pod), None)
        if known is None:  # finished, or replaced by an invalid pod
            return
        self._names.pop(known.metadata.uid)
        try:
            self._take_out(known)
        except SteersmanError:
            raise
        except Exception:
            self._recovery.forget_pod(pod)
            raise

    def _take_out(self, known: api.Pod) -> None:
        if known.spec.node_name:
            self._cache.remove_pod(known)
            self._queue.move_all(ASSIGNED_POD_DELETE, known, None)
        elif self._is_ours(known):
            self._leave_queue(known)
            if self._cache.is_assumed(known.metadata.uid):
                self._assumed_pod_deleted(known)
                return
            if self._groups is not None:
                self._groups.remove(known)
            if known.status.nominated_node_name:
                self._release_nomination(known)

    def _leave_queue(self, pod: api.Pod) -> None:
        self._queue.delete(pod)
        if self._on_dequeued is not None:
            self._on_dequeued(pod.metadata.uid)

    def _assumed_pod_deleted(self, pod: api.Pod) -> None:
        """Release the resources of an assumed pod that is deleted before it is bound."""
        record = self._cache.get(pod.metadata.uid)
        if record is None:
            return
        if not self._reject_waiting(pod.metadata.uid):
            self._cache.forget(record.info)
        if self._groups is not None:
            self._groups.remove(pod)
        self._queue.move_all(ASSIGNED_POD_DELETE, assigned(record.info.pod, record.node_name), None)

    def _release_nomination(self, pod: api.Pod) -> None:
        """Move pods of lower or equal priority, which had to leave room for the nominated pod."""
        limit = pod.spec.priority or 0
        self._queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda waiting: (waiting.spec.priority or 0) <= limit)

    def _is_ours(self, pod: api.Pod) -> bool:
        return (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) in self._scheduler_names

    # -- other kinds ------------------------------------------------------------------------------

    def _other_changed(self, obj: api.Object) -> None:
        readable.check(obj)
        old = self._objects.put(obj)
        if _is_unchanged(old, obj):
            return
        try:
            if isinstance(obj, api.Namespace):
                labels = old.metadata.labels if old is not None else {}
                if labels != obj.metadata.labels:
                    self._cache.nodes.on_namespaces_changed()
            elif self._groups is not None and isinstance(obj, api.AnyPodGroup):
                self._groups.set_group(obj)
                (self._queue.add_pod_group if old is None else self._queue.update_pod_group)(obj)
            action = ActionType.ADD if old is None else ActionType.UPDATE
            self._queue.move_all(change_event(type(obj), action), old, obj)
        except Exception:
            self._recovery.other(obj, old)
            raise

    def _other_deleted(self, obj: api.Object) -> None:
        old = self._objects.remove(obj)
        if isinstance(obj, api.Namespace):
            self._cache.nodes.on_namespaces_changed()
        elif self._groups is not None and isinstance(obj, api.AnyPodGroup):
            self._groups.remove_group(obj)
            self._queue.delete_pod_group(obj)
        self._queue.move_all(change_event(type(obj), ActionType.DELETE), old or obj, None)


def _is_unchanged(old: api.Object | None, obj: api.Object) -> bool:
    """Return whether a group was delivered again, which must not move pods."""
    version = obj.metadata.resource_version
    return bool(version) and isinstance(old, api.AnyPodGroup) and old.metadata.resource_version == version
