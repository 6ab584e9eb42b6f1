# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot be used: what the sink works with meanwhile, and what is known of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import msgspec
import pytest
from tests.client.following import IMPATIENT, Diary, running, until
from tests.client.serving import run

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.errors import InputError
from steersman.base.internal_errors import InternalErrors
from steersman.kube.client.invalid_objects import InvalidObjects, Unreadable
from steersman.kube.client.list_watch import ADDED, DELETED, MODIFIED, Listing, ListWatch, WatchedChange
from steersman.kube.client.reflector import Reflector
from steersman.testing import make_node, make_pod


class Script:
    """A `ListWatch` that shows what a test gives it."""

    def __init__(self, kind: type[api.Object]) -> None:
        self.kind = kind
        self.listing: Listing[Any] = Listing()
        self.changes: asyncio.Queue[WatchedChange[Any] | None] = asyncio.Queue()

    async def list(self) -> Listing[Any]:
        return self.listing

    async def watch(self, *_: object) -> AsyncIterator[WatchedChange[Any]]:
        while (change := await self.changes.get()) is not None:
            yield change


class Refusing(Diary):
    """A sink that cannot use some objects."""

    def __init__(self, refuses: Callable[[api.Object], Exception | None]) -> None:
        super().__init__()
        self._refuses = refuses

    def changed(self, obj: api.Object) -> None:
        refusal = self._refuses(obj)
        if refusal is not None:
            raise refusal
        super().changed(obj)


class Followed:
    """A reflector on a script."""

    def __init__(self, kind: type[api.Object], sink: Diary | None = None) -> None:
        self.script = Script(kind)
        self.diary = sink or Diary()
        self.invalid_objects = InvalidObjects(ManualClock())
        self.errors = InternalErrors()
        source = cast("ListWatch[Any]", self.script)
        self.reflector: Reflector[Any] = Reflector(
            source, self.diary, IMPATIENT, invalid=self.invalid_objects, internal_errors=self.errors
        )

    def see_list(self, *found: api.Object | Unreadable) -> None:
        objects = [one for one in found if not isinstance(one, Unreadable)]
        listing: Listing[Any] = Listing(objects, [one for one in found if isinstance(one, Unreadable)])
        run(self.reflector._replace(listing))

    def see(self, change: str, obj: api.Object | Unreadable) -> None:
        self.reflector._apply(WatchedChange(change, obj))

    def keys(self) -> list[str]:
        return [one.identity.key for one in self.invalid_objects.objects()]


def unreadable(pod: str = "web", uid: str = "u1", version: str = "9", **spec: Any) -> Unreadable:
    meta = {"name": pod, "namespace": "default", "uid": uid, "resourceVersion": version}
    text = msgspec.json.encode({"metadata": meta, "spec": {"priority": "high", **spec}})
    return Unreadable.from_text(text, api.Pod, "spec.priority: must be an integer")


def pod(name: str = "web", uid: str = "u1", version: str = "1", node: str = "n1") -> api.Pod:
    built = make_pod(name).uid(uid).req(cpu="2").node(node).obj()
    return msgspec.structs.replace(built, metadata=msgspec.structs.replace(built.metadata, resource_version=version))


@pytest.mark.parametrize("by_list", [True, False])
def test_the_last_good_version_stays(by_list: bool) -> None:
    followed = Followed(api.Pod)
    followed.see_list(pod())
    followed.see_list(unreadable(nodeName="n1")) if by_list else followed.see(MODIFIED, unreadable(nodeName="n1"))
    assert followed.diary.entries == ["+ default/web"]
    assert followed.reflector.objects == {"default/web": pod()}
    (entry,) = followed.invalid_objects.objects()
    assert entry.is_in_use
    assert entry.identity.resource_version == "9"
    assert followed.invalid_objects.sizes() == {"Pod": 1}


@pytest.mark.parametrize("by_list", [True, False])
def test_a_version_that_can_be_read_takes_the_object_back(by_list: bool) -> None:
    followed = Followed(api.Pod)
    followed.see_list(unreadable())
    followed.see_list(pod(version="10")) if by_list else followed.see(MODIFIED, pod(version="10"))
    assert followed.keys() == []
    assert list(followed.reflector.objects) == ["default/web"]


@pytest.mark.parametrize("by_list", [True, False])
def test_a_deleted_object_is_neither_used_nor_set_aside(by_list: bool) -> None:
    followed = Followed(api.Pod)
    followed.see_list(pod())
    followed.see(MODIFIED, unreadable(nodeName="n1"))
    followed.see_list() if by_list else followed.see(DELETED, unreadable(nodeName="n1", version="11"))
    assert followed.diary.entries == ["+ default/web", "- default/web"]
    assert followed.keys() == []


