# SPDX-License-Identifier: Apache-2.0
"""Synchronous client of a real API server for tests; objects are plain dicts.

A kind is `Pod`, or `events.k8s.io/Event` if the name is ambiguous. Thread-safe.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Self, TypeAlias, TypeVar
from urllib.parse import urlencode

import msgspec

from steersman.api import DEFAULT_NAMESPACE
from steersman.testing.control_plane import connections
from steersman.testing.control_plane.component import wait_until
from steersman.testing.control_plane.connections import Connections, ServerRefusal, tls_context
from steersman.testing.control_plane.credentials import Identity
from steersman.testing.control_plane.manifests import JsonObject

T = TypeVar("T")
Objects: TypeAlias = list[JsonObject]

PATCH_TYPES: Final = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
CONNECTIONS: Final = 6
"""Concurrent requests of calls for many objects; more are not faster on small machines."""
_CHUNK_BYTES: Final = 1 << 16
_NOT_READY: Final = "node.kubernetes.io/not-ready"


class ServerResponse(msgspec.Struct, frozen=True):
    """A response with any status."""

    status: int
    body: bytes
    #: Names in lower case.
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class KubeClient:
    """A client with a client certificate."""

    def __init__(self, url: str, *, ca: bytes, identity: Identity) -> None:
        self._connections = Connections(url, tls_context(ca, identity))
        self._known: connections.Resources | None = None

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading.

    def get(self, kind: str, name: str, namespace: str = DEFAULT_NAMESPACE) -> JsonObject:
        return self.request("GET", self.path(kind, name, namespace))

    def find(self, kind: str, name: str, namespace: str = DEFAULT_NAMESPACE) -> JsonObject | None:
        """Return the object, or None if it does not exist."""
        try:
            return self.get(kind, name, namespace)
        except ServerRefusal as error:
            if error.code != 404:
                raise
            return None

    def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> Objects:
        """Return the objects of one or all namespaces that match the selectors."""
        items: Objects = self.list_document(kind, namespace, labels=labels, fields=fields)["items"]
        return items

    def list_document(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> JsonObject:
        """Return the list with its resourceVersion, from which to watch."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        return self.request("GET", self.path(kind, "", namespace), query=query)

    def watch(
        self, kind: str, namespace: str = "", *, resource_version: str = "", timeout: float = 300.0
    ) -> Iterator[tuple[str, JsonObject]]:
        """Yield (event type, object) over a new connection until the watch or timeout ends."""
        for line in self.watch_lines(kind, namespace, resource_version=resource_version, timeout=timeout):
            event = msgspec.json.decode(line)
            yield event["type"], event["object"]

    def watch_lines(
        self, kind: str, namespace: str = "", *, resource_version: str = "", timeout: float = 300.0
    ) -> Iterator[bytes]:
        """Yield the undecoded lines of a watch."""
        query = {"watch": "1", "resourceVersion": resource_version, "timeoutSeconds": str(int(timeout))}
        connection = self._connections.new(timeout + 5)
        try:
            path = _with_query(self.path(kind, "", namespace), query)
            connection.request("GET", path)
            response = connection.getresponse()
            if response.status != 200:
                raise _refused("GET", path, ServerResponse(response.status, response.read()))
            yield from _lines(response)
        finally:
            connection.close()

    # Writing.

    def create(self, obj: JsonObject, *, query: Mapping[str, str] | None = None) -> JsonObject:
        return self.request("POST", self._path_of(obj), obj, query=query)

    def create_many(self, objects: Sequence[JsonObject], connections: int = CONNECTIONS) -> Objects:
        """Create objects over several connections, in undefined order."""
        return self._each(self.create, objects, connections)

    def create_nodes(self, *nodes: JsonObject, connections: int = CONNECTIONS) -> Objects:
        """Create nodes with their status and without the not-ready taint of admission."""
        return self._each(self._create_node, nodes, connections)

    def create_with_status(self, obj: JsonObject) -> JsonObject:
        """Create an object with a status that creation ignores, such as a PodDisruptionBudget."""
        self.create(obj)
        path = self._path_of(obj, obj["metadata"]["name"], "status")
        return self.request("PATCH", path, {"status": obj["status"]})

    def replace(self, obj: JsonObject, subresource: str = "") -> JsonObject:
        return self.request("PUT", self._path_of(obj, obj["metadata"]["name"], subresource), obj)

    def patch(
        self,
        kind: str,
        name: str,
        change: object,
        namespace: str = DEFAULT_NAMESPACE,
        *,
        subresource: str = "",
        form: str = "merge",
    ) -> JsonObject:
        """Patch an object; `form` is merge, strategic or json."""
        path = self.path(kind, name, namespace, subresource)
        return self.request("PATCH", path, change, content_type=PATCH_TYPES[form])

    def apply(self, obj: JsonObject, *, manager: str = "steersman-testing") -> JsonObject:
        """Apply server-side; unknown fields are errors."""
        query = {"fieldManager": manager, "fieldValidation": "Strict", "force": "true"}
        path = self._path_of(obj, obj["metadata"]["name"])
        return self.request("PATCH", path, obj, query=query, content_type=PATCH_TYPES["apply"])

    def delete(self, kind: str, name: str, namespace: str = DEFAULT_NAMESPACE, *, grace_seconds: int = 0) -> None:
        self.request("DELETE", self.path(kind, name, namespace), {"gracePeriodSeconds": grace_seconds})

    def delete_all(self, kind: str, namespace: str = "", *, labels: str = "") -> None:
        """Delete all objects of a kind, in one namespace or all."""
        if not namespace and self._resources.find(kind).namespaced:
            for found in {item["metadata"]["namespace"] for item in self.list(kind, labels=labels)}:
                self.delete_all(kind, found, labels=labels)
            return
        query = {"labelSelector": labels}
        self.request("DELETE", self.path(kind, "", namespace), {"gracePeriodSeconds": 0}, query=query)

    def bind(self, pod: str, node: str, namespace: str = DEFAULT_NAMESPACE) -> None:
        """Bind a pod, like a scheduler."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self.request("POST", self.path("Pod", pod, namespace, "binding"), body)

    def token(self, service_account: str, namespace: str = DEFAULT_NAMESPACE) -> str:
        """Return a bearer token for an existing service account."""
        path = self.path("ServiceAccount", service_account, namespace, "token")
        answer = self.request(
            "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        )
        token: str = answer["status"]["token"]
        return token

    # Waiting.

    def wait_until(self, condition: Callable[[], T], timeout: float = 30.0, *, what: str = "") -> T:
        return wait_until(condition, timeout, what=what)

    # Requests of any kind.

    def serves(self, kind: str) -> bool:
        """Return whether the API server serves the kind."""
        return kind in self._resources

    def path(self, kind: str, name: str = "", namespace: str = "", subresource: str = "") -> str:
        return self._resources.find(kind).path(namespace, name, subresource)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "",
    ) -> JsonObject:
        """Return the decoded answer. Raise `ServerRefusal` for a status outside 2xx."""
        content_type = content_type or (PATCH_TYPES["merge"] if method == "PATCH" else "application/json")
        headers = {"Content-Type": content_type}
        answer = self.raw(method, _with_query(path, query), body, headers=headers)
        if not 200 <= answer.status < 300:
            raise _refused(method, path, answer)
        decoded: JsonObject = answer.json()
        return decoded

    def raw(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> ServerResponse:
        """Send a request and return the response, whatever its status."""
        data = None if body is None else msgspec.json.encode(body)
        with self._connections.borrow() as connection:
            connection.request(method, path, data, dict(headers or {}))
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return ServerResponse(response.status, response.read(), headers)

    @property
    def _resources(self) -> connections.Resources:
        if self._known is None:
            headers = {"Accept": connections.ACCEPT}
            answers = [self.raw("GET", path, headers=headers) for path in ("/api", "/apis")]
            for path, answer in zip(("/api", "/apis"), answers, strict=True):
                if answer.status != 200:
                    raise _refused("GET", path, answer)
            self._known = connections.Resources.read(answer.json() for answer in answers)
        return self._known

    def _path_of(self, obj: JsonObject, name: str = "", subresource: str = "") -> str:
        namespace = obj["metadata"].get("namespace", DEFAULT_NAMESPACE)
        return self._resources.resource_of(obj).path(namespace, name, subresource)

    def _create_node(self, node: JsonObject) -> JsonObject:
        created = self.create(node)
        taints = [taint for taint in created["spec"].get("taints", ()) if taint["key"] != _NOT_READY]
        return self.patch("Node", created["metadata"]["name"], {"spec": {"taints": taints}})

    def _each(
        self, act: Callable[[JsonObject], JsonObject], objects: Sequence[JsonObject], connections: int
    ) -> Objects:
        if len(objects) <= 1:
            return [act(obj) for obj in objects]
        self._resources  # noqa: B018 asked once, before threads would all ask
        with ThreadPoolExecutor(min(connections, len(objects))) as pool:
            return list(pool.map(act, objects))


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield complete lines; `HTTPResponse.readline` may block although it has one."""
    rest = b""
    while chunk := response.read1(_CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _with_query(path: str, query: Mapping[str, str] | None) -> str:
    given = {key: value for key, value in (query or {}).items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def _refused(method: str, path: str, answer: ServerResponse) -> ServerRefusal:
    try:
        status = answer.json()
    except msgspec.DecodeError:
        status = {"message": answer.body.decode(errors="replace")}
    return ServerRefusal(method, path, answer.status, status if isinstance(status, dict) else {})
