# SPDX-License-Identifier: Apache-2.0
"""POSTs that go at once: under which conditions, and that they end as those do that take the long way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.client.following import a_moment
from tests.client.serving import run
from tests.equivalence.examples import examples

from steersman.base.clock import ManualClock
from steersman.base.errors import SteersmanError
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import Status
from steersman.kube.client import Dispatcher, EventRecorder
from steersman.kube.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.kube.client.events import BEHIND_BINDINGS_SECONDS
from steersman.kube.client.fence import WriteFence
from steersman.kube.client.pacing import RetryPolicy, TokenBucket
from steersman.kube.client.requests import NO_QUERY, NowaitChain, OnEnd, Query, Request, RequestMetrics, Response
from steersman.scheduler.host import PodEvent
from steersman.testing import make_pod

Outcome = Callable[[], Response | ClientError]
BOUND_THERE = b'{"metadata": {"uid": "web", "name": "web"}, "spec": {"nodeName": "n1"}}'
BOUND_ELSEWHERE = b'{"metadata": {"uid": "web", "name": "web"}, "spec": {"nodeName": "n2"}}'
ANSWERS: dict[str, Outcome] = {
    "granted": lambda: Response(201, b"{}"),
    "conflict": lambda: ApiError(409, "Conflict", "bound already"),
    "unauthorised": lambda: ApiError(401, "Unauthorized", "who are you"),
    "not found": lambda: ApiError(404, "NotFound", "no such pod"),
    "busy": lambda: ApiError(429, "TooManyRequests", "later", 2.0),
    "broken": lambda: ApiError(500, "InternalError", "broken"),
    "lost": lambda: ConnectionFailed("no answer in time", may_have_arrived=True),
    "not sent": lambda: ConnectionFailed("no connection", may_have_arrived=False),
}


class Script:
    """A server that answers writes one after the other as the script says, and then grants them; reads show the pod."""

    def __init__(self, answers: Sequence[str], shown: bytes = BOUND_THERE, begins: bool = True) -> None:
        self._answers = list(answers)
        self._shown = shown
        self._begins = begins
        self.sent: list[tuple[str, bytes]] = []
        self.sleeps: list[float] = []

    def _answer(self, path: str, body: bytes) -> Response | ClientError:
        self.sent.append((path, body))
        return ANSWERS[self._answers.pop(0) if self._answers else "granted"]()

    async def request(self, request: Request, /) -> Response:
        if request.is_read:
            return Response(200, self._shown)
        outcome = self._answer(request.path, request.body or b"")
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        raise AssertionError("nothing is watched here")
        yield b""

    def request_nowait(self, request: Request, timeout: float, on_end: OnEnd, /) -> bool:
        if self._begins:
            asyncio.get_running_loop().call_soon(lambda: on_end(self._answer(request.path, request.body or b"")))
        return self._begins

    async def sleep(self, seconds: float) -> None:
        if seconds > 2 * BEHIND_BINDINGS_SECONDS:
            self.sleeps.append(seconds)
        await a_moment(seconds)

    @property
    def timing(self) -> Timing:
        return Timing(ManualClock(), SeededRng(1), self.sleep)


class Counts:
    """What a chain tells its metrics."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def waited(self, method: str, seconds: float) -> None:
        self.calls.append((method, seconds))

    def ended(self, method: str, outcome: Response | BaseException | None, sent: int, seconds: float) -> None:
        self.calls.append((method, outcome, sent))

    def stream_ended(self, failure: SteersmanError | None) -> None:
        raise AssertionError("nothing is watched here")


def chain(
    script: Script,
    fence: WriteFence | None = None,
    bucket: TokenBucket | None = None,
    metrics: RequestMetrics | None = None,
) -> NowaitChain:
    bucket = bucket or TokenBucket(0, 1, script.timing)
    return NowaitChain(script, bucket, fence or WriteFence.open(ManualClock()), metrics)


def post(path: str, body: bytes = b"") -> Request:
    return Request("POST", path, body=body, timeout=15.0)


