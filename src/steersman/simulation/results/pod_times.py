# SPDX-License-Identifier: Apache-2.0
"""Times at which pods were created and finished, to the microsecond; API objects hold whole seconds.

`PodTimes` listens to the store of a simulation. `placements` reads it.
"""

from __future__ import annotations

from collections.abc import Callable

from steersman import api
from steersman.base import LayeredDict
from steersman.cluster.store import EventType, Store


class PodTimes:
    """Creation and completion times of pods by uid, in seconds since the start of the simulation."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._now = now
        #: Pods that were created after the start.
        self._created: LayeredDict[str, float] = LayeredDict()
        self._finished: LayeredDict[str, float] = LayeredDict()
        store.subscribe(self._on_pod, (api.Pod,))

    def created(self, uid: str) -> float:
        """Return when the pod was created; 0.0 for a pod that existed at the start."""
        return self._created.get(uid) or 0.0

    def finished(self, uid: str) -> float | None:
        """Return when the pod succeeded or failed; None if it has done neither."""
        return self._finished.get(uid)

    def _on_pod(self, _: EventType, old: api.Object | None, new: api.Object | None) -> None:
        if old is None:
            now = self._now()
            if now and new is not None:
                self._created.put(new.metadata.uid, now)
        elif new is None:
            self._created.pop(old.metadata.uid)
            self._finished.pop(old.metadata.uid)
        elif _is_finished(new) and not _is_finished(old):
            self._finished.put(new.metadata.uid, self._now())


def _is_finished(pod: api.Object) -> bool:
    return isinstance(pod, api.Pod) and pod.status.phase in api.FINISHED_PHASES
