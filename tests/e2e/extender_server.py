# SPDX-License-Identifier: Apache-2.0
"""A scheduler extender for tests: a real HTTP server that answers by the pod's label `ask` and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from steersman.testing.control_plane import JsonObject

Answer = JsonObject | list[JsonObject]
Verb = Callable[[JsonObject], Answer]


class ExtenderServer:
    """Serves the verbs it is given under their paths, from `with` to the end of the block."""

    def __init__(self, verbs: dict[str, Verb]) -> None:
        #: (path, body) of every request so far.
        self.requests: list[tuple[str, JsonObject]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.requests.append((self.path, body))
                answer = json.dumps(verbs[self.path](body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Quiet: the tests look at `requests`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
