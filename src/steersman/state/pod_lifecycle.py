"""The life of a pod in the cache, as a table.

A pod enters by being assumed (the scheduler decided) or added (the API server says so). What a stale or repeated watch
event does to it is in the table too; anything else is a fault and raises with the story so far.
"""

from __future__ import annotations

from enum import StrEnum

from steersman.errors import SteersmanError


class PodState(StrEnum):
    ABSENT = "absent"
    ASSUMED = "assumed"
    #: Bound as far as we know, but the watch has not shown it yet. May expire.
    BINDING_FINISHED = "binding finished"
    ADDED = "added"


class PodEvent(StrEnum):
    ASSUME = "assume"
    FINISH_BINDING = "finish binding"
    FORGET = "forget"
    EXPIRE = "expire"
    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"


TRANSITIONS: dict[tuple[PodState, PodEvent], PodState] = {
    (PodState.ABSENT, PodEvent.ASSUME): PodState.ASSUMED,
    (PodState.ABSENT, PodEvent.ADD): PodState.ADDED,
    (PodState.ASSUMED, PodEvent.FINISH_BINDING): PodState.BINDING_FINISHED,
    (PodState.ASSUMED, PodEvent.FORGET): PodState.ABSENT,
    (PodState.ASSUMED, PodEvent.ADD): PodState.ADDED,
    (PodState.ASSUMED, PodEvent.REMOVE): PodState.ABSENT,
    (PodState.BINDING_FINISHED, PodEvent.FINISH_BINDING): PodState.BINDING_FINISHED,
    (PodState.BINDING_FINISHED, PodEvent.FORGET): PodState.ABSENT,
    (PodState.BINDING_FINISHED, PodEvent.EXPIRE): PodState.ABSENT,
    (PodState.BINDING_FINISHED, PodEvent.ADD): PodState.ADDED,
    (PodState.BINDING_FINISHED, PodEvent.REMOVE): PodState.ABSENT,
    (PodState.ADDED, PodEvent.UPDATE): PodState.ADDED,
    (PodState.ADDED, PodEvent.REMOVE): PodState.ABSENT,
}


class CacheError(SteersmanError):
    """An event that cannot follow what happened to the pod before."""


_LONGEST_STORY = 12
_stories: dict[tuple[str, PodEvent], str] = {}


def extend_story(story: str, event: PodEvent) -> str:
    """The story with one more event; equal stories are one string, so that keeping them costs a pointer."""
    known = _stories.get((story, event))
    if known is None:
        steps = [*story.split(" → "), event.value] if story else [event.value]
        if len(steps) > _LONGEST_STORY:
            steps = ["…", *steps[-_LONGEST_STORY:]]
        known = _stories.setdefault((story, event), " → ".join(steps))
    return known


def next_state(pod: str, state: PodState, event: PodEvent, story: str) -> PodState:
    following = TRANSITIONS.get((state, event))
    if following is None:
        raise illegal(pod, state, event, story)
    return following


def illegal(pod: str, state: PodState, event: PodEvent, story: str) -> CacheError:
    past = f", after: {story}" if story else ""
    return CacheError(f'pod {pod}: "{event.value}" cannot happen to a pod that is {state.value}{past}')
