# SPDX-License-Identifier: Apache-2.0
"""What plugins read of an API server by themselves: any kind, by nothing but GET requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from aiohttp import web
from tests.client.api_server import SERVED_KINDS, ApiServer
from tests.client.following import IMPATIENT
from tests.client.serving import Handler, run, serve

from steersman import api
from steersman.framework import ApiReadError
from steersman.kube.client import ApiServerReader, Connection, RequestChain, TokenBucket, http_transport
from steersman.kube.client.list_watch import PAGE
from steersman.testing import make_node, make_pod

T = TypeVar("T")
TARIFF = api.custom_kind("example.com/v1", "Tariff", "tariffs", namespaced=False)


def tariff(name: str, **labels: str) -> api.CustomObject:
    return TARIFF(metadata=api.ObjectMeta(name=name, labels=labels), spec={"price": 7})


def read(server: ApiServer, question: Callable[[ApiServerReader], Awaitable[T]]) -> T:
    async def scenario() -> T:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            return await question(ApiServerReader(transport, IMPATIENT))

    return run(scenario())


def read_of(handler: Handler, question: Callable[[ApiServerReader], Awaitable[T]]) -> T:
    async def scenario() -> T:
        async with serve(handler) as address, http_transport(Connection(address)) as transport:
            return await question(ApiServerReader(transport, IMPATIENT))

    return run(scenario())


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(kinds=(*SERVED_KINDS, TARIFF))
    server.store.create(make_node("n1").obj())
    server.store.create(make_pod("web").namespace("shop").label("app", "web").obj())
    server.store.create(make_pod("db").namespace("shop").label("app", "db").obj())
    server.store.create(make_pod("web").namespace("bank").label("app", "web").obj())
    server.store.create(tariff("day", zone="a"))
    return server


def test_an_object_is_read_as_its_class(server: ApiServer) -> None:
    found = read(server, lambda client: client.get(api.Pod, "web", "shop"))
    assert found is not None
    assert (found.metadata.name, found.metadata.namespace) == ("web", "shop")
    custom = read(server, lambda client: client.get(TARIFF, "day"))
    assert custom is not None
    assert custom.spec == {"price": 7}


def test_there_is_none(server: ApiServer) -> None:
    assert read(server, lambda client: client.get(api.Pod, "gone", "shop")) is None
    assert read(server, lambda client: client.get_document("example.com/v1", "Tariff", "night")) is None


def test_lists_are_of_a_namespace_or_of_all_and_selected(server: ApiServer) -> None:
    def keys(**query: str) -> list[str]:
        return [api.key(pod) for pod in read(server, lambda client: client.list(api.Pod, **query))]

    assert keys() == ["bank/web", "shop/db", "shop/web"]
    assert keys(namespace="shop") == ["shop/db", "shop/web"]
    assert keys(label_selector="app in (web)") == ["bank/web", "shop/web"]
    assert keys(namespace="shop", field_selector="metadata.name!=web") == ["shop/db"]


@pytest.mark.parametrize("name", ["Tariff", "tariffs"])
def test_a_kind_can_be_named(server: ApiServer, name: str) -> None:
    found = read(server, lambda client: client.get_document("example.com/v1", name, "day"))
    assert found is not None
    assert (found["apiVersion"], found["kind"]) == ("example.com/v1", "Tariff")
    assert found["spec"] == {"price": 7}
    [listed] = read(server, lambda client: client.list_documents("example.com/v1", name, label_selector="zone=a"))
    assert listed == found


def test_discovery_is_asked_once_per_version(server: ApiServer) -> None:
    async def both(client: ApiServerReader) -> None:
        await client.get_document("v1", "Pod", "web", "shop")
        await client.list_documents("v1", "nodes")

    asked: list[str] = []

    async def counting(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == "/api/v1":
            names = [
                {"name": "pods", "kind": "Pod", "namespaced": True},
                {"name": "pods/status", "kind": "Pod", "namespaced": True},
                {"name": "nodes", "kind": "Node", "namespaced": False},
            ]
            return web.json_response({"resources": names})
        return web.json_response({"metadata": {"name": "web"}, "items": []})

    read_of(counting, both)
    assert asked == ["/api/v1", "/api/v1/namespaces/shop/pods/web", "/api/v1/nodes"]


def test_a_long_list_comes_in_pages(server: ApiServer) -> None:
    for n in range(PAGE + 1):
        server.store.create(tariff(f"t{n}"))
    assert len(read(server, lambda client: client.list(TARIFF))) == PAGE + 2
    assert server.asked("GET /apis/example.com/v1/tariffs") == 2


def test_a_list_that_loses_its_place_is_requested_whole(server: ApiServer) -> None:
    for n in range(PAGE + 1):
        server.store.create(tariff(f"t{n}"))
    server.faults.expire_continues = 1
    assert len(read(server, lambda client: client.list(TARIFF))) == PAGE + 2
    assert server.asked("GET /apis/example.com/v1/tariffs") == 3


def test_nothing_but_get_requests_is_sent(server: ApiServer) -> None:
    async def everything(client: ApiServerReader) -> None:
        await client.get(api.Node, "n1")
        await client.list(api.Pod)
        await client.get_document("v1", "Pod", "web", "shop")
        await client.list_documents("v1", "pods", "shop")

    read(server, everything)
    assert {request.split()[0] for request in server.requests} == {"GET"}


def test_requests_wait_for_their_turn_as_others_do(server: ApiServer) -> None:
    bucket = TokenBucket(0.001, 1, IMPATIENT)

    async def scenario() -> None:
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            limited = RequestChain(transport, bucket=bucket)
            await ApiServerReader(limited, IMPATIENT).get(api.Node, "n1")

    run(scenario())
    assert not bucket.take_nowait()


def refusal(question: Callable[[ApiServerReader], Awaitable[Any]], handler: Handler) -> ApiReadError:
    with pytest.raises(ApiReadError) as refused:
        read_of(handler, question)
    return refused.value


def test_a_missing_right_is_reported_with_the_verb_and_the_resource() -> None:
    message = 'tariffs.example.com is forbidden: User "steersman" cannot list resource "tariffs"'

    async def forbidden(request: web.Request) -> web.Response:
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
        return web.json_response(status, status=403)

    refused = refusal(lambda client: client.list(TARIFF), forbidden)
    assert refused.code == 403
    assert str(refused) == f"list tariffs.example.com: {message}; a role has to grant it to the scheduler"


async def unknown(request: web.Request) -> web.Response:
    return web.Response(text="404 page not found", status=404)


def test_a_kind_that_the_server_does_not_know_is_no_empty_answer() -> None:
    expected = "the API server does not serve tariffs.example.com"
    assert str(refusal(lambda client: client.get(TARIFF, "day"), unknown)) == expected
    assert str(refusal(lambda client: client.list(TARIFF), unknown)) == expected
    named = refusal(lambda client: client.list_documents("example.com/v1", "Tariff"), unknown)
    assert str(named) == "the API server does not serve example.com/v1"
    assert named.code == 404


def test_a_kind_that_its_version_does_not_have_is_named(server: ApiServer) -> None:
    with pytest.raises(ApiReadError, match=r"the API server does not serve Tarif of example.com/v1"):
        read(server, lambda client: client.get_document("example.com/v1", "Tarif", "day"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (lambda client: client.get(api.Pod, "web"), "namespace: is missing; pods are namespaced"),
        (lambda client: client.get(api.Node, "n1", "shop"), 'namespace: nodes have none, got "shop"; leave it out'),
        (lambda client: client.get(api.Node, ""), "name: is missing; list() reads all nodes"),
        (lambda client: client.list(api.Node, "shop"), 'namespace: nodes have none, got "shop"; leave it out'),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_anything_is_sent(
    server: ApiServer, question: Callable[[ApiServerReader], Awaitable[object]], expected: str
) -> None:
    with pytest.raises(ApiReadError) as refused:
        read(server, question)
    assert str(refused.value) == expected
    assert server.requests == []


def test_an_object_that_does_not_fit_its_class_is_an_error_or_left_out(caplog: pytest.LogCaptureFixture) -> None:
    broken = {"metadata": {"name": "broken", "namespace": "shop"}, "spec": {"priority": "high"}}

    async def answer(request: web.Request) -> web.Response:
        whole = {"items": [broken, {"metadata": {"name": "web", "namespace": "shop"}}]}
        return web.json_response(whole if request.path.endswith("/pods") else broken)

    refused = refusal(lambda client: client.get(api.Pod, "broken", "shop"), answer)
    assert str(refused) == 'Pod broken cannot be read: spec.priority: must be an integer (got "high")'
    listed = read_of(answer, lambda client: client.list(api.Pod))
    assert [pod.metadata.name for pod in listed] == ["web"]
    assert any("Pod shop/broken cannot be used and is left out" in text for text in caplog.messages)


def test_a_server_that_has_no_time_is_asked_again(server: ApiServer) -> None:
    asked: list[str] = []

    async def busy_once(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) == 1:
            return web.json_response({"kind": "Status", "code": 429, "reason": "TooManyRequests"}, status=429)
        return web.json_response({"metadata": {"name": "n1"}})

    assert read_of(busy_once, lambda client: client.get(api.Node, "n1")) is not None
    assert len(asked) == 2
