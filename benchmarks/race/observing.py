# SPDX-License-Identifier: Apache-2.0
"""Sees pods appear and get their nodes: a watch in a thread of its own that decodes next to nothing."""

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


class PodMoments:
    """When pods were first seen, and first seen with a node, as the lines of one watch tell."""

    def __init__(self) -> None:
        #: By name, the first line about a pod. Pods that were there before the watch have none until they change.
        self.appeared: dict[str, float] = {}
        #: By name, the first line that shows a node.
        self.bound: dict[str, float] = {}
        #: The values of `bound`, in a list that one thread may read while another adds to it.
        self.bindings: list[float] = []

    def see(self, line: bytes, moment: float) -> str:
        """Takes a line of the watch; the resource version that it brings."""
        pod = msgspec.json.decode(line, type=_Event).object
        name = pod.metadata.name
        self.appeared.setdefault(name, moment)
        if pod.spec.node_name and name not in self.bound:
            self.bound[name] = moment
            self.bindings.append(moment)
        return pod.metadata.resource_version


class Bindings:
    """Follows the pods of one namespace until as many as expected have a node."""

    def __init__(self, client: KubeClient, namespace: str, expected: int) -> None:
        self._client = client
        self._namespace = namespace
        self._expected = expected
        self._version = client.list_document("Pod", namespace)["metadata"]["resourceVersion"]
        self.moments = PodMoments()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def wait_first(self) -> float:
        """When the first pod had its node."""
        deadline = time.monotonic() + _STALLED_SECONDS
        while not self.moments.bindings:
            if time.monotonic() > deadline:
                raise Stalled(f"no pod was scheduled within {_STALLED_SECONDS:g} s")
            time.sleep(0.002)
        return self.moments.bindings[0]

    def wait_all(self) -> None:
        seen = -1
        while not self._done.wait(_STALLED_SECONDS):
            bound = len(self.moments.bindings)
            if bound == seen:
                raise Stalled(
                    f"{seen} of {self._expected} pods were scheduled, and then none for {_STALLED_SECONDS:g} s"
                )
            seen = bound

    def _watch(self) -> None:
        """The server ends the watch of a reader that is slow for a moment; the next one goes on where it ended."""
        while len(self.moments.bindings) < self._expected:
            with suppress(http.client.HTTPException, OSError):
                self._follow()
        self._done.set()

    def _follow(self) -> None:
        for line in self._client.watch_lines("Pod", self._namespace, resource_version=self._version, timeout=600):
            self._version = self.moments.see(line, time.monotonic())
            if len(self.moments.bindings) == self._expected:
                return
