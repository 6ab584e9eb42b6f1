# SPDX-License-Identifier: Apache-2.0
"""State machine of a pod in the cache.

A pod enters by being assumed (the scheduler decided) or added (by the watch). The table also covers
stale and repeated watch events; any other event raises an error with the history of the pod.
"""

from __future__ import annotations

from enum import StrEnum

from steersman.base import SteersmanError


class CachedPodState(StrEnum):
    ABSENT = "absent"
    ASSUMED = "assumed"
    #: Bound, but not confirmed by the watch yet.
    BINDING_FINISHED = "binding finished"
    ADDED = "added"


class PodEvent(StrEnum):
    ASSUME = "assume"
    FINISH_BINDING = "finish binding"
    FORGET = "forget"
    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"


TRANSITIONS: dict[tuple[CachedPodState, PodEvent], CachedPodState] = {
    (CachedPodState.ABSENT, PodEvent.ASSUME): CachedPodState.ASSUMED,
    (CachedPodState.ABSENT, PodEvent.ADD): CachedPodState.ADDED,
    (CachedPodState.ASSUMED, PodEvent.FINISH_BINDING): CachedPodState.BINDING_FINISHED,
    (CachedPodState.ASSUMED, PodEvent.FORGET): CachedPodState.ABSENT,
    (CachedPodState.ASSUMED, PodEvent.ADD): CachedPodState.ADDED,
    (CachedPodState.ASSUMED, PodEvent.REMOVE): CachedPodState.ABSENT,
    (CachedPodState.BINDING_FINISHED, PodEvent.FINISH_BINDING): CachedPodState.BINDING_FINISHED,
    (CachedPodState.BINDING_FINISHED, PodEvent.FORGET): CachedPodState.ABSENT,
    (CachedPodState.BINDING_FINISHED, PodEvent.ADD): CachedPodState.ADDED,
    (CachedPodState.BINDING_FINISHED, PodEvent.REMOVE): CachedPodState.ABSENT,
    (CachedPodState.ADDED, PodEvent.UPDATE): CachedPodState.ADDED,
    (CachedPodState.ADDED, PodEvent.REMOVE): CachedPodState.ABSENT,
}


class CacheError(SteersmanError):
    """An event that is illegal in the pod's state."""


_MAX_HISTORY = 12


class Life:
    """A state with the history that led to it. Pods with the same history share it: storing it
    costs a pointer, a transition one lookup."""

    __slots__ = ("_next", "_steps", "is_assumed", "state")

    def __init__(self, state: CachedPodState, steps: tuple[str, ...] = ()) -> None:
        self.state = state
        #: Whether the scheduler put the pod on its node and the watch has not confirmed it yet.
        self.is_assumed = state in (CachedPodState.ASSUMED, CachedPodState.BINDING_FINISHED)
        self._steps = steps
        self._next: dict[PodEvent, Life] = {}

    def after(self, event: PodEvent, pod: str) -> Life:
        """Return the state after the event; raise CacheError with the history if it is illegal."""
        return self._next.get(event) or self._extend(event, pod)

    @property
    def history(self) -> str:
        return " → ".join(self._steps)

    def _extend(self, event: PodEvent, pod: str) -> Life:
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            raise illegal(pod, self.state, event, self.history)
        if following is CachedPodState.ABSENT:
            return INITIAL
        steps = (*self._steps, event.value)
        if len(steps) > _MAX_HISTORY:
            # Long histories consist of repeated updates: only the end is kept.
            steps = ("…", *steps[1 - _MAX_HISTORY :])
        known = _lives.setdefault((following, steps), Life(following, steps))
        self._next[event] = known
        return known


_lives: dict[tuple[CachedPodState, tuple[str, ...]], Life] = {}

#: Initial state of every pod.
INITIAL = Life(CachedPodState.ABSENT)


def illegal(pod: str, state: CachedPodState, event: PodEvent, history: str) -> CacheError:
    past = f", after: {history}" if history else ""
    return CacheError(f'pod {pod}: "{event.value}" cannot happen to a pod that is {state.value}{past}')
