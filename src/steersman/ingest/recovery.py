# SPDX-License-Identifier: Apache-2.0
"""After a programming error in the middle of a change: the state is made whole again, without the change.

`handlers` comes here before it lets the exception go on. The earlier version of the object is put back where that works; an
object that breaks its own way out and in again is left out, and the log says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from steersman import api
from steersman.queue import SchedulingQueue
from steersman.state.cache import Cache
from steersman.state.objects import ObjectStore

logger = logging.getLogger(__name__)

LEFT_OUT = "%s %s is left out: its earlier version cannot be put back"


class Recovery:
    """Puts an object back as it was in the state that `Ingest` writes to, or leaves it out."""

    def __init__(self, cache: Cache, objects: ObjectStore, queue: SchedulingQueue, pods: dict[str, api.Pod]) -> None:
        self._cache = cache
        self._objects = objects
        self._queue = queue
        self._pods = pods

    def node(self, name: str, earlier: api.Node | None) -> None:
        """The node is as it was; None: it is not there."""
        self._cache.expel_node(name)
        if earlier is not None:
            self._attempt(earlier, self._cache.set_node)

    def pod(self, pod: api.Pod, earlier: api.Pod | None, add: Callable[[api.Pod], None]) -> None:
        """Leaves the pod out, or as it was earlier. One that is being scheduled or bound stays with those who do that."""
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
        if earlier is None:
            self._objects.remove(obj)
        else:
            self._objects.put(earlier)

    def forget_pod(self, pod: api.Pod) -> None:
        """The pod is nowhere any more."""
        self._pods.pop(api.key(pod), None)
        self._cache.expel_pod(pod.metadata.uid)
        self._attempt(pod, self._queue.delete)

    def _attempt(self, obj: api.Object, act: Callable[..., None]) -> bool:
        try:
            act(obj)
        except Exception:
            logger.exception(LEFT_OUT, obj.KIND, api.key(obj))
            return False
        return True
