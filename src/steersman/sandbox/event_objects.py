# SPDX-License-Identifier: Apache-2.0
"""Events as objects of the cluster: what schedulers and controllers report is what `kubectl describe` shows.

Equal events about one object become one with a count. Events are forgotten after an hour, as a kube-apiserver forgets them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from steersman import api
from steersman.api import Object, timestamps
from steersman.embedded import AlreadyExists, Document, Forbidden, NotFound, StatusError, Store, Timers
from steersman.embedded.documents import typed

Event: Final = api.custom_kind("v1", "Event", "events")
NORMAL: Final = "Normal"
WARNING: Final = "Warning"
KEPT_SECONDS: Final = 3600.0
SWEEP_SECONDS: Final = 60.0
MOST_REMEMBERED: Final = 4096
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
"""Who reports events about objects of a kind, as upstream's controllers call themselves."""

_Key = tuple[str, str, str, str, str]


class EventObjects:
    """Writes events to a store. `record` is the recorder that controllers are given."""

    def __init__(self, store: Store, timers: Timers) -> None:
        self._store = store
        self._timers = timers
        self._number = 0
        #: Names of the events that were written, by what they are about; the oldest go first.
        self._known: OrderedDict[_Key, str] = OrderedDict()
        self._sweep_later()

    def record(self, obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Records an event of a controller (`embedded.ObjectEventRecorder`)."""
        component = COMPONENTS.get(obj.KIND, "controllermanager")
        self.report(obj, component, WARNING if is_warning else NORMAL, reason, message)

    def record_kubelet(self, obj: Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Records an event of a kubelet (`embedded.ObjectEventRecorder`)."""
        self.report(obj, "kubelet", WARNING if is_warning else NORMAL, reason, message)

    def report(self, obj: Object, component: str, type: str, reason: str, message: str) -> None:
        """An event of a component that counts equal ones by itself."""
        key = (obj.metadata.uid or api.key(obj), component, type, reason, message)
        known = self._known.get(key)
        now = self._store.timestamp()
        if known is not None and self._count(known, now):
            return
        times: Document = {"firstTimestamp": now, "lastTimestamp": now, "count": 1, "eventTime": None}
        self._create(key, obj, component, {**times, "type": type, "reason": reason, "message": message})

    def report_scheduling(self, pod: api.Pod, scheduler: str, type: str, reason: str, action: str, note: str) -> None:
        """An event of a scheduler, in the form of events.k8s.io: with a moment, and a series when it comes again."""
        key = (pod.metadata.uid, scheduler, type, reason, note)
        moment = timestamps.render_micro(self._store.clock.now())
        known = self._known.get(key)
        if known is not None and self._add_to_series(known, moment):
            return
        times: Document = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": moment, "action": action}
        self._create(key, pod, scheduler, {**times, "type": type, "reason": reason, "message": note})

    # -- inside ------------------------------------------------------------------------------------------------------

    def _create(self, key: _Key, obj: Object, component: str, fields: Document) -> None:
        meta = obj.metadata
        self._number += 1
        moment = int(self._store.clock.now() * 1_000_000) * 1000 + self._number % 1000
        name, namespace = f"{meta.name[:200]}.{moment:x}", meta.namespace or "default"
        is_series = fields.get("eventTime") is not None
        document: Document = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": reference(obj),
            "source": {} if is_series else {"component": component},
            "reportingComponent": component,
            "reportingInstance": component if is_series else "",
            **fields,
        }
        try:
            self._store.create(typed(document, Event), document)
        except (AlreadyExists, Forbidden):
            return  # of a namespace that is on its way out
        self._known[key] = f"{namespace}/{name}"
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)

    def _count(self, name: str, now: str) -> bool:
        """One more of an event; False if that is gone."""
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
        """Events that are too old go. They are in the order of their creation."""
        oldest = self._store.clock.now() - KEPT_SECONDS
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


def reference(obj: Object) -> Document:
    """The reference by which an event says which object it is about."""
    meta = obj.metadata
    found = {
        "kind": obj.KIND,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "apiVersion": obj.API_VERSION,
        "resourceVersion": meta.resource_version,
    }
    return {name: value for name, value in found.items() if value}
