# SPDX-License-Identifier: Apache-2.0
"""An API server that only answers: lists and watches over HTTP/1.1, POSTs over HTTP/2, both with TLS, as kube-apiserver speaks.

Nothing is checked or stored but what a scheduler needs to go on: nodes, pods that come, and their bindings, which the watch of
pods tells again.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from steersman.testing.control_plane.credentials import Authority

HOST: Final = "127.0.0.1"
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME: Final = struct.Struct(">HBBBI")
_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4
_MOST_ROOM: Final = (1 << 31) - 1 - 65535
_CREATED: Final = b"\x0e\x82\x10\x03"
"""`:status: 201`, as Go's servers write it."""
_DONE: Final = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}\n'
_BROKEN: Final = b"\x48\x03500"
"""`:status: 500`."""
_NOT_DONE: Final = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"InternalError","code":500}\n'
)

OnBound = Callable[[str], None]


class StubCluster:
    """The objects that are served, and who watches pods."""

    def __init__(
        self, nodes: Sequence[dict[str, Any]], on_bound: OnBound, is_refused: Callable[[str], bool] = lambda name: False
    ) -> None:
        """`on_bound` is told the name of each pod that was bound; `is_refused` is asked whether it is."""
        self.is_refused = is_refused
        self._nodes = [json.dumps(node, separators=(",", ":")) for node in nodes]
        self._pods: dict[str, str] = {}
        self._on_bound = on_bound
        self._version = 1
        self._watches: list[asyncio.StreamWriter] = []

    @property
    def is_watched(self) -> bool:
        """Whether somebody watches pods."""
        return bool(self._watches)

    def add_pods(self, pods: Iterable[dict[str, Any]]) -> None:
        lines = []
        for pod in pods:
            text = self._pods[pod["metadata"]["name"]] = json.dumps(self._versioned(pod), separators=(",", ":"))
            lines.append(f'{{"type":"ADDED","object":{text}}}\n')
        self._tell("".join(lines))

    def bind(self, name: str, node: str) -> None:
        pod = self._versioned(json.loads(self._pods.pop(name)))
        pod["spec"]["nodeName"] = node
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
        self._tell(f'{{"type":"MODIFIED","object":{json.dumps(pod, separators=(",", ":"))}}}\n')
        self._on_bound(name)

    def list_of(self, path: str) -> bytes:
        items = self._nodes if path == "/api/v1/nodes" else []
        return f'{{"kind":"List","metadata":{{"resourceVersion":"1"}},"items":[{",".join(items)}]}}'.encode()

    @contextmanager
    def watched(self, path: str, writer: asyncio.StreamWriter) -> Iterator[None]:
        """Tells the writer of changes in the block. Only pods ever change."""
        if path != "/api/v1/pods":
            yield
            return
        self._watches.append(writer)
        try:
            yield
        finally:
            self._watches.remove(writer)

    def _versioned(self, pod: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        return {**pod, "metadata": {**pod["metadata"], "resourceVersion": str(self._version)}}

    def _tell(self, lines: str) -> None:
        data = lines.encode()
        for writer in self._watches if data else ():  # an empty chunk would end the answer
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))


class _Connection:
    """One connection: requests of HTTP/1.1, or frames of HTTP/2."""

    def __init__(self, cluster: StubCluster, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._cluster = cluster
        self._reader = reader
        self._writer = writer

    async def serve(self) -> None:
        tls = cast(ssl.SSLObject, self._writer.get_extra_info("ssl_object"))
        try:
            await (self._serve_frames() if tls.selected_alpn_protocol() == "h2" else self._serve_requests())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the scheduler has ended
        finally:
            self._writer.close()

    async def _serve_requests(self) -> None:
        while True:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            target = urlsplit(head.split(" ", 2)[1])
            if "watch" in parse_qs(target.query):
                self._writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                with self._cluster.watched(target.path, self._writer):
                    await self._reader.read()
                return
            body = self._cluster.list_of(target.path)
            found = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            self._writer.write(found % (len(body), body))

    async def _serve_frames(self) -> None:
        if await self._reader.readexactly(len(_PREFACE)) != _PREFACE:
            raise ConnectionError("this is not HTTP/2")
        self._writer.write(_frame(_SETTINGS, 0, 0, b"") + _frame(_WINDOW_UPDATE, 0, 0, _MOST_ROOM.to_bytes(4, "big")))
        while True:
            high, low, kind, flags, stream = _FRAME.unpack(await self._reader.readexactly(_FRAME.size))
            payload = await self._reader.readexactly(high << 8 | low)
            if kind == _DATA and flags & _END_STREAM:
                self._post(stream, payload)
            elif kind in (_SETTINGS, _PING) and not flags & _ACK:
                self._writer.write(_frame(kind, _ACK, 0, payload if kind == _PING else b""))

    def _post(self, stream: int, body: bytes) -> None:
        posted = json.loads(body)
        name = posted["metadata"]["name"] if posted["kind"] == "Binding" else ""
        is_refused = bool(name) and self._cluster.is_refused(name)
        head, answer = (_BROKEN, _NOT_DONE) if is_refused else (_CREATED, _DONE)
        self._writer.write(_frame(_HEADERS, _END_HEADERS, stream, head) + _frame(_DATA, _END_STREAM, stream, answer))
        if name and not is_refused:
            self._cluster.bind(name, posted["target"]["name"])


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream) + payload


@asynccontextmanager
async def served(cluster: StubCluster, folder: Path) -> AsyncIterator[Path]:
    """Serves the cluster, and gives the kubeconfig of a scheduler; its files are in the folder."""
    authority = Authority()
    certificate, key = authority.server(HOST).write(folder, "server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.set_alpn_protocols(["h2", "http/1.1"])
    (folder / "ca.crt").write_bytes(authority.certificate)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _Connection(cluster, reader, writer).serve()

    async with await asyncio.start_server(connected, HOST, 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(f"https://{HOST}:{port}", folder / "ca.crt")))
        yield kubeconfig


def _kubeconfig(server: str, authority: Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stub", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": "scheduler", "user": {"token": "of-no-importance"}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "scheduler"}}],
        "current-context": "stub",
    }
