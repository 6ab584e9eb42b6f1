# SPDX-License-Identifier: Apache-2.0
"""Restores a consistent state after an internal error in the middle of a change.

`handlers` calls it before it raises the exception again. The previous version of the object is
restored if possible; otherwise the object is dropped and logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from steersman import api
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore

logger = logging.getLogger(__name__)

DROPPED = "%s %s was dropped: its previous version could not be restored"


class Recovery:
    """Restores the previous version of an object in the state that `Ingest` writes to, or drops
    it."""

    def __init__(self, cache: Cache, objects: ObjectStore, queue: SchedulingQueue, pods: dict[str, api.Pod]) -> None:
        self._cache = cache
        self._objects = objects
        self._queue = queue
        self._pods = pods

    def node(self, name: str, earlier: api.Node | None) -> None:
        """Restore the previous version of the node, or remove it if there is none."""
        self._cache.drop_node(name)
        if earlier is not None:
            self._attempt(earlier, self._cache.set_node)

    def pod(self, pod: api.Pod, earlier: api.Pod | None, add: Callable[[api.Pod], None]) -> None:
        """Restore the previous version of the pod, or remove it. A pod that is being scheduled or
        bound is left to that attempt."""
        name, uid = api.key(pod), pod.metadata.uid
        is_under_way = self._cache.is_assumed(uid) or any(
            one.metadata.uid == uid for one in self._queue.in_flight_pods()
        )
        if not is_under_way:
            self.forget_pod(pod)
        if earlier is None:
            self._pods.pop(name, None)
            return
        self._pods[name] = earlier
        if not is_under_way and not self._attempt(earlier, add):
            self.forget_pod(earlier)

    def other(self, obj: api.Object, earlier: api.Object | None) -> None:
        groups = self._cache.pod_groups
        if earlier is None:
            self._objects.remove(obj)
        else:
            self._objects.put(earlier)
        if groups is not None and isinstance(obj, api.AnyPodGroup):
            groups.remove_group(obj)
            self._attempt(obj, self._queue.delete_pod_group)
            if isinstance(earlier, api.AnyPodGroup):
                groups.set_group(earlier)
                self._attempt(earlier, self._queue.add_pod_group)

    def forget_pod(self, pod: api.Pod) -> None:
        """Remove the pod everywhere."""
        self._pods.pop(api.key(pod), None)
        self._cache.drop_pod(pod.metadata.uid)
        if self._cache.pod_groups is not None:
            self._cache.pod_groups.remove(pod)
        self._attempt(pod, self._queue.delete)

    def _attempt(self, obj: api.Object, act: Callable[..., None]) -> bool:
        try:
            act(obj)
        except Exception:
            logger.exception(DROPPED, obj.KIND, api.key(obj))
            return False
        return True
