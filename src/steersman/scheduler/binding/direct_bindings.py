# SPDX-License-Identifier: Apache-2.0
"""Bindings that are a single request: started by a call and completed by a callback, without a task
for each.

`cycle` uses it for pods without PreBind work that DefaultBinder binds, if the writer supports it
(`framework.ports.BindingBeginner`). A request that has to wait, or fails, continues in a task of
its own. The host gets one task, which lives as long as bindings are in progress: cancelling it
undoes all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from steersman.base import SteersmanError
from steersman.framework import BindingBeginner, Code, Spawn
from steersman.scheduler.binding.guarded import Guarded
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.queue import QueuedPodInfo
from steersman.scheduler.runtime.profile import Profile


class DirectBinding(NamedTuple):
    """A pod to bind."""

    queued: QueuedPodInfo
    decision: Scheduled
    profile: Profile
    #: Whether the node had room for the pod when it was chosen.
    fitted: bool
    #: `Cache.external_changes` at that time: while it is unchanged, the node still has room.
    external_changes: int


class DirectBindingEnds(NamedTuple):
    """Callbacks of the binding cycle."""

    #: Returns False if the pod must not be bound any more, after failing its attempt.
    still_fits: Callable[[DirectBinding], bool]
    succeed: Callable[[Scheduled, Profile], None]
    #: Continues in a task, given the error of the first request, if one was sent.
    continue_in_task: Callable[[DirectBinding, SteersmanError | None], Coroutine[Any, Any, None]]
    cancelled: Callable[[QueuedPodInfo, Scheduled, Profile], None]
    #: Handle an internal error: after the pod was bound, and before.
    survived: Callable[[Scheduled, Profile, Exception], object]
    broken: Callable[[QueuedPodInfo, Scheduled, Profile, Exception], None]


class DirectBindings:
    """Runs at most `limit` bindings concurrently; others wait in order."""

    def __init__(self, writer: BindingBeginner, ends: DirectBindingEnds, spawn: Spawn, limit: int) -> None:
        self._writer = writer
        self._ends = ends
        self._spawn = spawn
        self._limit = limit
        self._waiting: deque[DirectBinding] = deque()
        #: Bindings in progress, by the uid of the pod.
        self._in_progress: dict[str, DirectBinding] = {}
        #: Number of bindings that continue in a task and still count as concurrent.
        self._in_tasks = 0
        #: Set when a task ended or all bindings are complete; None if there is no host task.
        self._wake: asyncio.Event | None = None

    def add(self, binding: DirectBinding) -> None:
        """Bind the pod as soon as the limit allows."""
        if self._wake is None:
            wake = asyncio.Event()
            self._spawn(Guarded(self._until_idle(wake), self._undo))
            self._wake = wake
        self._waiting.append(binding)
        self._begin_next()

    @property
    def in_progress(self) -> Sequence[DirectBinding]:
        """Bindings whose requests were sent and not answered, in the order of sending."""
        return tuple(self._in_progress.values())

    @property
    def waiting(self) -> Sequence[DirectBinding]:
        """Bindings whose requests were not sent, in order."""
        return tuple(self._waiting)

    @property
    def has_waiting_task(self) -> bool:
        """Whether the host's task is waiting and has not been woken."""
        return self._wake is not None and not self._wake.is_set()

    def restore_waiting(self, bindings: Iterable[DirectBinding]) -> None:
        """Queue bindings after those that were added."""
        self._waiting.extend(bindings)

    def _begin_next(self) -> None:
        while self._waiting and len(self._in_progress) + self._in_tasks < self._limit:
            self._begin(self._waiting.popleft())
        if self._wake is not None and not self._waiting and not self._in_progress:
            self._wake.set()
            self._wake = None

    def _begin(self, binding: DirectBinding) -> None:
        decision = binding.decision
        try:
            if not self._ends.still_fits(binding):
                return
            self._in_progress[decision.pod.uid] = binding
            ended = partial(self._ended, binding, perf_counter())
            if not self._writer.begin_bind(decision.pod, decision.choice.node, ended):
                del self._in_progress[decision.pod.uid]
                self._go_on(binding, None)
        except Exception as cause:
            self._in_progress.pop(decision.pod.uid, None)
            self._ends.broken(binding.queued, decision, binding.profile, cause)

    def _ended(self, binding: DirectBinding, began: float, failure: SteersmanError | None) -> None:
        """Handle the result of a binding."""
        uid = binding.decision.pod.uid
        if self._in_progress.get(uid) is not binding:
            return  # already undone
        del self._in_progress[uid]
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
            await self._ends.continue_in_task(binding, failure)
        finally:
            self._in_tasks -= 1
            # Not started here: if this task is cancelled, all are about to be, and waiting ones
            # must not begin.
            if self._wake is not None:
                self._wake.set()

    def _cancelled(self, binding: DirectBinding) -> None:
        """Clean up after a task that was cancelled before its first step."""
        self._in_tasks -= 1
        self._ends.cancelled(binding.queued, binding.decision, binding.profile)

    async def _until_idle(self, wake: asyncio.Event) -> None:
        """Body of the host task: starts waiting bindings after one in a task has ended."""
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
        """Undo all bindings; later responses are ignored."""
        undone = [*self._in_progress.values(), *self._waiting]
        self._in_progress.clear()
        self._waiting.clear()
        self._wake = None
        for binding in undone:
            self._ends.cancelled(binding.queued, binding.decision, binding.profile)


def _count(profile: Profile, uid: str, seconds: float) -> None:
    """Report the duration to the metrics of the Bind plugin, which was not called."""
    ran = profile.bind[0].ran
    if ran is not None:
        ran(uid, Code.SUCCESS.label, seconds)
