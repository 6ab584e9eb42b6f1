# SPDX-License-Identifier: Apache-2.0
"""What lists and watches make of what the server sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

import pytest
from aiohttp import web
from hypothesis import given, strategies as st
from tests.client.following import IMPATIENT
from tests.client.serving import Handler, run, serve
from tests.equivalence.examples import examples
from tests.hostile.text_server import TextServer
from tests.hostile.watched_documents import texts

from steersman import api
from steersman.framework.watching import WATCHED_KINDS
from steersman.kube.client.connection import Connection
from steersman.kube.client.errors import ApiError, ConnectionFailed
from steersman.kube.client.invalid_objects import UNNAMED, ObjectIdentity
from steersman.kube.client.list_watch import Listing, ListWatch, WatchedChange
from steersman.kube.client.transport import http_transport


def test_nulls_are_as_good_as_nothing() -> None:
    pod = {"metadata": {"name": "web", "labels": None, "creationTimestamp": None}, "spec": {"containers": None}}
    listing = run(_list({"metadata": {"resourceVersion": "7"}, "items": [pod]}))
    assert listing.resource_version == "7"
    assert listing.objects == [api.Pod(metadata=api.ObjectMeta(name="web"))]


def test_a_list_without_items_is_empty() -> None:
    assert run(_list({"metadata": {"resourceVersion": "7"}, "items": None})).objects == []


def test_empty_pages_without_end_are_a_failure() -> None:
    with pytest.raises(ConnectionFailed, match="have no objects and name another page"):
        run(_list({"metadata": {"resourceVersion": "7", "continue": "more"}, "items": []}))


def test_an_object_that_cannot_be_read_comes_with_its_name_beside_the_others() -> None:
    meta = {"name": "broken", "namespace": "default", "uid": "u1", "resourceVersion": "5"}
    broken = {"metadata": meta, "spec": {"priority": "high"}}
    listing = run(_list({"metadata": {}, "items": [broken, {"metadata": {"name": "web"}}]}))
    assert [pod.metadata.name for pod in listing.objects] == ["web"]
    (unreadable,) = listing.unreadable
    assert unreadable.identity == ObjectIdentity("default/broken", "u1", "5")
    assert unreadable.reason == 'spec.priority: must be an integer (got "high")'


@pytest.mark.parametrize("document", [None, 7, [], {}, {"metadata": []}, {"metadata": {"name": 7}}])
def test_an_object_without_a_name_is_unreadable(document: Any) -> None:
    listing = run(_list({"metadata": {}, "items": [document]}))
    assert [one.identity.key for one in listing.unreadable] == [f"/{UNNAMED}"]


@pytest.mark.parametrize("levels", [1_000, 5_000])
def test_depth_in_one_object_leaves_the_others_of_the_list_as_they_are(levels: int) -> None:
    deep = f'{{"metadata": {{"name": "deep"}}, "spec": {{"unknown": {"[" * levels + "]" * levels}}}}}'
    page = f'{{"metadata": {{}}, "items": [{{"metadata": {{"name": "web"}}}}, {deep}]}}'
    listing = run(_list(page))
    assert [pod.metadata.name for pod in listing.objects] == ["web", "deep"]


@pytest.mark.parametrize("levels", [1_000, 5_000])
def test_depth_in_a_line_of_a_watch_is_survived(levels: int) -> None:
    deep = f'{{"metadata": {{"name": "deep"}}, "unknown": {"[" * levels + "]" * levels}}}'
    (change,) = run(_watch(f'{{"type": "ADDED", "object": {deep}}}'))
    assert isinstance(change.object, api.Pod)
    assert change.object.metadata.name == "deep"


def test_a_list_that_cannot_be_read_is_no_answer() -> None:
    with pytest.raises(ConnectionFailed, match="the list cannot be read"):
        run(_list("nonsense"))


def test_a_line_may_hold_an_object_of_megabytes() -> None:
    pod = {"metadata": {"name": "web", "annotations": {"note": "x" * 3_000_000}}}
    (change,) = run(_watch({"type": "ADDED", "object": pod}))
    assert isinstance(change.object, api.Pod)
    assert len(change.object.metadata.annotations["note"]) == 3_000_000


def test_an_error_line_becomes_its_error() -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}
    with pytest.raises(ApiError, match="too old") as caught:
        run(_watch({"type": "ERROR", "object": status}))
    assert caught.value.is_expired


def test_a_line_that_is_no_json_is_a_broken_connection() -> None:
    with pytest.raises(ConnectionFailed, match="a line cannot be read"):
        run(_watch("nonsense"))


def test_a_watch_asks_for_bookmarks_and_an_end() -> None:
    queries: list[dict[str, str]] = []

    async def note(request: web.Request) -> web.Response:
        queries.append(dict(request.query))
        return web.Response()

    run(_changes(note))
    (query,) = queries
    assert (query["watch"], query["resourceVersion"], query["allowWatchBookmarks"]) == ("true", "7", "true")
    assert 300 <= int(query["timeoutSeconds"]) <= 600


LINE_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "unheard of")


@given(st.sampled_from(WATCHED_KINDS).flatmap(lambda kind: st.tuples(st.just(kind), texts(kind))), st.data())
@examples(150)
def test_a_line_read_in_one_pass_equals_its_parts(shown: tuple[type[api.Object], bytes], data: st.DataObject) -> None:
    kind, text = shown
    line = b'{"type": "%s", "object": %s}' % (data.draw(st.sampled_from(LINE_TYPES)).encode(), text)
    source = ListWatch(TextServer(), kind, IMPATIENT)
    assert _told(source.change_in, line) == _told(source.change_in_parts, line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": {}}',
        b'{"type": "ADDED", "object": null}',
        b'{"type": 7, "object": {"metadata": {"name": "web"}}}',
        b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}',
        b'{"type": "ADDED", "object": {"metadata": {"name": "web"}}} rest',
        b'{"type": "ADDED", "object": {"metadata": {"name": "web"}}, "type": "DELETED"}',
    ],
)
def test_an_unusual_line_read_in_one_pass_equals_its_parts(line: bytes) -> None:
    source = ListWatch(TextServer(), api.Pod, IMPATIENT)
    assert _told(source.change_in, line) == _told(source.change_in_parts, line)


def _told(read: Callable[[bytes], WatchedChange[Any]], line: bytes) -> object:
    try:
        return read(line)
    except (ApiError, ConnectionFailed) as error:
        return type(error), str(error)


async def _list(document: Any) -> Listing[api.Pod]:
    async with serve(_sending(document)) as address, http_transport(Connection(address)) as transport:
        return await ListWatch(transport, api.Pod, IMPATIENT).list()


async def _watch(line: Any) -> list[WatchedChange[api.Pod]]:
    return await _changes(_sending(line))


async def _changes(handler: Handler) -> list[WatchedChange[api.Pod]]:
    async with serve(handler) as address, http_transport(Connection(address)) as transport:
        source = ListWatch(transport, api.Pod, IMPATIENT)
        async with aclosing(source.watch("7")) as changes:
            return [change async for change in changes]


def _sending(document: Any) -> Handler:
    """A JSON document, or a text as it is, and the end of the line."""
    text = document if isinstance(document, str) else json.dumps(document)

    async def send(_: web.Request) -> web.Response:
        return web.Response(text=f"{text}\n")

    return send
