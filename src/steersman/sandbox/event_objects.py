# SPDX-License-Identifier: Apache-2.0
"""Events of schedulers and controllers as objects, for `kubectl describe`.

Equal events about one object are counted. Events expire after an hour, as in kube-apiserver.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec

from steersman import api
from steersman.api import Object, timestamps
from steersman.cluster.store import AlreadyExists, Document, Forbidden, NotFound, StatusError, Store, Timers, typed
from steersman.scheduler.host import PodEvent

Event: Final = api.custom_kind("v1", "Event", "events")
LIFETIME_SECONDS: Final = 3600.0
SWEEP_SECONDS: Final = 60.0
MAX_REMEMBERED: Final = 4096
COMPONENTS: Final = {
    "CronJob": "cronjob-controller",
    "DaemonSet": "daemonset-controller",
    "Deployment": "deployment-controller",
    "HorizontalPodAutoscaler": "horizontal-pod-autoscaler",
    "Job": "job-controller",
    "Node": "node-controller",
    "PersistentVolumeClaim": "persistentvolume-controller",
    "Pod": "taint-eviction-controller",
    "PodDisruptionBudget": "controllermanager",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
}
"""Upstream's name of the controller that reports events about objects of a kind."""

_Key = tuple[str, str, str, str, str]


class EventObjects:
    """Writes events to a store. `record` is the recorder that controllers are given."""

    def __init__(self, store: Store, timers: Timers) -> None:
        self._store = store
        self._timers = timers
        self._number = 0
        #: Names of written events by their content; the oldest are evicted first.
        self._known: OrderedDict[_Key, str] = OrderedDict()
        self._sweep_later()

    def record(self, obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Record an event of a controller (`embedded.ObjectEventRecorder`)."""
        component = COMPONENTS.get(obj.KIND, "controllermanager")
        self.report(obj, component, api.EVENT_WARNING if is_warning else api.EVENT_NORMAL, reason, message)

    def record_kubelet(self, obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Record an event of a kubelet (`embedded.ObjectEventRecorder`)."""
        self.report(obj, "kubelet", api.EVENT_WARNING if is_warning else api.EVENT_NORMAL, reason, message)

    def report(self, obj: Object, component: str, type: str, reason: str, message: str) -> None:
        """Report an event in the older form, with a count of equal ones."""
        key = (obj.metadata.uid or api.key(obj), component, type, reason, message)
        known = self._known.get(key)
        now = self._store.timestamp()
        if known is not None and self._count(known, now):
            return
        times: Document = {"firstTimestamp": now, "lastTimestamp": now, "count": 1, "eventTime": None}
        self._create(key, obj, component, {**times, "type": type, "reason": reason, "message": message})

    def report_scheduling(self, event: PodEvent) -> None:
        """Report a scheduler's event in events.k8s.io form; repetitions are a series."""
        key = (event.pod.metadata.uid, event.scheduler, event.type, event.reason, event.note)
        moment = timestamps.render_micro(self._store.clock.now())
        known = self._known.get(key)
        if known is not None and self._add_to_series(known, moment):
            return
        times: Document = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": moment, "action": event.action}
        if event.related is not None:
            times["related"] = msgspec.to_builtins(api.reference_to(event.related))
        fields = {"type": event.type, "reason": event.reason, "message": event.note}
        self._create(key, event.pod, event.scheduler, {**times, **fields})

    # -- inside ------------------------------------------------------------------------------------------------------

    def _create(self, key: _Key, obj: Object, component: str, fields: Document) -> None:
        meta = obj.metadata
        self._number += 1
        moment = int(self._store.clock.now() * 1_000_000) * 1000 + self._number % 1000
        name, namespace = f"{meta.name[:200]}.{moment:x}", meta.namespace or api.DEFAULT_NAMESPACE
        is_series = fields.get("eventTime") is not None
        document: Document = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": msgspec.to_builtins(api.reference_to(obj)),
            "source": {} if is_series else {"component": component},
            "reportingComponent": component,
            "reportingInstance": component if is_series else "",
            **fields,
        }
        try:
            self._store.create(typed(document, Event), document)
        except (AlreadyExists, Forbidden):
            return  # its namespace is terminating
        self._known[key] = f"{namespace}/{name}"
        while len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    def _count(self, name: str, now: str) -> bool:
        """Increment the count of an event; return False if its object is gone."""
        return self._change(name, lambda old: {"count": int(old.get("count") or 1) + 1, "lastTimestamp": now})

    def _add_to_series(self, name: str, moment: str) -> bool:
        def added(old: Document) -> Document:
            count = (old.get("series") or {}).get("count", 1) + 1
            return {"series": {"count": count, "lastObservedTime": moment}}

        return self._change(name, added)

    def _change(self, name: str, change: object) -> bool:
        assert callable(change), "changes are functions of the document"
        event = self._store.find(Event, name)
        if event is None:
            return False
        document = self._store.document(Event, name)
        self._store.rewrite(event, event, {**document, **change(document)})
        return True

    def _sweep_later(self) -> None:
        moment = self._store.clock.monotonic() + SWEEP_SECONDS
        self._timers.call_at(moment, self._sweep, is_background=True)

    def _sweep(self) -> None:
        """Delete expired events, which are in the order of their creation."""
        oldest = self._store.clock.now() - LIFETIME_SECONDS
        old = []
        for name, event in self._store.objects(Event).items():
            created = event.metadata.creation_timestamp
            if created is None or timestamps.parse(created) >= oldest:
                break
            old.append(name)
        for name in old:
            try:
                self._store.delete(Event, name)
            except (NotFound, StatusError):
                continue
        self._sweep_later()