def test_the_deletion_of_an_object_that_was_never_used_is_not_reported() -> None:
    sink = Refusing(lambda obj: InputError("unusable"))
    followed = Followed(api.Node, sink)
    node = make_node("n1").obj()
    followed.see(ADDED, node)
    assert followed.keys() == ["n1"]
    followed.see(DELETED, node)
    assert sink.entries == []
    assert followed.keys() == []


def test_another_pod_of_the_same_name_ends_the_one_before() -> None:
    followed = Followed(api.Pod)
    followed.see_list(pod())
    followed.see(MODIFIED, unreadable(uid="u2"))
    assert followed.diary.entries == ["+ default/web", "- default/web"]
    (entry,) = followed.invalid_objects.objects()
    assert not entry.is_in_use


def test_a_bound_pod_that_was_never_good_is_told_as_far_as_it_can_be_read() -> None:
    followed = Followed(api.Pod)
    containers = [{"resources": {"requests": {"cpu": "3", "memory": "lots"}}}]
    followed.see_list(unreadable(nodeName="n1", containers=containers))
    used = followed.reflector.objects["default/web"]
    assert used.spec.node_name == "n1"
    assert used.spec.containers[0].resources.requests == {"cpu": "3"}
    (entry,) = followed.invalid_objects.objects()
    assert entry.is_in_use


def test_a_pending_pod_that_was_never_good_is_left_out() -> None:
    followed = Followed(api.Pod)
    followed.see_list(unreadable())
    assert followed.reflector.objects == {}
    (entry,) = followed.invalid_objects.objects()
    assert not entry.is_in_use


def test_a_pod_that_got_a_node_in_a_version_that_cannot_be_read_is_there() -> None:
    followed = Followed(api.Pod)
    followed.see_list(pod(node=""))
    followed.see(MODIFIED, unreadable(nodeName="n2"))
    used = followed.reflector.objects["default/web"]
    assert used.spec.node_name == "n2"
    assert used.spec.containers == pod().spec.containers


def test_every_version_is_logged_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    followed = Followed(api.Pod)
    with caplog.at_level(logging.ERROR):
        for version in ("9", "9", "9", "10", "10"):
            followed.see_list(unreadable(version=version))
    assert caplog.text.count("Pod default/web cannot be used: spec.priority: must be an integer") == 2
    assert followed.invalid_objects.counts == {"Pod": 2}


def test_an_ear_that_breaks_costs_the_object_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    sink = Refusing(lambda obj: KeyError("oops") if obj.metadata.name == "broken" else None)
    followed = Followed(api.Node, sink)
    followed.see_list(make_node("a").obj(), make_node("broken").obj(), make_node("z").obj())
    assert sink.entries == ["+ a", "+ z"]
    assert list(followed.reflector.objects) == ["a", "z"]
    assert followed.keys() == ["broken"]
    assert followed.errors.counts == {"ingest": 1}
    assert "Traceback" in caplog.text


def test_an_ear_without_memory_is_not_helped() -> None:
    sink = Refusing(lambda obj: MemoryError())
    with pytest.raises(MemoryError):
        Followed(api.Node, sink).see(ADDED, make_node("a").obj())


def test_the_version_of_an_unreadable_line_is_where_the_next_watch_begins() -> None:
    followed = Followed(api.Pod)
    followed.see(ADDED, unreadable(version="77"))
    assert followed.reflector.resource_version == "77"


def test_a_programming_error_of_a_reflector_is_followed_by_a_new_list() -> None:
    async def scenario() -> None:
        followed = Followed(api.Node)
        async with running(followed.reflector.run()):
            await followed.reflector.wait_synced()
            followed.script.changes.put_nowait(cast("WatchedChange[Any]", "no change at all"))
            await until(lambda: followed.reflector.lists > 1)
        assert followed.errors.counts["informer"] == 1

    run(scenario())


def test_an_object_of_a_plugins_kind_is_set_aside_under_its_group() -> None:
    """There may be other kinds of that name, which must not be forgotten with it."""
    services = api.custom_kind("serving.example.com/v1", "Service", "services")
    followed = Followed(services)
    text = b'{"metadata": {"name": "web", "namespace": "shop"}, "spec": 3}'
    followed.see_list(Unreadable.from_text(text, services, "spec: must be an object"))
    assert followed.invalid_objects.sizes() == {"serving.example.com/Service": 1}
    assert followed.keys() == ["shop/web"]
