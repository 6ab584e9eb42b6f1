# SPDX-License-Identifier: Apache-2.0
"""The life of a pod in the cache, as a table.

A pod enters by being assumed (the scheduler decided) or added (the API server says so). What a stale or repeated watch
event does to it is in the table too; anything else is a fault and raises with the story so far.
"""

from __future__ import annotations

from enum import StrEnum

from steersman.errors import SteersmanError


class CachedPodState(StrEnum):
    ABSENT = "absent"
    ASSUMED = "assumed"
    #: Bound as far as we know, but the watch has not shown it yet.
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
    """An event that cannot follow what happened to the pod before."""


_LONGEST_STORY = 12


class Life:
    """A state together with the way that led there. Pods that went the same way share it: keeping it costs a pointer, the
    next step one look-up."""

    __slots__ = ("_next", "_steps", "is_assumed", "state")

    def __init__(self, state: CachedPodState, steps: tuple[str, ...] = ()) -> None:
        self.state = state
        #: The scheduler put it on its node, and the watch has not confirmed it yet.
        self.is_assumed = state in (CachedPodState.ASSUMED, CachedPodState.BINDING_FINISHED)
        self._steps = steps
        self._next: dict[PodEvent, Life] = {}

    def after(self, event: PodEvent, pod: str) -> Life:
        """CacheError when the event cannot happen now, with the story so far."""
        return self._next.get(event) or self._extend(event, pod)

    @property
    def story(self) -> str:
        return " → ".join(self._steps)

    def _extend(self, event: PodEvent, pod: str) -> Life:
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            raise illegal(pod, self.state, event, self.story)
        if following is CachedPodState.ABSENT:
            return UNBORN
        steps = (*self._steps, event.value)
        if len(steps) > _LONGEST_STORY:
            # Long lives are updates over and over: what was before them is cut off.
            steps = ("…", *steps[1 - _LONGEST_STORY :])
        known = _lives.setdefault((following, steps), Life(following, steps))
        self._next[event] = known
        return known


_lives: dict[tuple[CachedPodState, tuple[str, ...]], Life] = {}

#: Where every pod begins.
UNBORN = Life(CachedPodState.ABSENT)


def illegal(pod: str, state: CachedPodState, event: PodEvent, story: str) -> CacheError:
    past = f", after: {story}" if story else ""
    return CacheError(f'pod {pod}: "{event.value}" cannot happen to a pod that is {state.value}{past}')
