# SPDX-License-Identifier: Apache-2.0
"""An API server that says whatever a test wants it to say: raw lists, raw watch lines, raw answers.

    with StubApiServer() as server:
        server.put(NODES, manifest(make_node("n1").capacity(cpu="4")))
        server.put_raw(CLAIMS, "default/deep", b'{"metadata": …')      # stored and sent as it is
        server.relist(PODS)                                            # open watches end with 410 Gone
        server.answer("PUT", LEASES, Canned(500, b"<html>"))           # instead of the true answer, until `answers` is cleared
        assert server.bindings() == {"default/web": "n1"}

It keeps what is put into it, binds pods, applies status patches as far as schedulers use them, hands out leases, allows
everybody everything, and remembers every request. It runs in threads of its own, so that tests stay synchronous.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

JsonObject = dict[str, Any]

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
NAMESPACES: Final = "/api/v1/namespaces"
CLAIMS: Final = "/apis/resource.k8s.io/v1/resourceclaims"
SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
DEVICE_CLASSES: Final = "/apis/resource.k8s.io/v1/deviceclasses"
BUDGETS: Final = "/apis/policy/v1/poddisruptionbudgets"
STORAGE_CLASSES: Final = "/apis/storage.k8s.io/v1/storageclasses"
LEASES: Final = "/apis/coordination.k8s.io/v1/leases"
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
AUTHENTICATION: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

ADMIN_TOKEN: Final = "admin"
"""The one token that a TokenReview accepts."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request, as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    #: Monotonic seconds, of this machine: comparable with the clocks of other processes on it.
    at: float

    def json(self) -> JsonObject:
        document: JsonObject = json.loads(self.body)
        return document


@dataclass(frozen=True, slots=True)
class Canned:
    """An answer that is sent instead of the true one; `delay` seconds after the request."""

    code: int = 200
    body: bytes = b"{}"
    delay: float = 0.0
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


Answering = Canned | Callable[[Received], Canned | None]
"""None: the true answer is given after all."""


@dataclass
class _Collection:
    """One resource of all namespaces: its objects as text by key, and what happened to them."""

    objects: dict[str, bytes] = field(default_factory=dict)
    history: list[tuple[int, bytes]] = field(default_factory=list)
    #: Watches from before this version end with 410 Gone.
    oldest: int = 0