def test_a_write_without_waiting_is_sent_at_once_and_counted() -> None:
    async def scenario() -> None:
        script, ended, counts = Script([]), list[Any](), Counts()
        direct = chain(script, bucket=TokenBucket(1, 1, script.timing), metrics=counts)
        assert direct.request_nowait(post("/a", b"body"), ended.append)
        assert ended == []
        await a_moment(0)
        assert ended == [Response(201, b"{}")]
        assert counts.calls == [("POST", 0.0), ("POST", Response(201, b"{}"), 4)]
        assert script.sent == [("/a", b"body")]
        assert not direct.request_nowait(post("/b"), ended.append), "the bucket is empty"

    run(scenario())


def test_nothing_is_sent_without_the_lease_and_no_token_is_used() -> None:
    async def scenario() -> None:
        script = Script([])
        bucket, fence = TokenBucket(1, 1, script.timing), WriteFence(ManualClock(100), valid_until=100)
        assert not chain(script, fence, bucket).request_nowait(post("/a"), lambda outcome: None)
        assert bucket.take_nowait()
        assert script.sent == []

    run(scenario())


def test_a_token_that_was_not_used_is_given_back() -> None:
    async def scenario() -> None:
        script = Script([], begins=False)
        bucket = TokenBucket(1, 1, script.timing)
        assert not chain(script, bucket=bucket).request_nowait(post("/a"), lambda outcome: None)
        assert bucket.take_nowait()

    run(scenario())


# -- twins -------------------------------------------------------------------------------------------------------------


#: Without refused credentials, with which `HttpTransport.request` deals by itself.
SCRIPTS = st.lists(st.sampled_from([answer for answer in ANSWERS if answer != "unauthorised"]), max_size=12)


def _pod() -> PodInfo:
    return PodShapes().info(make_pod("web").uid("web").obj())


async def _bound(script: Script, direct: bool) -> tuple[Status | None, bool]:
    """What becomes of a binding, and whether the server may have carried it out unheard."""
    timing = script.timing
    recorder = EventRecorder(script, timing, "host")
    dispatcher = Dispatcher(chain(script) if direct else script, recorder, timing, RetryPolicy())
    pod, ends = _pod(), asyncio.Queue[SteersmanError | None]()
    if dispatcher.begin_bind(pod, "n1", ends.put_nowait):
        failure = await ends.get()
        status = None if failure is None else await dispatcher.resume_bind(pod, "n1", failure)
    else:
        status = await dispatcher.bind(pod, "n1")
    return status, dispatcher._bindings.pop_unconfirmed(pod.uid)


@given(SCRIPTS, st.booleans())
@examples(100)
def test_a_binding_ends_the_same_whichever_way_its_first_request_takes(answers: list[str], is_there: bool) -> None:
    async def scenario() -> None:
        shown = BOUND_THERE if is_there else BOUND_ELSEWHERE
        short, long = Script(answers, shown), Script(answers, shown)
        assert await _bound(short, direct=True) == await _bound(long, direct=False)
        assert short.sent == long.sent
        assert short.sleeps == pytest.approx(long.sleeps)

    run(scenario())


def test_a_binding_that_was_refused_for_its_credentials_is_sent_the_long_way() -> None:
    async def scenario() -> None:
        script = Script(["unauthorised"])
        assert await _bound(script, direct=True) == (None, False)
        assert len(script.sent) == 2
        assert script.sleeps == []

    run(scenario())


async def _recorded(script: Script, direct: bool) -> int:
    """How many events were dropped."""
    recorder = EventRecorder(chain(script) if direct else script, script.timing, "host")
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(recorder.run())
        for name in ("a", "b"):
            pod = make_pod(name).obj()
            recorder.record(PodEvent(pod, "s", "Normal", "Scheduled", "Binding", name))
            await recorder.drain()
        writing.cancel()
    return recorder.dropped


@given(SCRIPTS)
@examples(60)
def test_an_event_ends_the_same_whichever_way_its_first_request_takes(answers: list[str]) -> None:
    async def scenario() -> None:
        short, long = Script(answers), Script(answers)
        assert await _recorded(short, direct=True) == await _recorded(long, direct=False)
        assert [path for path, _ in short.sent] == [path for path, _ in long.sent]

    run(scenario())
