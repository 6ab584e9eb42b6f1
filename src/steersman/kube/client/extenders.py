# SPDX-License-Identifier: Apache-2.0
"""HTTP extenders of the configuration, called by the cycle, preemption and the binding driver.

    PodInfo, nodes or victims ─► ExtenderArgs … (JSON) ─► POST {urlPrefix}/{verb} ─► answer (JSON) ─► nodes, scores or victims

Every call is one POST with a deadline and a limit for the response. Failures and malformed
responses are an `ExtenderError`. Passwords in URLs are never shown.

The JSON is that of `kube-scheduler/extender/v1`. Go writes these types with their Go names
(`NodeNames`) and reads them case-insensitively, so that extenders answer `nodeNames` or `nodenames`
as well.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urljoin

import msgspec

from steersman import api, config
from steersman.api import Container
from steersman.base import hide_passwords
from steersman.config import in_call_order, timeout
from steersman.framework import ExtenderError, ExtenderFilterOutcome, NodeVictims, PodInfo, PodsOn
from steersman.kube.client.auth.credentials import ClientCertificate
from steersman.kube.client.connection import load_certificate
from steersman.kube.client.errors import UnreadableAnswer
from steersman.kube.client.fence import LeaseNotHeld, WriteFence
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.list_watch import RawObjects
from steersman.kube.http.answers import HttpAnswer
from steersman.kube.http.client import HttpClient
from steersman.kube.http.connector import NotSent
from steersman.kube.http.url import Url

T = TypeVar("T")
_Shown = Callable[[api.Object], msgspec.Raw]
"""Serializes an object for an extender."""
_Fields = Mapping[str, Any]
"""The fields of a JSON object by name in lower case."""

BAD_CODE = "failed {verb} with extender at URL {url}, code {code}"
UNKNOWN_NODE = 'extender "{url}" claims a filtered node "{node}" which is not found in the input node list'
UNKNOWN_VICTIM = (
    "extender: {url} claims to preempt pod (UID: &{{{uid}}}) on node: {node}, but the pod is not found on that node"
)
NO_SUCH_NODE = 'nodeinfo not found for node name "{}"'
UNREADABLE = "cannot read the extender's answer: {}"
MAX_ANSWER_BYTES: Final = 16 << 20
"""Maximum bytes of an answer, plus four times the request, whose nodes it may repeat."""
MAX_REDIRECTS: Final = 10
_OK = 200
_REDIRECTS: Final = (307, 308)
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_JSON_TYPES: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number with a fraction",
}


class ExtenderTransport(Protocol):
    """Sends the requests of an extender's client; implemented by `HttpClient`."""

    async def request(
        self,
        method: str,
        target: str,
        timeout: float,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        longest_body: int = MAX_ANSWER_BYTES,
    ) -> HttpAnswer: ...