class StubApiServer:
    """Listens between `with` and its end."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        #: By method ("" for all) and beginning of the path; the first that fits is given.
        self.answers: list[tuple[str, str, Answering]] = []
        self._collections: dict[str, _Collection] = {}
        self._version = 100
        self._changed = threading.Condition()
        self._closed = False
        self._server = _Listening(("127.0.0.1", 0), _Handler, self)
        self._thread = threading.Thread(target=self._server.serve_forever, name="stub API server", daemon=True)

    # -- for tests ---------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, folder: Path) -> Path:
        """A file that leads here."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stub", "cluster": {"server": self.url}}],
            "users": [{"name": "scheduler", "user": {}}],
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "scheduler"}}],
            "current-context": "stub",
        }
        file = folder / "stub.kubeconfig"
        file.write_text(json.dumps(config))
        return file

    def put(self, collection: str, obj: JsonObject) -> None:
        """Creates or replaces an object; the server fills in uid, namespace, times and version."""
        with self._changed:
            meta = obj.setdefault("metadata", {})
            if collection not in (NODES, NAMESPACES, SLICES, DEVICE_CLASSES, STORAGE_CLASSES):
                meta.setdefault("namespace", "default")
            meta.setdefault("uid", f"uid-{_key(obj)}")
            meta.setdefault("creationTimestamp", "2030-01-01T00:00:00Z")
            self._store(collection, obj)

    def put_raw(self, collection: str, key: str, text: bytes) -> None:
        """Stores and sends the text as it is; `key` is the object's namespace/name, or name. `%(version)s` in it becomes the
        resource version."""
        with self._changed:
            self._version += 1
            text = text.replace(b"%(version)s", str(self._version).encode())
            self._store_text(collection, key, text)

    def delete(self, collection: str, key: str) -> None:
        with self._changed:
            self._remove(collection, key)

    def send(self, collection: str, line: bytes) -> None:
        """A line to everybody who watches, now or from an earlier version, whatever it says."""
        with self._changed:
            self._version += 1
            self._of(collection).history.append((self._version, line))
            self._changed.notify_all()

    def relist(self, collection: str) -> None:
        """Everybody who watches is told that their version is too old, and lists again."""
        with self._changed:
            self._version += 1
            self._of(collection).oldest = self._version
            self._changed.notify_all()

    def answer(self, method: str, path: str, answering: Answering) -> None:
        self.answers.insert(0, (method, path, answering))

    def object(self, collection: str, key: str) -> JsonObject:
        with self._changed:
            found: JsonObject = json.loads(self._of(collection).objects[key])
        return found

    def bindings(self) -> dict[str, str]:
        """Nodes by pod, of all binding requests; of several for one pod the last."""
        posted = [request for request in self.received("POST") if request.path.endswith("/binding")]
        return {_pod_of(request.path): request.json()["target"]["name"] for request in posted}

    def conditions(self, pod: str) -> dict[str, JsonObject]:
        """Conditions of a pod (namespace/name) by type."""
        found = self.object(PODS, pod).get("status", {}).get("conditions", [])
        return {condition["type"]: condition for condition in found}

    def received(self, method: str = "", path: str = "") -> list[Received]:
        """Requests of a method whose path begins so."""
        return [one for one in list(self.requests) if one.method.startswith(method) and one.path.startswith(path)]

    def writes(self) -> list[Received]:
        """Everything but reading, leases and reviews."""
        reviewing = (TOKEN_REVIEWS, ACCESS_REVIEWS)
        return [
            one
            for one in list(self.requests)
            if one.method != "GET" and one.path not in reviewing and "/leases" not in one.path
        ]

    # -- for the handler ---------------------------------------------------------------------------------------------

    def canned(self, request: Received) -> Canned | None:
        for method, path, answering in list(self.answers):
            if request.method.startswith(method) and request.path.startswith(path):
                given = answering(request) if callable(answering) else answering
                if given is not None:
                    return given
        return None

    def true_answer(self, request: Received) -> tuple[int, bytes]:
        if request.path == TOKEN_REVIEWS:
            return 201, _token_review(request.json())
        if request.path == ACCESS_REVIEWS:
            return 201, b'{"status": {"allowed": true}}'
        collection, key, subresource = _parts(request.path)
        with self._changed:
            return self._answer(request, collection, key, subresource)

    def watched(self, request: Received) -> Iterator[bytes]:
        """Lines, until the client's time is up or the server closes."""
        collection = self._of(request.path)
        at, end = int(request.query.get("resourceVersion") or 0), time.monotonic() + 300
        while time.monotonic() < end:
            with self._changed:
                if self._closed:
                    return
                if at < collection.oldest:
                    yield _GONE
                    return
                lines = [(version, line) for version, line in collection.history if version > at]
                if not lines:
                    self._changed.wait(1.0)
                    continue
            for version, line in lines:
                yield line
                at = version

    def _answer(self, request: Received, collection: str, key: str, subresource: str) -> tuple[int, bytes]:
        if not key:
            return self._create(request, collection) if request.method == "POST" else (200, self._list(collection))
        if subresource == "binding":
            return self._bind(request, collection, key)
        found = self._of(collection).objects.get(key)
        if found is None:
            return 404, _status(404, "NotFound", f"{key} not found")
        if request.method == "DELETE":
            self._remove(collection, key)
        elif request.method == "PUT":
            return self._replace(request, collection, key)
        elif request.method == "PATCH":
            return 200, self._store(collection, _merged(json.loads(found), request.json()))
        return 200, found

    def _list(self, collection: str) -> bytes:
        head = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[' % self._version
        return head + b",".join(self._of(collection).objects.values()) + b"]}"

    def _create(self, request: Received, collection: str) -> tuple[int, bytes]:
        obj = request.json()
        meta = obj.setdefault("metadata", {})
        meta.setdefault("name", f"{meta.get('generateName', 'unnamed-')}{self._version}")
        if _key(obj) in self._of(collection).objects:
            return 409, _status(409, "AlreadyExists", f"{_key(obj)} exists")
        return 201, self._store(collection, obj)

    def _bind(self, request: Received, collection: str, key: str) -> tuple[int, bytes]:
        pod = json.loads(self._of(collection).objects[key])
        if pod["spec"].get("nodeName"):
            return 409, _status(409, "Conflict", f"pod {key} is already assigned to node {pod['spec']['nodeName']}")
        pod["spec"]["nodeName"] = request.json()["target"]["name"]
        self._store(collection, pod)
        return 201, b'{"kind": "Status", "status": "Success", "code": 201}'

    def _replace(self, request: Received, collection: str, key: str) -> tuple[int, bytes]:
        stored, sent = json.loads(self._of(collection).objects[key]), request.json()
        expected = sent["metadata"].get("resourceVersion")
        if expected and expected != stored["metadata"]["resourceVersion"]:
            return 409, _status(409, "Conflict", "the object has been modified")
        return 200, self._store(collection, sent)

    def _store(self, collection: str, obj: JsonObject) -> bytes:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        text = json.dumps(obj).encode()
        self._store_text(collection, _key(obj), text)
        return text

    def _store_text(self, collection: str, key: str, text: bytes) -> None:
        known = self._of(collection)
        kind = b"MODIFIED" if key in known.objects else b"ADDED"
        known.objects[key] = text
        known.history.append((self._version, b'{"type":"%s","object":%s}\n' % (kind, text)))
        self._changed.notify_all()

    def _remove(self, collection: str, key: str) -> None:
        known = self._of(collection)
        self._version += 1
        text = known.objects.pop(key)
        known.history.append((self._version, b'{"type":"DELETED","object":%s}\n' % text))
        self._changed.notify_all()

    def _of(self, collection: str) -> _Collection:
        return self._collections.setdefault(collection, _Collection())


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], stub: StubApiServer) -> None:
        super().__init__(address, handler)
        self.stub = stub

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are none of the tests' business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listening

    def do_GET(self) -> None:
        stub, split = self.server.stub, urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(split.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Received(self.command, split.path, query, body, time.monotonic())
        stub.requests.append(request)
        canned = stub.canned(request)
        if canned is not None:
            time.sleep(canned.delay)
            self._send(canned.code, canned.body, dict(canned.headers))
        elif query.get("watch") == "true":
            self._stream(stub.watched(request))
        else:
            self._send(*stub.true_answer(request), {"Content-Type": "application/json"})

    do_POST = do_GET  # noqa: N815 - the names are http.server's
    do_PUT = do_GET  # noqa: N815
    do_PATCH = do_GET  # noqa: N815
    do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """The tests remember requests themselves."""

    def _send(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, lines: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")


_GONE: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


def _parts(path: str) -> tuple[str, str, str]:
    """Collection over all namespaces, key and subresource of a path."""
    words = path.strip("/").split("/")
    root, rest = (words[:2], words[2:]) if words[0] == "api" else (words[:3], words[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    collection = "/" + "/".join([*root, rest[0]])
    name, subresource = [*rest[1:], "", ""][:2]
    return collection, f"{namespace}/{name}" if namespace and name else name, subresource


def _key(obj: JsonObject) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]


def _pod_of(path: str) -> str:
    return _parts(path)[1]


def _merged(stored: JsonObject, patch: JsonObject) -> JsonObject:
    """Maps are merged, conditions by their type, everything else is replaced; null takes away."""
    for name, value in patch.items():
        if value is None:
            stored.pop(name, None)
        elif name == "conditions":
            kept = {one["type"]: one for one in stored.get(name, [])}
            for condition in value:
                kept[condition["type"]] = {**kept.get(condition["type"], {}), **condition}
            stored[name] = list(kept.values())
        elif isinstance(value, dict):
            stored[name] = _merged(stored.get(name) or {}, value)
        elif not name.startswith("$"):
            stored[name] = value
    return stored


def _token_review(review: JsonObject) -> bytes:
    if review["spec"]["token"] != ADMIN_TOKEN:
        return b'{"status": {"authenticated": false}}'
    return b'{"status": {"authenticated": true, "user": {"username": "admin", "groups": ["system:masters"]}}}'


def _status(code: int, reason: str, message: str) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return json.dumps({**status, "reason": reason, "message": message}).encode()
