# SPDX-License-Identifier: Apache-2.0
"""Times the plugins of a profile by wrapping the calls that it consists of; a profile that is not wrapped costs nothing.

In comes a `runtime.Profile`, out comes one with the same plugins in the same order. What a call took goes to a `Stopwatch`
(`attempt_metrics`). In-tree filters and scores run as columns, all plugins in one go, and are timed as a phase there, not
here. Hints are timed by the counts that the queue is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

import msgspec

from steersman import api
from steersman.framework.events import ClusterEvent, HintFn, QueueingHint
from steersman.framework.plugin import PermitResult
from steersman.framework.status import Code, Status
from steersman.observe.metrics import Metrics
from steersman.queue import CountingQueueMetrics
from steersman.runtime.applicable_calls import ApplicableCalls
from steersman.runtime.profile import Profile, RawCall, StatusCall

SUCCESS: Final = Code.SUCCESS.label
FAILED: Final = Code.ERROR.label

Run = Callable[..., Any]
CallT = TypeVar("CallT", bound=RawCall | StatusCall)


class Stopwatch(Protocol):
    def plugin_ran(self, uid: str, point: str, plugin: str, status: str, seconds: float) -> None:
        """A plugin's call for the pod with that uid has ended."""


def timed(profile: Profile, stopwatch: Stopwatch) -> Profile:
    """The profile with every call timed that is made plugin by plugin."""
    wrap = _Wrapping(stopwatch)
    return msgspec.structs.replace(
        profile,
        post_filter=wrap.calls("PostFilter", profile.post_filter),
        reserve=ApplicableCalls(
            msgspec.structs.replace(
                call,
                reserve=wrap.method("Reserve", call.name, call.reserve),
                unreserve=wrap.method("Unreserve", call.name, call.unreserve),
            )
            for call in profile.reserve
        ),
        permit=wrap.calls("Permit", profile.permit),
        pre_bind=ApplicableCalls(wrap.calls("PreBind", profile.pre_bind)),
        bind=wrap.binds(profile.bind),
        post_bind=wrap.calls("PostBind", profile.post_bind),
    )


class _Wrapping:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._ran = stopwatch.plugin_ran

    def calls(self, point: str, calls: Iterable[CallT]) -> tuple[CallT, ...]:
        return tuple(msgspec.structs.replace(call, run=self.method(point, call.name, call.run)) for call in calls)

    def binds(self, calls: Iterable[RawCall]) -> tuple[RawCall, ...]:
        """Bind plugins, whose work may be done without calling them."""
        timed_calls = self.calls("Bind", calls)
        return tuple(msgspec.structs.replace(call, ran=self._done("Bind", call.name)) for call in timed_calls)

    def _done(self, point: str, plugin: str) -> Callable[[str, str, float], None]:
        return lambda uid, status, seconds: self._ran(uid, point, plugin, status, seconds)

    def method(self, point: str, plugin: str, run: Run) -> Run:
        """Takes the cycle state, the pod, and whatever else, as all methods here do."""

        def call(*given: Any) -> Any:
            began = perf_counter()
            try:
                answer = run(*given)
            except Exception:
                self._ran(given[1].uid, point, plugin, FAILED, perf_counter() - began)
                raise
            if asyncio.iscoroutine(answer):
                return self._awaited(answer, given[1].uid, point, plugin, began)
            self._ran(given[1].uid, point, plugin, status_label(answer), perf_counter() - began)
            return answer

        return call

    async def _awaited(self, work: Awaitable[object], uid: str, point: str, plugin: str, began: float) -> object:
        label = FAILED
        try:
            answer = await work
            label = status_label(answer)
            return answer
        finally:
            self._ran(uid, point, plugin, label, perf_counter() - began)


def status_label(answer: object) -> str:
    """The status that a plugin's answer means, as upstream prints it; the short forms of success are None and True."""
    if isinstance(answer, tuple):
        answer = answer[-1]
    if isinstance(answer, PermitResult):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else SUCCESS


#: Value of the label `hint` for one that raised.
HINT_FAILED: Final = "Error"


class MeasuredQueueMetrics(CountingQueueMetrics):
    """A `QueueMetrics`."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._seconds = metrics.hint_seconds

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        seconds, label = self._seconds, event.label

        def timed(pod: api.Pod, old: object, new: object) -> QueueingHint:
            began = perf_counter()
            try:
                answer = hint(pod, old, new)
            except Exception:
                seconds[plugin, label, HINT_FAILED].observe(perf_counter() - began)
                raise
            seconds[plugin, label, answer.value].observe(perf_counter() - began)
            return answer

        return timed