class HttpExtender:
    """`framework.extender.Extender` over HTTP. Connects on the first call; `close` disconnects."""

    def __init__(
        self,
        settings: config.Extender,
        raw_objects: RawObjects,
        fence: WriteFence | None = None,
        transport: ExtenderTransport | None = None,
    ) -> None:
        """`fence` restricts calls by which the extender acts: bind and preemption. `transport`
        replaces the HTTP connections."""
        self._settings = settings
        self._raw_objects = raw_objects
        self._fence = fence
        self._managed = {resource.name for resource in settings.managed_resources}
        self._tls = _tls_context(settings) if settings.url_prefix.startswith("https:") else None
        self._server_name = settings.tls_config.server_name if settings.tls_config is not None else ""
        #: Origin → client; redirects may lead to another origin.
        self._clients: dict[str, HttpClient] = {}
        self._transport = transport
        self._url = settings.url_prefix.rstrip("/")
        self.name = hide_passwords(settings.url_prefix)
        self.is_ignorable = settings.ignorable
        self.is_filter = bool(settings.filter_verb)
        self.is_prioritizer = bool(settings.prioritize_verb)
        self.is_binder = bool(settings.bind_verb)
        self.supports_preemption = bool(settings.preempt_verb)
        self.weight = settings.weight

    def is_interested(self, pod: PodInfo) -> bool:
        """Return whether the extender handles the pod: any pod, or one that uses its resources."""
        if not self._managed:
            return True
        spec = pod.pod.spec
        return any(self._manages(container) for container in (*spec.containers, *spec.init_containers))

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome:
        names_only = self._settings.node_cache_capable
        args = _node_args(pod, nodes, names_only, self._raw_objects.shown)
        answer = _answer_fields(await self._send(self._settings.filter_verb, args))
        _require_no_error(answer)
        left, has_node_objects = _nodes_left(answer, names_only)
        shown = {node.metadata.name for node in nodes}
        for name in left:
            if name not in shown:
                raise ExtenderError(UNKNOWN_NODE.format(url=self.name, node=name))
        return ExtenderFilterOutcome(
            tuple(left),
            _texts_by_name(answer.get("failednodes")),
            _texts_by_name(answer.get("failedandunresolvablenodes")),
            has_node_objects,
        )

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        args = _node_args(pod, nodes, self._settings.node_cache_capable, self._raw_objects.shown)
        return priorities(await self._send(self._settings.prioritize_verb, args))

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        answer = await self._send(self._settings.bind_verb, _binding_args(pod, node_name), self._fence)
        _require_no_error(_answer_fields(answer))

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        args = _preemption_args(pod, victims, self._settings.node_cache_capable, self._raw_objects.shown)
        answer = _answer_fields(await self._send(self._settings.preempt_verb, args, self._fence))
        chosen = _map_of(answer.get("nodenametometavictims"))
        return {node: self._victims(node, _fields_of(its), pods_on) for node, its in chosen.items()}

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    # -- internals ---------------------------------------------------------------------------------------------------

    def _manages(self, container: Container) -> bool:
        named = container.resources
        return not self._managed.isdisjoint((*named.requests, *named.limits))

    def _victims(self, node: str, its: _Fields, pods_on: PodsOn) -> NodeVictims:
        pods = pods_on(node)
        if pods is None:
            raise ExtenderError(NO_SUCH_NODE.format(node))
        by_uid = {pod.uid: pod for pod in pods}
        victims: list[PodInfo] = []
        for entry in _items_of(its.get("pods")):
            uid = _text_of(_fields_of(entry).get("uid"))
            if uid not in by_uid:
                raise ExtenderError(UNKNOWN_VICTIM.format(url=self.name, uid=uid, node=node))
            victims.append(by_uid[uid])
        return NodeVictims(tuple(victims), _number_of(its.get("numpdbviolations")))

    async def _send(self, verb: str, body: bytes, fence: WriteFence | None = None) -> bytes:
        shown = f"{self.name.rstrip('/')}/{verb}"
        seconds = self._seconds_for(shown, fence)
        try:
            answer = await self._answer(f"{self._url}/{verb}", body, seconds)
        except TimeoutError as cause:
            message = f'Post "{shown}": no answer within {timeout(self._settings)}'
            raise ExtenderError(message, may_have_acted=True) from cause
        except (OSError, ValueError) as cause:
            arrived = not isinstance(cause, NotSent | ValueError)
            raise ExtenderError(f'Post "{shown}": {hide_passwords(str(cause))}', may_have_acted=arrived) from cause
        if answer.status != _OK:
            raise ExtenderError(BAD_CODE.format(verb=verb, url=shown, code=answer.status))
        return answer.body

    async def _answer(self, url: str, body: bytes, seconds: float) -> HttpAnswer:
        """Send the POST and follow redirects that keep it. Raise ValueError for invalid URLs."""
        async with asyncio.timeout(seconds):
            for _ in range(MAX_REDIRECTS):
                parsed = Url.parse(url)
                headers = [("Content-Type", "application/json")]
                if parsed.user:
                    headers.append(("Authorization", parsed.basic_credentials))
                client, longest = self._transport or self._client(parsed), MAX_ANSWER_BYTES + 4 * len(body)
                answer = await client.request("POST", parsed.target, seconds, headers, body, longest)
                if answer.status not in _REDIRECTS or "location" not in answer.headers:
                    return answer
                url = urljoin(url, answer.headers["location"])
        raise OSError(f"stopped after {MAX_REDIRECTS} redirects")

    def _seconds_for(self, shown: str, fence: WriteFence | None) -> float:
        configured = timeout(self._settings).seconds
        if fence is None:
            return configured
        try:
            return min(configured, fence.seconds_for(f'Post "{shown}"'))
        except LeaseNotHeld as refusal:
            raise ExtenderError(str(refusal)) from refusal

    def _client(self, url: Url) -> HttpClient:
        client = self._clients.get(url.origin)
        if client is None:
            tls = (self._tls or ssl.create_default_context()) if url.is_tls else None
            client = self._clients[url.origin] = HttpClient(url, tls, server_name=self._server_name)
        return client


@asynccontextmanager
async def http_extenders(
    configuration: config.SchedulerConfiguration, raw_objects: RawObjects, fence: WriteFence | None = None
) -> AsyncIterator[tuple[HttpExtender, ...]]:
    """Yield the extenders of a configuration in call order: ignorable ones come last.

    They get raw objects where available. Raise `ExtenderError` if the certificates of one are
    invalid.
    """
    extenders = tuple(HttpExtender(settings, raw_objects, fence) for settings in in_call_order(configuration.extenders))
    try:
        yield extenders
    finally:
        for extender in extenders:
            await extender.close()


# -- TLS ---------------------------------------------------------------------------------------------------------------


def _tls_context(extender: config.Extender) -> ssl.SSLContext:
    """Return the TLS context of an extender.

    As upstream, an HTTPS extender without a certificate authority is not verified.
    """
    tls = extender.tls_config or config.ExtenderTLSConfig()
    try:
        context = ssl.create_default_context()
        if tls.ca_data or tls.ca_file:
            authority = tls.ca_data or Path(tls.ca_file).read_bytes()
            context = ssl.create_default_context(cadata=authority.decode("ascii"))
        elif tls.insecure or extender.enable_https:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load_certificate(context, tls)
    except (OSError, ValueError) as cause:
        raise ExtenderError(f"extender {hide_passwords(extender.url_prefix)}: cannot set up TLS: {cause}") from cause
    return context


