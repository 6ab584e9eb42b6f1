# SPDX-License-Identifier: Apache-2.0
"""A side of the comparison with real controllers: an API server and kube-controller-manager, followed by watches.

One `Mirror` follows everything for all scenarios that run at once; a `RealSide` is one scenario's view of it.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from tests.controllers.comparison.running import KINDS, Refused
from tests.controllers.comparison.scenario import Document, Scenario
from tests.e2e.controllers.pulse import Pulse

from steersman.testing.control_plane import ControlPlane, KubeClient, ServerRefusal

_CLUSTER_WIDE: Final = ("Namespace", "Node")
_INTERVAL: Final = 0.05
_PULSES: Final = 4
"""So many times as long as a change takes to reach a ReplicaSet nothing must happen before a scenario is at rest."""
_PASSING_SECONDS: Final = 0.1
_MIRROR_SECONDS: Final = 1800.0


class Mirror:
    """The objects of a real cluster by kind and key, and when something of a namespace, or a node, was written last."""

    def __init__(self, plane: ControlPlane) -> None:
        self.client = plane.admin
        self._objects: dict[str, dict[tuple[str, str], Document]] = {kind: {} for kind in (*KINDS, "Event")}
        self._written: dict[str, float] = {}
        self._lock = threading.Lock()
        for kind in self._objects:
            threading.Thread(target=self._follow, args=(kind,), daemon=True).start()
        self.pulse = Pulse(self.client, self.objects)

    def objects(self, kind: str) -> list[Document]:
        with self._lock:
            return list(self._objects[kind].values())

    def last_write(self, place: str) -> float:
        with self._lock:
            return self._written.get(place, 0.0)

    def _follow(self, kind: str) -> None:
        try:
            for what, obj in self.client.watch(kind, timeout=_MIRROR_SECONDS):
                self._take_in(kind, what, obj)
        except (OSError, ValueError, http.client.HTTPException, ServerRefusal):
            return  # The control plane has ended, and with it the tests.

    def _take_in(self, kind: str, what: str, obj: Document) -> None:
        meta = obj["metadata"]
        place = meta.get("namespace") or meta["name"]
        with self._lock:
            if what == "DELETED":
                self._objects[kind].pop((place, meta["name"]), None)
            else:
                self._objects[kind][place, meta["name"]] = obj
            self._written[place] = time.monotonic()


class RealSide:
    """Implements `running.Side`."""

    def __init__(self, scenario: Scenario, mirror: Mirror) -> None:
        self._scenario = scenario
        self._mirror = mirror
        self._client: KubeClient = mirror.client
        self._last_own_write = 0.0
        self._places = [scenario.namespace, *(f"{scenario.name}-{name}" for name in scenario.nodes)]

    def create(self, document: Document) -> Document:
        try:
            if document["kind"] == "Node":
                [created] = self._client.create_nodes(document)
            else:
                created = self._client.create(document)
        except ServerRefusal as error:
            raise Refused(str(error.status.get("message", ""))) from None
        self._wrote()
        return created

    def replace(self, document: Document, subresource: str = "") -> Document:
        """Onto whatever version there is: somebody else may have written meanwhile."""
        current = {**document, "metadata": {**document["metadata"], "resourceVersion": ""}}
        stored = self._client.replace(current, subresource)
        self._wrote()
        return stored

    def delete(self, kind: str, name: str, propagation: str | None, grace_seconds: int | None = None) -> None:
        options: Document = {}
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            self._client.request("DELETE", self._client.path(kind, name, self._scenario.namespace), options)
        except ServerRefusal as error:
            if error.code != 404 or grace_seconds != 0:
                raise
        self._wrote()

    def bind(self, pod: str, node: str) -> None:
        self._client.bind(pod, node, self._scenario.namespace)
        self._wrote()

    def objects(self, kind: str) -> Sequence[Document]:
        found = self._mirror.objects(kind)
        if kind == "Node":
            return [obj for obj in found if obj["metadata"]["name"] in self._places]
        if kind == "Namespace":
            return [obj for obj in found if obj["metadata"]["name"] == self._scenario.namespace]
        return [obj for obj in found if obj["metadata"]["namespace"] == self._scenario.namespace]

    def events(self) -> Sequence[Document]:
        return [_event(found) for found in self._mirror.objects("Event") if self._is_ours(found["involvedObject"])]

    def now(self) -> float:
        return time.time()

    def rest(self, seconds: float) -> None:
        """Longer where controllers take long to notice anything."""
        while time.monotonic() - self._last_write() < max(seconds, _PULSES * self._mirror.pulse.seconds()):
            time.sleep(_INTERVAL)

    def pass_time(self) -> None:
        time.sleep(_PASSING_SECONDS)

    def _is_ours(self, regarded: Document) -> bool:
        if regarded["kind"] in _CLUSTER_WIDE:
            return regarded["name"] in self._places
        return bool(regarded.get("namespace") == self._scenario.namespace)

    def _last_write(self) -> float:
        return max(self._last_own_write, *(self._mirror.last_write(place) for place in self._places))

    def _wrote(self) -> None:
        self._last_own_write = time.monotonic()


def _event(event: Document) -> dict[str, Any]:
    regarded = event["involvedObject"]
    return {
        "type": event["type"],
        "reason": event["reason"],
        "message": event["message"],
        "kind": regarded["kind"],
        "name": regarded["name"],
    }
