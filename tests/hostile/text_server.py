# SPDX-License-Identifier: Apache-2.0
"""An API server in the same process that lists and shows texts, whatever they are, and grants every write."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator

from tests.client.following import until

from steersman import api
from steersman.kube.client import paths
from steersman.kube.client.errors import ConnectionFailed
from steersman.kube.client.invalid_objects import Unreadable
from steersman.kube.client.requests import JSON, NO_QUERY, Query, Request, Response

GONE = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}'


class TextServer:
    """A `Transport`."""

    def __init__(self) -> None:
        #: By path and key, what there is.
        self.texts: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        #: Pods that were bound, with their nodes.
        self.bound: dict[str, str] = {}
        self._lines: defaultdict[str, asyncio.Queue[bytes]] = defaultdict(asyncio.Queue)
        self._watches: Counter[str] = Counter()
        self._version = 1000

    # -- what happens ------------------------------------------------------------------------------------------------

    def put(self, kind: type[api.Object], text: bytes) -> None:
        """The next list has it."""
        self.texts[paths.collection(kind)][Unreadable.from_text(text, kind, "").identity.key] = self._versioned(text)

    async def show(self, kind: type[api.Object], change: str, text: bytes) -> None:
        """As a line of the watch, which is read when this returns."""
        path, key = paths.collection(kind), Unreadable.from_text(text, kind, "").identity.key
        text = self._versioned(text)
        if change == "DELETED":
            self.texts[path].pop(key, None)
        else:
            self.texts[path][key] = text
        await self._send(path, b'{"type": "%s", "object": %s}' % (change.encode(), text))

    async def list_again(self, kind: type[api.Object]) -> None:
        """The watch has expired; returns when the list is read."""
        path = paths.collection(kind)
        watches = self._watches[path]
        self._lines[path].put_nowait(GONE)
        await until(lambda: self._watches[path] > watches)

    async def _send(self, path: str, line: bytes) -> None:
        self._lines[path].put_nowait(line)
        await self._lines[path].join()

    def _versioned(self, text: bytes) -> bytes:
        self._version += 1
        return text.replace(b'"resourceVersion": "1"', b'"resourceVersion": "%d"' % self._version)

    # -- Transport ---------------------------------------------------------------------------------------------------

    async def request(self, request: Request, /) -> Response:
        path, body = request.path, request.body
        if request.is_read:
            items = b",".join(self.texts[path].values())
            return Response(200, b'{"metadata": {"resourceVersion": "1"}, "items": [%s]}' % items)
        if path.endswith("/binding"):
            await self._bind(path, body or b"")
        return Response(201, body if request.content_type == JSON and body else b"{}")

    async def _bind(self, path: str, body: bytes) -> None:
        namespace, _, name = path.split("/")[-4:-1]
        node = json.loads(body)["target"]["name"]
        self.bound[f"{namespace}/{name}"] = node
        found = self.texts[paths.collection(api.Pod)].get(f"{namespace}/{name}")
        if found is None:
            raise ConnectionFailed("there is no such pod", may_have_arrived=False)
        text = found.replace(b'"spec": {', b'"spec": {"nodeName": %s, ' % json.dumps(node).encode(), 1)
        self.texts[paths.collection(api.Pod)][f"{namespace}/{name}"] = text

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        self._watches[path] += 1
        lines = self._lines[path]
        while True:
            line = await lines.get()
            try:
                yield line
            finally:
                lines.task_done()
