# SPDX-License-Identifier: Apache-2.0
"""Where pods went, as a watch of the test's own saw it: apart from the scheduler, and from what the log says."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from steersman.testing.control_plane import ControlPlane, JsonObject, ServerRefusal

WATCH_SECONDS: Final = 1.0
LOSSES: Final = (OSError, http.client.HTTPException, ServerRefusal)


class PodFollower:
    """Follows all pods, whatever happens to the server, from `with` to the end of the block."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client = plane.client("admin")
        #: By namespace/name, every node that a pod was seen on, in order.
        self.nodes: dict[str, list[str]] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="pod follower")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        self._client.close()

    @property
    def bound(self) -> int:
        """So many pods have been seen on a node."""
        return sum(map(bool, list(self.nodes.values())))

    def _follow(self) -> None:
        version = ""
        while not self._end.is_set():
            try:
                version = self._watch(version) if version else self._list()
            except LOSSES:
                version = ""
                time.sleep(0.1)

    def _list(self) -> str:
        document = self._client.list_document("Pod")
        for pod in document["items"]:
            self._see(pod)
        return str(document["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> str:
        """The version up to which all is known, "" when that is not known."""
        for kind, obj in self._client.watch("Pod", resource_version=version, timeout=WATCH_SECONDS):
            if kind == "ERROR":
                return ""
            version = obj["metadata"]["resourceVersion"]
            self._see(obj)
        return version

    def _see(self, pod: JsonObject) -> None:
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        seen = self.nodes.setdefault(name, [])
        node = pod["spec"].get("nodeName")
        if node and node not in seen[-1:]:
            seen.append(node)


def insistently(act: Callable[[JsonObject], Any]) -> Callable[[JsonObject], None]:
    """Creates an object although the server comes and goes."""

    def create(obj: JsonObject) -> None:
        while not _created(act, obj):
            time.sleep(0.1)

    return create


def _created(act: Callable[[JsonObject], Any], obj: JsonObject) -> bool:
    try:
        act(obj)
    except ServerRefusal as refusal:
        # A conflict: the answer to an earlier attempt was lost.
        if refusal.code < http.HTTPStatus.INTERNAL_SERVER_ERROR and refusal.code != http.HTTPStatus.CONFLICT:
            raise
        return refusal.code == http.HTTPStatus.CONFLICT
    except (OSError, http.client.HTTPException):
        return False
    return True
