# SPDX-License-Identifier: Apache-2.0
"""Sees pods get their nodes: a watch in a thread of its own that decodes next to nothing."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress
from typing import Final

import msgspec

from steersman.testing.control_plane import KubeClient

_STALLED_SECONDS: Final = 60.0


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = _Spec()


class _Event(msgspec.Struct):
    object: _Pod


class Stalled(RuntimeError):
    """Nothing has been scheduled for a long time, and pods are left."""


class Bindings:
    """The moments at which the pods of one namespace were seen with a node for the first time."""

    def __init__(self, client: KubeClient, namespace: str, expected: int) -> None:
        self._client = client
        self._namespace = namespace
        self._expected = expected
        self._version = client.list_document("Pod", namespace)["metadata"]["resourceVersion"]
        self.moments: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def wait_first(self) -> float:
        """When the first pod had its node."""
        deadline = time.monotonic() + _STALLED_SECONDS
        while not self.moments:
            if time.monotonic() > deadline:
                raise Stalled(f"no pod was scheduled within {_STALLED_SECONDS:g} s")
            time.sleep(0.002)
        return self.moments[0]

    def wait_all(self) -> None:
        seen = -1
        while not self._done.wait(_STALLED_SECONDS):
            if len(self.moments) == seen:
                raise Stalled(
                    f"{seen} of {self._expected} pods were scheduled, and then none for {_STALLED_SECONDS:g} s"
                )
            seen = len(self.moments)

    def _watch(self) -> None:
        """The server ends the watch of a reader that is slow for a moment; the next one goes on where it ended."""
        bound: set[str] = set()
        while len(bound) < self._expected:
            with suppress(http.client.HTTPException, OSError):
                self._follow(bound)
        self._done.set()

    def _follow(self, bound: set[str]) -> None:
        for line in self._client.watch_lines("Pod", self._namespace, resource_version=self._version, timeout=600):
            pod = msgspec.json.decode(line, type=_Event).object
            self._version = pod.metadata.resource_version
            if pod.spec.node_name and pod.metadata.name not in bound:
                bound.add(pod.metadata.name)
                self.moments.append(time.monotonic())
                if len(bound) == self._expected:
                    return
