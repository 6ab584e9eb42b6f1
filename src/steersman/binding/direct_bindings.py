# SPDX-License-Identifier: Apache-2.0
"""Bindings that are one request and nothing else: begun by a call, ended by another, without a task for each.

`cycle` leaves those pods to it that no plugin has PreBind work for and DefaultBinder binds, where the writer can do that
(`framework.ports.BindingBeginner`). A request that has to wait, or fails, goes on in a task of its own. The host knows of one
task, which lasts as long as something is under way here: whoever cancels it undoes all of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from steersman.binding.guarded import Guarded
from steersman.cycle.decision import Scheduled
from steersman.errors import SteersmanError
from steersman.framework.ports import BindingBeginner, Spawn
from steersman.framework.status import Code
from steersman.queue import QueuedPodInfo
from steersman.runtime.profile import Profile


class DirectBinding(NamedTuple):
    """A pod that is to be bound."""

    queued: QueuedPodInfo
    decision: Scheduled
    profile: Profile
    #: The node had room for the pod when it was chosen.
    fitted: bool
    #: `Cache.foreign_changes` at that time: as long as there are no more of them, the node has room still.
    foreign_changes: int


class DirectBindingEnds(NamedTuple):
    """How bindings end; provided by the binding cycle."""

    #: False: the pod must not be bound any more, and has been taken care of.
    still_fits: Callable[[DirectBinding], bool]
    succeed: Callable[[Scheduled, Profile], None]
    #: Goes on in a task; with the failure of the first request, or None if there was none.
    by_task: Callable[[DirectBinding, SteersmanError | None], Coroutine[Any, Any, None]]
    cancelled: Callable[[QueuedPodInfo, Scheduled, Profile], None]
    #: A programming error: of a pod that is bound nevertheless, and of one that is not.
    survived: Callable[[Scheduled, Profile, Exception], object]
    broken: Callable[[QueuedPodInfo, Scheduled, Profile, Exception], None]


class DirectBindings:
    """At most so many at once; the others wait, first come first served."""

    def __init__(self, writer: BindingBeginner, ends: DirectBindingEnds, spawn: Spawn, most: int) -> None:
        self._writer = writer
        self._ends = ends
        self._spawn = spawn
        self._most = most
        self._waiting: deque[DirectBinding] = deque()
        #: By the uid of the pod.
        self._under_way: dict[str, DirectBinding] = {}
        #: How many go on in a task; their turn is not over.
        self._in_tasks = 0
        #: Wakes the task that the host knows of: a turn is free, or nothing is left to do. None: there is no such task.
        self._wake: asyncio.Event | None = None

    def add(self, binding: DirectBinding) -> None:
        """Binds the pod as soon as it is its turn."""
        if self._wake is None:
            wake = asyncio.Event()
            self._spawn(Guarded(self._until_idle(wake), self._undo))
            self._wake = wake
        self._waiting.append(binding)
        self._begin_next()

    def _begin_next(self) -> None:
        while self._waiting and len(self._under_way) + self._in_tasks < self._most:
            self._begin(self._waiting.popleft())
        if self._wake is not None and not self._waiting and not self._under_way:
            self._wake.set()
            self._wake = None

    def _begin(self, binding: DirectBinding) -> None:
        decision = binding.decision
        try:
            if not self._ends.still_fits(binding):
                return
            self._under_way[decision.pod.uid] = binding
            ended = partial(self._ended, binding, perf_counter())
            if not self._writer.begin_bind(decision.pod, decision.choice.node, ended):
                del self._under_way[decision.pod.uid]
                self._go_on(binding, None)
        except Exception as cause:
            self._under_way.pop(decision.pod.uid, None)
            self._ends.broken(binding.queued, decision, binding.profile, cause)

    def _ended(self, binding: DirectBinding, began: float, failure: SteersmanError | None) -> None:
        """Takes the outcome of a binding, which the writer tells."""
        uid = binding.decision.pod.uid
        if self._under_way.get(uid) is not binding:
            return  # undone meanwhile
        del self._under_way[uid]
        try:
            if failure is None:
                self._succeeded(binding, perf_counter() - began)
            else:
                self._go_on(binding, failure)
        finally:
            self._begin_next()

    def _succeeded(self, binding: DirectBinding, seconds: float) -> None:
        decision, profile = binding.decision, binding.profile
        try:
            _count(profile, decision.pod.uid, seconds)
            self._ends.succeed(decision, profile)
        except Exception as cause:
            self._ends.survived(decision, profile, cause)

    def _go_on(self, binding: DirectBinding, failure: SteersmanError | None) -> None:
        self._spawn(Guarded(self._in_task(binding, failure), partial(self._cancelled, binding)))
        self._in_tasks += 1

    async def _in_task(self, binding: DirectBinding, failure: SteersmanError | None) -> None:
        try:
            await self._ends.by_task(binding, failure)
        finally:
            self._in_tasks -= 1
            # Not at once: who cancels this task is about to cancel all, and those that wait must not begin then.
            if self._wake is not None:
                self._wake.set()

    def _cancelled(self, binding: DirectBinding) -> None:
        """The task of a binding has ended before its first step."""
        self._in_tasks -= 1
        self._ends.cancelled(binding.queued, binding.decision, binding.profile)

    async def _until_idle(self, wake: asyncio.Event) -> None:
        """The task that the host knows of: begins what waits when a binding in a task has left its turn."""
        try:
            while self._wake is wake:
                await wake.wait()
                if self._wake is wake:
                    wake.clear()
                    self._begin_next()
        except asyncio.CancelledError:
            self._undo()
            raise

    def _undo(self) -> None:
        """Gives everything back; answers that come later are not listened to."""
        undone = [*self._under_way.values(), *self._waiting]
        self._under_way.clear()
        self._waiting.clear()
        self._wake = None
        for binding in undone:
            self._ends.cancelled(binding.queued, binding.decision, binding.profile)


def _count(profile: Profile, uid: str, seconds: float) -> None:
    """Tells who times the Bind plugin, which was not called, what its work took."""
    ran = profile.bind[0].ran
    if ran is not None:
        ran(uid, Code.SUCCESS.label, seconds)
