# SPDX-License-Identifier: Apache-2.0
"""An extender that answers whatever a test wants, in threads of its own, for a scheduler in a process of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = bytes | Iterator[bytes] | None
"""A whole answer, one that comes in pieces (and need not end), or None: all nodes are good."""


class ExtenderServer:
    """Listens between `with` and its end."""

    def __init__(self) -> None:
        #: Given to every filter request; may be changed at any time.
        self.body: Body = None
        self.asked = 0
        self._server = _Listening(("127.0.0.1", 0), _Handler)
        self._server.extender = self
        self._thread = threading.Thread(target=self._server.serve_forever, name="extender", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def settings(self, **fields: Any) -> dict[str, Any]:
        """As a configuration has it."""
        return {"urlPrefix": self.url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "5s", **fields}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    extender: ExtenderServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A scheduler that hangs up on an endless answer does right."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listening

    def do_POST(self) -> None:
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        extender = self.server.extender
        extender.asked += 1
        body = extender.body
        if body is None:
            body = json.dumps({"NodeNames": args["NodeNames"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if isinstance(body, bytes):
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for piece in body:
            self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""
