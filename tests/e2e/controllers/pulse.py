# SPDX-License-Identifier: Apache-2.0
"""How long kube-controller-manager takes, at the moment, to notice a change and to act on it.

A comparison waits until nothing has been written for a while. On a busy machine a controller may simply not have come to it
yet; so the while is several times as long as the last change of a Deployment took to reach its ReplicaSet and to come back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from steersman.testing.control_plane import KubeClient, ServerRefusal

NAMESPACE: Final = "pulse"
_BEATS: Final = 5
"""The slowest of the last so many counts."""
_PAUSE_SECONDS: Final = 0.2
_INTERVAL: Final = 0.02
_DEPLOYMENT: Final = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "pulse", "namespace": NAMESPACE},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "pulse"}},
        "template": {
            "metadata": {"labels": {"app": "pulse"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/pulse:1"}]},
        },
    },
}

Objects = Callable[[str], Sequence[dict[str, Any]]]


class Pulse:
    """Changes a Deployment over and over, in a thread, and measures. `objects` gives the objects of a kind as they were seen
    last, so that the delay of whoever follows the cluster is measured along."""

    def __init__(self, client: KubeClient, objects: Objects) -> None:
        self._client = client
        self._objects = objects
        self._last: list[float] = []
        self._began = time.monotonic()
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        client.create(_DEPLOYMENT)
        threading.Thread(target=self._beat, daemon=True).start()

    def seconds(self) -> float:
        """How long a change takes; if one takes longer than all before it, as long as it has taken so far."""
        return max([time.monotonic() - self._began, *self._last])

    def _beat(self) -> None:
        number = 0
        try:
            while True:
                number += 1
                self._began = time.monotonic()
                self._client.patch("Deployment", "pulse", {"spec": {"minReadySeconds": number}}, NAMESPACE)
                while not self._has_arrived(number):
                    time.sleep(_INTERVAL)
                self._last = [*self._last[1 - _BEATS :], time.monotonic() - self._began]
                self._rest()
        except (OSError, ServerRefusal):
            return  # The control plane has ended, and with it the tests.

    def _rest(self) -> None:
        """The time between two beats says nothing about controllers."""
        end = time.monotonic() + _PAUSE_SECONDS
        while time.monotonic() < end:
            self._began = time.monotonic()
            time.sleep(_INTERVAL)

    def _has_arrived(self, number: int) -> bool:
        """Both have seen their own change, and the Deployment's has become one of the ReplicaSet."""
        found = [*self._mine("Deployment"), *self._mine("ReplicaSet")]
        return len(found) == 2 and all(
            obj["spec"].get("minReadySeconds") == number
            and obj["status"].get("observedGeneration") == obj["metadata"]["generation"]
            for obj in found
        )

    def _mine(self, kind: str) -> list[dict[str, Any]]:
        return [obj for obj in self._objects(kind) if obj["metadata"]["namespace"] == NAMESPACE]
