# SPDX-License-Identifier: Apache-2.0
"""Ports of a scheduler that is replayed: clock, writer, reader and extenders that answer as those of the recorded one did.

`live_ports` has their counterparts, which record. `live_replay` hands them the readings and answers of one stimulus at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.errors import SteersmanError
from steersman.framework.extender import Extender, ExtenderFilterOutcome, NodeVictims, PodsOn
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Failure
from steersman.framework.status import Status
from steersman.record import answers
from steersman.record.frames import AnswerBody, CallEndBody, ToldBody, WatchEventBody
from steersman.record.replay_loop import ReplayLoop, StepNotPossible

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=api.Object)


class ReplayedClock:
    """Shows what the clock has shown. A scheduler that asks more often than the recorded one sees the last time again."""

    def __init__(self) -> None:
        self._readings: list[float] = []
        self._last = 0.0

    def load(self, readings: Sequence[float]) -> None:
        """Readings of the clock while the scheduler dealt with one stimulus."""
        self._readings = list(reversed(readings))

    def now(self) -> float:
        if self._readings:
            self._last = self._readings.pop()
        return self._last

    def monotonic(self) -> float:
        return self.now()


class ReplayedAnswers:
    """Gives answers as they came; calls are counted."""

    def __init__(self, loop: ReplayLoop) -> None:
        self._loop = loop
        self._calls = 0
        self._known: dict[int, AnswerBody] = {}
        self._awaited: dict[int, Any] = {}
        self._told: dict[int, list[ToldBody]] = {}
        #: Tells the scheduler of an object, in the middle of a call.
        self.tell: Callable[[WatchEventBody], None] = lambda body: None

    def load(self, answered: Iterable[AnswerBody], told: Iterable[ToldBody] = ()) -> None:
        """These calls are answered; who waits for one can go on. `told` is what is told in the middle of calls."""
        for body in told:
            self._told.setdefault(body.call, []).append(body)
        for answer in answered:
            waiting = self._awaited.pop(answer.call, None)
            if waiting is None:
                self._known[answer.call] = answer
            elif not waiting.done():
                waiting.set_result(answer)

    def begin_call(self) -> int:
        """The number of the next call, in the middle of which the scheduler is told what it was told."""
        self._calls += 1
        for body in self._told.pop(self._calls, ()):
            self.tell(body)
        return self._calls

    def at_once(self, read: Callable[[msgspec.Raw], T]) -> T | None:
        """The answer to the next call, which does not wait; None if the record has none."""
        answer = self.known(self.begin_call())
        return None if answer is None else read(answer.value)

    def known(self, call: int) -> AnswerBody | None:
        """The answer to a call that came in the stimulus which made it; None: none did."""
        return self._known.pop(call, None)

    async def next(self, read: Callable[[msgspec.Raw], T]) -> T:
        """The answer to the next call."""
        call = self.begin_call()
        answer = self._known.pop(call, None)
        if answer is None:
            waiting = self._awaited[call] = self._loop.create_future()
            answer = await waiting
        if answer.error is not None:
            raise answers.error_of(answer.error)
        return read(answer.value)


class BegunCalls:
    """Calls that no task waits for: who is told of their ends, by their numbers."""

    def __init__(self) -> None:
        self._on_end: dict[int, Callable[[SteersmanError | None], None]] = {}

    def add(self, call: int, on_end: Callable[[SteersmanError | None], None]) -> None:
        self._on_end[call] = on_end

    def end(self, body: CallEndBody) -> None:
        """Tells how the call ended. Raises `StepNotPossible` if it was never begun."""
        on_end = self._on_end.pop(body.call, None)
        if on_end is None:
            raise StepNotPossible(f"call {body.call} was not begun")
        error = None if body.error is None else answers.error_of(body.error)
        on_end(error if error is None or isinstance(error, SteersmanError) else SteersmanError(str(error)))


class ReplayedWriter:
    """An `ApiWriter` that writes nothing, and answers as the API server did."""

    def __init__(self, replayed: ReplayedAnswers, *, binds_at_once: bool = False) -> None:
        self._answers = replayed
        self.binds_at_once = binds_at_once

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        status: Status | None = self._answers.at_once(answers.as_status)
        return status

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return await self._answers.next(answers.as_status)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return bool(await self._answers.next(answers.as_type(bool)))

    async def delete_pod(self, pod: api.Pod) -> bool:
        return bool(await self._answers.next(answers.as_type(bool)))

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return await self._stored(volume)

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return await self._stored(claim)

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return await self._stored(claim)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return await self._stored(claim)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        await self._answers.next(answers.as_type(None))

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        await self._answers.next(answers.as_type(None))

    async def _stored(self, obj: ObjectT) -> ObjectT:
        return await self._answers.next(lambda value: codec.decode(value, type(obj)))

    # Conditions and events of a replay go nowhere; but what the scheduler was told because of them it is told again.

    def report_failure(self, failure: Failure) -> None:
        self._answers.begin_call()

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        self._answers.begin_call()

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        self._answers.begin_call()

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self._answers.begin_call()


class ReplayedBeginner(ReplayedWriter):
    """A `ReplayedWriter` that is a `BindingBeginner`, too."""

    def __init__(self, replayed: ReplayedAnswers, begun: BegunCalls) -> None:
        super().__init__(replayed)
        self._begun = begun

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        call = self._answers.begin_call()
        answer = self._answers.known(call)
        if answer is None:
            self._begun.add(call, on_end)
            return True
        if answer.error is not None:
            raise answers.error_of(answer.error)
        return False

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        return await self._answers.next(answers.as_status)


class ReplayedReader:
    """An `ApiReader` that reads what plugins have read."""

    def __init__(self, replayed: ReplayedAnswers) -> None:
        self._answers = replayed

    async def get(self, kind: type[ObjectT], name: str, namespace: str = "") -> ObjectT | None:
        return await self._answers.next(answers.as_object(kind))

    async def list(
        self, kind: type[ObjectT], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[ObjectT]:
        return await self._answers.next(answers.as_objects(kind))

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        found: dict[str, Any] | None = await self._answers.next(answers.as_type(dict[str, Any] | None))
        return found

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._answers.next(answers.as_type(list[dict[str, Any]]))
        return found


class ReplayedExtender(answers.ExtenderStandIn):
    """An `Extender` that answers as it did; `like` is one with the same settings, which is never asked."""

    def __init__(self, like: Extender, replayed: ReplayedAnswers) -> None:
        super().__init__(like)
        self._answers = replayed

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome:
        outcome: ExtenderFilterOutcome = await self._answers.next(answers.as_outcome)
        return outcome

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        priorities: dict[str, int] = await self._answers.next(answers.as_type(dict[str, int]))
        return priorities

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        await self._answers.next(answers.as_type(None))

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        return await self._answers.next(answers.as_victims(pods_on))
