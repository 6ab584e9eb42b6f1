# SPDX-License-Identifier: Apache-2.0
"""Whatever an API server shows as objects of any watched kind, by list or by watch: each is used or set aside with a reason,
no programming error is met, and other pods are bound."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import example, given, strategies as st
from tests.client.following import a_moment, running
from tests.client.serving import run
from tests.equivalence.examples import examples
from tests.hostile.text_server import TextServer
from tests.hostile.watched_documents import texts

from steersman import api
from steersman.api import codec
from steersman.base.clock import ManualClock
from steersman.base.internal_errors import InternalErrors
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.framework.watching import WATCHED_KINDS
from steersman.kube.client import Dispatcher, EventRecorder, Informers, paths
from steersman.kube.client.invalid_objects import Unreadable
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.testing import make_node, make_pod

LISTED: Final = "listed"
"""Besides the types of the lines of a watch: the object comes with a new list."""

NOT_UTF_8: Final = "is not UTF-8 text"
"""The one reason that names no field: there are none to be read."""


class Appearance(NamedTuple):
    """An object as a server shows it."""

    kind: type[api.Object]
    how: str
    text: bytes


def appearances(kind: type[api.Object]) -> st.SearchStrategy[Appearance]:
    how = st.sampled_from(["ADDED", "MODIFIED", "MODIFIED", "DELETED", LISTED, LISTED])
    return st.builds(Appearance, st.just(kind), how, texts(kind))


KINDS: Final[Sequence[type[api.Object]]] = (*WATCHED_KINDS, api.Pod, api.Pod, api.Pod, api.Node)
ANY_APPEARANCE: Final = st.sampled_from(KINDS).flatmap(appearances)


def text_of(built: Any) -> bytes:
    document = codec.to_dict(built.obj())
    document["metadata"]["resourceVersion"] = "1"
    return json.dumps(document).encode()


class FuzzedScheduler:
    """A scheduler as `steersman run` puts it together, on a server of texts. Nodes o1 and o2 are in order, and whatever is
    wrong with others, two nodes have room for pods that ask for nothing."""

    def __init__(self) -> None:
        self.server = TextServer()
        self.clock = ManualClock()
        self.errors = InternalErrors()
        self._tasks: set[asyncio.Task[None]] = set()
        timing = Timing(self.clock, SeededRng(1), a_moment)
        events = EventRecorder(self.server, timing, "host", internal_errors=self.errors)
        self._dispatcher = Dispatcher(self.server, events, timing, internal_errors=self.errors)
        options = SchedulerOptions(internal_errors=self.errors)
        self.scheduler = Scheduler(self.clock, SeededRng(1), self._dispatcher, self._spawn, options)
        self.informers = Informers(self.server, self.scheduler.ingest, timing, internal_errors=self.errors)
        for name in ("o1", "o2"):
            self.server.put(api.Node, text_of(make_node(name).capacity(cpu="8", memory="8Gi", pods="110")))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> object:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        async with running(self.informers.run(), self._dispatcher.run()):
            await self.informers.wait_synced()
            try:
                yield
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def see(self, appearance: Appearance) -> None:
        kind, how, text = appearance
        if how == LISTED:
            self.server.put(kind, text)
            await self.server.list_again(kind)
        else:
            await self.server.show(kind, how, text)

    async def schedule(self) -> None:
        """All pods that wait, even those that have failed."""
        self.clock.advance(11.0)
        self.scheduler.queue.flush_backoff()
        for _ in range(20):
            if self.scheduler.schedule_one() is None:
                break
        for _ in range(8):
            await asyncio.sleep(0)

    async def binds(self, name: str) -> None:
        await self.server.show(api.Pod, "ADDED", text_of(make_pod(name).namespace("ordinary")))
        for _ in range(5):
            await self.schedule()
            if f"ordinary/{name}" in self.server.bound:
                return
        raise AssertionError(f"{name} is not bound")

    def check(self) -> None:
        assert not self.errors.counts
        self.scheduler.cache.validate_state()
        self.scheduler.queue.validate_state()
        aside = {(one.kind, one.identity.key): one.reason for one in self.informers.invalid_objects.objects()}
        for reason in aside.values():
            assert ": " in reason or reason == NOT_UTF_8, reason
            assert "internal error" not in reason
        for reflector in self.informers.reflectors:
            kind = reflector.kind
            shown = self.server.texts[paths.collection(kind)]
            for text in shown.values():
                key = Unreadable.from_text(text, kind, "").identity.key
                assert key in reflector.objects or (kind.KIND, key) in aside


async def survives(first: Sequence[Appearance], then: Sequence[Appearance]) -> None:
    fuzzed = FuzzedScheduler()
    for kind, _, text in first:
        fuzzed.server.put(kind, text)
    async with fuzzed.at_work():
        await fuzzed.schedule()
        for appearance in then:
            await fuzzed.see(appearance)
            await fuzzed.schedule()
        await fuzzed.binds("last")
        fuzzed.check()


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """Every object that is set aside is logged: some thousand lines."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("kind", WATCHED_KINDS)
@examples(6)
@given(data=st.data())
def test_an_object_of_each_kind_is_used_or_set_aside(kind: type[api.Object], data: st.DataObject) -> None:
    shown = st.lists(appearances(kind), min_size=1, max_size=3)
    run(survives(data.draw(shown), data.draw(shown)))


def a_pod(how: str, name: str = "m1", uid: str = "u1", node: str = "", cpu: str = "1") -> Appearance:
    return Appearance(api.Pod, how, text_of(make_pod(name).uid(uid).node(node).req(cpu=cpu)))


@examples(60)
@example([a_pod(LISTED), a_pod(LISTED, "m2")], [a_pod("DELETED")])
@example([a_pod(LISTED, node="o1"), a_pod(LISTED, "m2", node="o1")], [a_pod("DELETED", "m2"), a_pod("DELETED")])
@example([a_pod(LISTED, node="o1")], [a_pod("MODIFIED")])
@example([a_pod(LISTED, node="o1")], [a_pod("MODIFIED", uid="u2", node="o1", cpu="lots")])
@given(st.lists(ANY_APPEARANCE, max_size=8), st.lists(ANY_APPEARANCE, min_size=1, max_size=12))
def test_objects_of_all_kinds_together_are_used_or_set_aside(first: list[Appearance], then: list[Appearance]) -> None:
    run(survives(first, then))
