# SPDX-License-Identifier: Apache-2.0
"""Bindings without a task for each: their turns, what fails, and the end of the host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from tests.client.serving import run

from steersman.base.errors import SteersmanError
from steersman.base.internal_errors import InternalErrors
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import Status
from steersman.run.app.process import Bindings
from steersman.scheduler.binding.direct_bindings import DirectBinding, DirectBindingEnds, DirectBindings
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.engine.evaluation import Choice
from steersman.scheduler.queue import QueuedPodInfo
from steersman.scheduler.runtime.profile import Profile, RawCall
from steersman.testing import make_pod

MOST = 2
Ended = Callable[[SteersmanError | None], None]


class Story:
    """A writer and the ends of bindings, which write down what happens."""

    def __init__(self, bindings: Bindings) -> None:
        self.told: list[str] = []
        self.open: dict[str, Ended] = {}
        #: Pods that cannot begin at once.
        self.must_wait: set[str] = set()
        self.full: set[str] = set()
        self.finish = asyncio.Event()
        self.breaks = ""
        ends = DirectBindingEnds(
            self._still_fits, self._succeed, self._bind_in_task, self._cancelled, self._survived, self._broken
        )
        self.direct = DirectBindings(self, ends, bindings.spawn, MOST)
        bind = (RawCall("DefaultBinder", self, lambda *given: None),)
        self._profile = cast(Profile, _BareProfile(bind))

    def add(self, *names: str) -> None:
        shapes = PodShapes()
        for name in names:
            pod = make_pod(name).uid(name).obj()
            decision = Scheduled(shapes.info(pod), "profile", Choice("n1", 1), 1, CycleState())
            self.direct.add(DirectBinding(QueuedPodInfo(pod, 0, 0), decision, self._profile, True, 0))

    # -- BindingBeginner ---------------------------------------------------------------------------------------------

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Ended) -> bool:
        if pod.name == self.breaks:
            raise RuntimeError("a bug")
        if pod.name in self.must_wait:
            return False
        self.told.append(f"{pod.name} begins")
        self.open[pod.name] = on_end
        return True

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        raise AssertionError("the binding cycle does that")

    # -- ends --------------------------------------------------------------------------------------------------------

    def _still_fits(self, binding: DirectBinding) -> bool:
        return binding.decision.pod.name not in self.full

    def _succeed(self, decision: Scheduled, profile: Profile) -> None:
        self.told.append(f"{decision.pod.name} is bound")
        if decision.pod.name == self.breaks:
            raise RuntimeError("a bug")

    async def _bind_in_task(self, binding: DirectBinding, failure: SteersmanError | None) -> None:
        name = binding.decision.pod.name
        self.told.append(f"{name} goes on in a task after {failure}")
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.told.append(f"{name} is cancelled in its task")
            raise

    def _cancelled(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        self.told.append(f"{decision.pod.name} is cancelled")

    def _survived(self, decision: Scheduled, profile: Profile, cause: Exception) -> None:
        self.told.append(f"{decision.pod.name}: {cause} was survived")

    def _broken(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, cause: Exception) -> None:
        self.told.append(f"{decision.pod.name} fails: {cause}")


class _BareProfile:
    def __init__(self, bind: tuple[RawCall, ...]) -> None:
        self.bind = bind


def test_pods_take_turns_in_their_order() -> None:
    async def scenario() -> None:
        async with Bindings() as bindings:
            story = Story(bindings)
            story.add("a", "b", "c", "d")
            assert story.told == ["a begins", "b begins"]
            story.open["b"](None)
            assert story.told[2:] == ["b is bound", "c begins"]
            for name in ("a", "c", "d"):
                story.open[name](None)
            await bindings.finish(1.0)
            assert len(bindings) == 0
            assert story.told[4:] == ["a is bound", "d begins", "c is bound", "d is bound"]

    run(scenario())


def test_a_failure_goes_on_in_a_task_and_keeps_its_turn() -> None:
    async def scenario() -> None:
        async with Bindings() as bindings:
            story = Story(bindings)
            story.add("a", "b", "c")
            story.open["a"](SteersmanError("no answer"))
            await asyncio.sleep(0)
            assert story.told == ["a begins", "b begins", "a goes on in a task after no answer"]
            story.finish.set()
            for _ in range(4):
                await asyncio.sleep(0)
            assert story.told[3:] == ["c begins"]

    run(scenario())


def test_what_cannot_begin_at_once_keeps_its_turn_so_that_those_behind_it_wait() -> None:
    async def scenario() -> None:
        async with Bindings() as bindings:
            story = Story(bindings)
            story.must_wait = {"a", "b"}
            story.add("a", "b", "c")
            await asyncio.sleep(0)
            assert story.told == [f"{name} goes on in a task after None" for name in ("a", "b")]
            story.finish.set()
            for _ in range(4):
                await asyncio.sleep(0)
            assert story.told[2:] == ["c begins"]

    run(scenario())


def test_a_pod_without_room_leaves_its_turn_to_the_next() -> None:
    async def scenario() -> None:
        async with Bindings() as bindings:
            story = Story(bindings)
            story.full = {"a"}
            story.add("a", "b")
            assert story.told == ["b begins"]

    run(scenario())


def test_cancelling_the_host_task_undoes_everything_and_late_answers_are_ignored() -> None:
    async def scenario() -> None:
        async with Bindings() as bindings:
            story = Story(bindings)
            story.must_wait = {"b"}
            story.add("a", "b", "c")
            await asyncio.sleep(0)
            await bindings.undo()
            assert sorted(story.told[2:]) == ["a is cancelled", "b is cancelled in its task", "c is cancelled"]
            story.open["a"](None)
            story.add("d")
            assert story.told[-1] == "d begins"

    run(scenario())


@pytest.mark.parametrize("begun", [False, True])
def test_a_host_that_ends_before_the_first_step_undoes_everything_too(begun: bool) -> None:
    async def scenario() -> None:
        async with Bindings() as bindings:
            story = Story(bindings)
            story.must_wait = set() if begun else {"a"}
            story.add("a", "b")
            await bindings.undo()
            assert {"a is cancelled", "b is cancelled"} <= set(story.told)

    run(scenario())


def test_a_bug_with_one_pod_is_no_matter_of_the_others() -> None:
    async def scenario() -> None:
        async with Bindings(InternalErrors()) as bindings:
            story = Story(bindings)
            story.breaks = "a"
            story.add("a", "b")
            assert story.told == ["a fails: a bug", "b begins"]
            story.breaks = "b"
            story.open["b"](None)
            assert story.told[2:] == ["b is bound", "b: a bug was survived"]

    run(scenario())
