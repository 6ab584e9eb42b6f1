# SPDX-License-Identifier: Apache-2.0
"""POSTs that go at once: under which conditions, and that they end as those do that take the long way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.following import a_moment
from tests.client.serving import run
from tests.equivalence.examples import examples

from steersman.client import Dispatcher, EventRecorder
from steersman.client.direct_posts import DirectPosts
from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.events import BEHIND_BINDINGS_SECONDS
from steersman.client.fence import WriteFence
from steersman.client.pacing import RetryPolicy, Timing, TokenBucket
from steersman.client.transport import JSON, NO_QUERY, REQUEST_SECONDS, OnPosted, Query, Response
from steersman.clock import ManualClock
from steersman.errors import SteersmanError
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import Status
from steersman.rng import SeededRng
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

    async def request(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Response:
        if method == "GET":
            return Response(200, self._shown)
        outcome = self._answer(path, body or b"")
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        raise AssertionError("nothing is watched here")
        yield b""

    def begin_post(self, path: str, body: bytes, timeout: float, on_end: OnPosted) -> bool:
        if self._begins:
            asyncio.get_running_loop().call_soon(lambda: on_end(self._answer(path, body)))
        return self._begins

    async def sleep(self, seconds: float) -> None:
        if seconds > 2 * BEHIND_BINDINGS_SECONDS:
            self.sleeps.append(seconds)
        await a_moment(seconds)

    @property
    def timing(self) -> Timing:
        return Timing(ManualClock(), SeededRng(1), self.sleep)


def posts(script: Script, fence: WriteFence | None = None, bucket: TokenBucket | None = None) -> DirectPosts:
    clock = ManualClock()
    return DirectPosts(
        script,
        fence or WriteFence.open(clock),
        bucket or TokenBucket(0, 1, script.timing),
        lambda method, seconds: None,
        lambda *ended: None,
    )


def test_a_post_goes_at_once_and_its_end_is_told() -> None:
    async def scenario() -> None:
        script, ended, counted = Script([]), list[Any](), list[Any]()
        bucket = TokenBucket(1, 1, script.timing)
        direct = DirectPosts(
            script,
            WriteFence.open(ManualClock()),
            bucket,
            lambda *waited: counted.append(waited),
            lambda *end: counted.append(end[:3]),
        )
        assert direct.begin("/a", b"body", 15.0, ended.append)
        assert ended == []
        await a_moment(0)
        assert ended == [Response(201, b"{}")]
        assert counted == [("POST", 0.0), ("POST", Response(201, b"{}"), 4)]
        assert script.sent == [("/a", b"body")]
        assert not direct.begin("/b", b"", 15.0, ended.append), "the bucket is empty"

    run(scenario())


def test_nothing_is_sent_without_the_lease_and_no_token_is_used() -> None:
    async def scenario() -> None:
        script = Script([])
        bucket, fence = TokenBucket(1, 1, script.timing), WriteFence(ManualClock(100), valid_until=100)
        assert not posts(script, fence, bucket).begin("/a", b"", 15.0, lambda outcome: None)
        assert bucket.take_nowait()
        assert script.sent == []

    run(scenario())


def test_a_token_that_was_not_used_is_given_back() -> None:
    async def scenario() -> None:
        script = Script([], begins=False)
        bucket = TokenBucket(1, 1, script.timing)
        assert not posts(script, bucket=bucket).begin("/a", b"", 15.0, lambda outcome: None)
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
    dispatcher = Dispatcher(script, recorder, timing, RetryPolicy(), posts=posts(script) if direct else None)
    pod, ends = _pod(), asyncio.Queue[SteersmanError | None]()
    if dispatcher.begin_bind(pod, "n1", ends.put_nowait):
        failure = await ends.get()
        status = None if failure is None else await dispatcher.resume_bind(pod, "n1", failure)
    else:
        status = await dispatcher.bind(pod, "n1")
    return status, dispatcher._bindings.take_open(pod.uid)


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
    recorder = EventRecorder(script, script.timing, "host", posts=posts(script) if direct else None)
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(recorder.run())
        for name in ("a", "b"):
            pod = make_pod(name).obj()
            recorder.record(pod, controller="s", type="Normal", reason="Scheduled", action="Binding", note=name)
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