def _load_certificate(context: ssl.SSLContext, tls: config.ExtenderTLSConfig) -> None:
    if not (tls.cert_data or tls.cert_file) or not (tls.key_data or tls.key_file):
        return
    certificate = tls.cert_data or Path(tls.cert_file).read_bytes()
    key = tls.key_data or Path(tls.key_file).read_bytes()
    load_certificate(context, ClientCertificate(certificate, key))


# -- requests ----------------------------------------------------------------------------------------------------------


def _node_args(pod: PodInfo, nodes: Sequence[api.Node], names_only: bool, shown: _Shown) -> bytes:
    """Return the ExtenderArgs of filter and prioritize."""
    names = [node.metadata.name for node in nodes]
    return _encode(
        {
            "Pod": shown(pod.pod),
            "Nodes": None if names_only else {"metadata": {}, "items": [shown(node) for node in nodes]},
            "NodeNames": names if names_only else None,
        }
    )


def _binding_args(pod: PodInfo, node_name: str) -> bytes:
    """Return the ExtenderBindingArgs."""
    meta = pod.pod.metadata
    return _encode({"PodName": meta.name, "PodNamespace": meta.namespace, "PodUID": meta.uid, "Node": node_name})


def _preemption_args(pod: PodInfo, victims: Mapping[str, NodeVictims], uids_only: bool, shown: _Shown) -> bytes:
    """Return the ExtenderPreemptionArgs."""
    by_node = {
        node: {
            "Pods": [{"UID": victim.uid} if uids_only else shown(victim.pod) for victim in its.pods],
            "NumPDBViolations": its.pdb_violations,
        }
        for node, its in victims.items()
    }
    return _encode(
        {
            "Pod": shown(pod.pod),
            "NodeNameToVictims": None if uids_only else by_node,
            "NodeNameToMetaVictims": by_node if uids_only else None,
        }
    )


def _encode(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)


# -- responses ---------------------------------------------------------------------------------------------------------


def _answer_fields(answer: bytes) -> _Fields:
    """Return the fields of an answer, a JSON object or null."""
    return _fields_of(_decode(answer))


def priorities(answer: bytes) -> dict[str, int]:
    """Return the scores of a HostPriorityList by node; repeated nodes are summed."""
    scores: dict[str, int] = {}
    for entry in map(_fields_of, _items_of(_decode(answer))):
        host = _text_of(entry.get("host"))
        scores[host] = scores.get(host, 0) + _number_of(entry.get("score"))
    return scores


def _require_no_error(answer: _Fields) -> None:
    text = _text_of(answer.get("error"))
    if text:
        raise ExtenderError(text)


def _nodes_left(answer: _Fields, names_only: bool) -> tuple[list[str], bool]:
    """Return the names of the remaining nodes, and whether the answer has them as objects.

    An extender that caches nodes may still answer with objects; a missing list is an empty one.
    """
    names = answer.get("nodenames")
    if names_only and names is not None:
        return [_text_of(name) for name in _items_of(names)], False
    nodes = _fields_of(answer.get("nodes"))
    metadata = (_fields_of(_fields_of(node).get("metadata")) for node in _items_of(nodes.get("items")))
    return [_text_of(its.get("name")) for its in metadata], True


# -- parts of a response; null counts as missing --------------------------------------------------------------------------


def _fields_of(value: object) -> _Fields:
    return {name.lower(): part for name, part in _map_of(value).items()}


def _map_of(value: object) -> Mapping[str, Any]:
    return {} if value is None else _require(value, dict)


def _items_of(value: object) -> Iterable[Any]:
    return () if value is None else _require(value, list)


def _text_of(value: object) -> str:
    return "" if value is None else _require(value, str)


def _number_of(value: object) -> int:
    """Return a 64-bit integer, as in Go."""
    number = 0 if value is None else _require(value, int)
    if not _SMALLEST <= number <= _LARGEST:
        raise ExtenderError(UNREADABLE.format("an integer does not fit 64 bits"))
    return number


def _texts_by_name(value: object) -> dict[str, str]:
    return {name: _text_of(text) for name, text in _map_of(value).items()}


def _require(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        got = _JSON_TYPES.get(type(value), "null")
        raise ExtenderError(UNREADABLE.format(f"got {got}, expected {_JSON_TYPES[kind]}"))
    return value


def _decode(answer: bytes) -> object:
    try:
        return _decoded(answer)
    except UnreadableAnswer as cause:
        raise ExtenderError(UNREADABLE.format(cause)) from cause


def _decoded(answer: bytes) -> object:
    """Decode JSON; bytes that are not UTF-8 become U+FFFD, as in Go."""
    found: object
    try:
        found = decode_foreign(answer, object, "it")
    except UnreadableAnswer:
        replaced = answer.decode("utf-8", "replace").encode()
        if replaced == answer:
            raise
        found = decode_foreign(replaced, object, "it")
    return found
