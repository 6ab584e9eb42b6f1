# SPDX-License-Identifier: Apache-2.0
"""Stimuli of a live scheduler as the scheduling loop notes them, and as a record has them: many of them in one frame.

A stimulus is a list, which becomes an array of JSON as it is. The scheduling loop does no more than make it, and the thread of
`live_log` hands hundreds of them to the encoder at once; the reader makes single frames of them (`expanded`).

    [time, "CHANGED" or "DELETED", kind, key, object, …]        an object was told
    [time, "EXPECTED", kind, number, …]                         a list came
    [time, "tick", what, task, …]                               the host had the scheduler do something
    [time, "step", task, cause, …]                              a coroutine went on

What came of it follows in order: numbers are readings of the clock; `["decision", …]`, `["binding", …]` and `["answer", …]`
have what their names say; the answer to a call that is the number of the call alone was nothing. `["told", [call, …]]` is an
object that was told in the middle of a call, which has changed it at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from steersman import api
from steersman.api import codec
from steersman.record.decisions import subjects_of
from steersman.record.frames import BindingBody, DecisionBody, Frame, FrameError, FrameKind, WatchedChange
from steersman.record.steps import subject_of

TICK: Final = "tick"
STEP: Final = "step"
DECISION: Final = "decision"
BINDING: Final = "binding"
ANSWER: Final = "answer"
TOLD: Final = "told"
EXPECTED: Final = WatchedChange.EXPECTED

Stimulus: TypeAlias = list[Any]
"""As in the text above, and as long as it has not been written, an `api.Object` in place of a text that is not known."""
_WATCHED_PARTS: Final = 5
_OTHER_PARTS: Final = 4


class SegmentItem(NamedTuple):
    """A new segment begins with these: frames, or objects that have yet to be written as such."""

    time: float
    frames: Sequence[Frame | api.Object]
    #: Frames before it are missing.
    is_after_gap: bool


@lru_cache(maxsize=256)
def kind_text(kind: type[api.Object]) -> str:
    """How a record names a kind: `v1/Pod`, `apps/v1/ReplicaSet`."""
    return f"{kind.API_VERSION}/{kind.KIND}"


def object_frame(obj: api.Object, time: float) -> Frame:
    """An object of a snapshot."""
    return Frame(FrameKind.OBJECT, time, (subject_of(obj),), codec.encode(obj))


# -- writing -----------------------------------------------------------------------------------------------------------


class StimulusBatch:
    """Stimuli that are written together."""

    def __init__(self) -> None:
        self._stimuli: list[Stimulus] = []
        #: The objects that they are about.
        self.names: set[str] = set()
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._stimuli)

    def add(self, stimulus: Stimulus, size: int) -> None:
        self._stimuli.append(stimulus)
        self.size += size
        what, first = stimulus[1], _OTHER_PARTS
        if what is not TICK and what is not STEP and what is not EXPECTED:
            first = _WATCHED_PARTS
            self.names.add(_subject_prefix(stimulus[2]) + stimulus[3])
            if isinstance(stimulus[4], api.Object):
                stimulus[4] = msgspec.Raw(codec.encode(stimulus[4]))
        if len(stimulus) > first:
            for part in stimulus[first:]:
                if part.__class__ is not list or part[0] is ANSWER:
                    continue
                if part[0] is TOLD:
                    self._add_told(part[1])
                else:
                    self.names.update(subjects_of(part[1]))

    def _add_told(self, told: list[Any]) -> None:
        self.names.add(_subject_prefix(told[2]) + told[3])
        told[4] = msgspec.Raw(codec.encode(told[4]))

    def frame(self) -> Frame:
        return Frame(FrameKind.STIMULI, self._stimuli[0][0], (), msgspec.json.encode(self._stimuli))

    @property
    def until(self) -> float:
        """The time of the last one."""
        until: float = self._stimuli[-1][0]
        return until


@lru_cache(maxsize=256)
def _subject_prefix(kind: str) -> str:
    """What the names of objects of a kind begin with."""
    return f"{kind.rpartition('/')[2].lower()}/"


# -- reading -----------------------------------------------------------------------------------------------------------


def expanded(frame: Frame) -> Iterator[Frame]:
    """The frames of single stimuli, and of what came of them, each in turn. Raises `FrameError`."""
    try:
        for parts in msgspec.json.decode(frame.body, type=list[list[msgspec.Raw]]):
            yield from _frames_of(parts, frame.number)
    except (
        ValueError,
        IndexError,
        KeyError,
        RecursionError,
    ) as error:  # msgspec's and Unicode's errors are ValueErrors
        raise FrameError(f"stimuli cannot be read: {error}") from error


def _frames_of(parts: list[msgspec.Raw], number: int) -> Iterator[Frame]:
    time, what = float(bytes(parts[0])), msgspec.json.decode(parts[1], type=str)
    is_object = what in (WatchedChange.CHANGED, WatchedChange.DELETED)
    first = _WATCHED_PARTS if is_object else _OTHER_PARTS
    rest = parts[first:]
    clock = b",".join(bytes(part) for part in rest if bytes(part)[:1] != b"[")
    subjects: tuple[str, ...] = ()
    if is_object:
        kind, key = (msgspec.json.decode(part, type=str) for part in parts[2:4])
        subjects = (_subject_prefix(kind) + key,)
        body = b'{"type":%b,"kind":%b,"clock":[%b],"object":%b}' % (*map(bytes, parts[1:3]), clock, bytes(parts[4]))
        kind_of_frame = FrameKind.WATCH_EVENT
    elif what == WatchedChange.EXPECTED:
        body = b'{"type":%b,"kind":%b,"clock":[%b],"object":%b}' % (*map(bytes, parts[1:3]), clock, bytes(parts[3]))
        kind_of_frame = FrameKind.WATCH_EVENT
    elif what == TICK:
        body = b'{"what":%b,"task":%b,"clock":[%b]}' % (*map(bytes, parts[2:4]), clock)
        kind_of_frame = FrameKind.TICK
    else:
        body = b'{"task":%b,"cause":%b,"clock":[%b]}' % (*map(bytes, parts[2:4]), clock)
        kind_of_frame = FrameKind.TASK_STEP
    yield Frame(kind_of_frame, time, subjects, body, number)
    for part in rest:
        if bytes(part)[:1] == b"[":
            yield _result(part, time, number)


def _result(part: msgspec.Raw, time: float, number: int) -> Frame:
    name, body = msgspec.json.decode(part, type=tuple[str, msgspec.Raw])
    if name == DECISION:
        decision = msgspec.json.decode(body, type=DecisionBody)
        return Frame(FrameKind.DECISION, time, subjects_of(decision), bytes(body), number)
    if name == BINDING:
        binding = msgspec.json.decode(body, type=BindingBody)
        return Frame(FrameKind.BINDING, time, subjects_of(binding), bytes(body), number)
    if name == TOLD:
        call, change, kind, key, obj = msgspec.json.decode(body, type=list[msgspec.Raw])
        subject = _subject_prefix(msgspec.json.decode(kind, type=str)) + msgspec.json.decode(key, type=str)
        told = b'{"call":%b,"type":%b,"kind":%b,"object":%b}' % tuple(map(bytes, (call, change, kind, obj)))
        return Frame(FrameKind.TOLD_MEANWHILE, time, (subject,), told, number)
    is_nothing = bytes(body)[:1] != b"{"
    return Frame(FrameKind.ANSWER, time, (), b'{"call":%b}' % bytes(body) if is_nothing else bytes(body), number)
