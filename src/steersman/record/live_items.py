# SPDX-License-Identifier: Apache-2.0
"""Stimuli of a live scheduler as the scheduling loop notes them, and as a record has them: many of them in one frame.

A stimulus is a few parts of a list, which becomes an array of JSON as it is. The scheduling loop appends to it, and hands some
hundred parts to the encoder at once, while they are still in the processor's cache; so nothing but bytes waits to be written.
The reader makes single frames of them (`expanded`).

    "CHANGED" or "DELETED", time, kind, key, object             an object was told; as the line of a watch in brackets: [line]
    "EXPECTED", time, kind, number                              a list came
    "tick", time, what, task                                    the host had the scheduler do something
    "step", time, task, cause                                   a coroutine went on
    "end", time, call, error or null                            a call that no task waits for has ended

What came of it follows in order: numbers are readings of the clock; a body of its own follows each `"decision"`, `"binding"`
and `"answer"`; an answer that is the number of its call alone was nothing. Most decisions and bindings are shorter: `"placed"`,
profile, [pod, uid, node, …] and `"bound"`, pod, uid, node. `"told"`, call, change, kind, key, object is an object that was told
in the middle of a call, which has changed it at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec

from steersman import api
from steersman.api import codec
from steersman.framework.watching import is_custom
from steersman.record.decisions import decision_frame, subjects_of
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameError,
    FrameKind,
    Moment,
    PlacedPod,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.given_objects import subject_of
from steersman.record.segments import name_hash

CHANGED: Final = WatchedChange.CHANGED
DELETED: Final = WatchedChange.DELETED
EXPECTED: Final = WatchedChange.EXPECTED
TICK: Final = "tick"
STEP: Final = "step"
END: Final = "end"
DECISION: Final = "decision"
BINDING: Final = "binding"
PLACED: Final = "placed"
BOUND: Final = "bound"
ANSWER: Final = "answer"
TOLD: Final = "told"

MOST_COMMAS: Final = 1 << 22
"""A frame of stimuli has fewer, so that a reader's memory is bounded: a part takes more of it than its text. Writers end a
frame with the stimulus that brings it to a mebibyte, and no API server stores objects of more than a few."""

_LENGTHS: Final = {
    CHANGED: 5,
    DELETED: 5,
    EXPECTED: 4,
    TICK: 4,
    STEP: 4,
    END: 4,
    DECISION: 2,
    BINDING: 2,
    PLACED: 3,
    BOUND: 4,
    ANSWER: 2,
    TOLD: 6,
}
"""How many parts belong together, by the name that they begin with."""
_STIMULI: Final = frozenset({CHANGED, DELETED, EXPECTED, TICK, STEP, END})
_POD_HASH: Final = name_hash("pod/")


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


class NotedParts:
    """Parts of stimuli that wait to be written. The scheduling loop appends, and says up to where stimuli are complete. Whoever
    takes them holds the lock of the log: the loop when many have come together, the thread when they have waited for long."""

    __slots__ = ("complete", "nodes", "objects", "others", "parts", "pods", "taken", "text_bytes")

    def __init__(self) -> None:
        self.parts: list[Any] = []
        #: So many parts are of complete stimuli, and so many bytes are texts of objects.
        self.complete = self.text_bytes = 0
        #: The objects that the stimuli are about: keys of pods, names of nodes, and names of others with their kinds.
        self.pods: set[str] = set()
        self.nodes: set[str] = set()
        self.others: set[str] = set()
        #: Where objects are whose text was not known.
        self.objects: deque[int] = deque()
        #: So many parts were taken.
        self.taken = 0

    def frame(self) -> Frame | None:
        """Takes the stimuli that were completed since the last time, as one frame; None: none were."""
        taken, complete = self.taken, self.complete
        if taken == complete:
            return None
        self.taken = complete
        parts = self.parts[taken:complete]
        while self.objects and self.objects[0] < complete:
            at = self.objects.popleft() - taken
            parts[at] = msgspec.Raw(codec.encode(parts[at]))
        last = next(at for at in reversed(range(len(parts))) if _begins_stimulus(parts, at))
        body = msgspec.json.encode(parts)
        return Frame(FrameKind.STIMULI, parts[1], (), body, name_hashes=self._name_hashes(), until=parts[last + 1])

    def _name_hashes(self) -> set[int]:
        """Hashes of the objects' names, for the index of a block: of those that were taken before, too."""
        # Copies, made in one step: the scheduling loop may be about to add the names of a stimulus that is not complete, and
        # they belong to the next frame as well.
        found = {crc32(key.encode(errors="replace"), _POD_HASH) for key in self.pods.copy()}
        found.update([_node_hash(name) for name in self.nodes.copy()])
        found.update(map(name_hash, self.others.copy()))
        return found


def _begins_stimulus(parts: list[Any], at: int) -> bool:
    """Whether the part is the name of a stimulus, which its time follows, and not a text that happens to be the same."""
    part = parts[at]
    return isinstance(part, str) and part in _STIMULI and parts[at + 1].__class__ is float


@lru_cache(maxsize=1 << 14)
def _node_hash(name: str) -> int:
    return name_hash(f"node/{name}")


@lru_cache(maxsize=256)
def subject_prefix(kind: str) -> str:
    """The beginning of the names of a kind's objects: `pod/`."""
    return f"{kind.rpartition('/')[2].lower()}/"


# -- reading -----------------------------------------------------------------------------------------------------------


def told_object(body: WatchEventBody, kinds: Mapping[str, type[api.Object]]) -> api.Object | None:
    """The object that a scheduler was told of. None for one of a kind that is not among `kinds`, and for the number of objects
    in a list. Raises `InputError`."""
    kind = kinds.get(body.kind)
    return None if kind is None or body.type is EXPECTED else codec.decode(body.object, kind)


def snapshot_object(frame: Frame, kinds: Mapping[str, type[api.Object]]) -> api.Object:
    """The object of a frame of a snapshot. Raises `InputError`."""
    return codec.convert_object(codec.plain(frame.body), filter(is_custom, kinds.values()))


class _WatchLine(msgspec.Struct):
    """The line of a watch, as far as it matters here."""

    object: msgspec.Raw


def expanded(frame: Frame) -> Iterator[Frame]:
    """The frames of single stimuli, and of what came of them, each in turn. Raises `FrameError`."""
    if frame.body.count(b",") > MOST_COMMAS:
        raise FrameError("a frame has more stimuli than any writer puts into one")
    try:
        parts = msgspec.json.decode(frame.body, type=list[msgspec.Raw])
        at = 0
        while at < len(parts):
            stimulus, after = _stimulus_at(parts, at)
            yield from _frames_of(stimulus, parts[at + len(stimulus) : after], frame.number)
            at = after
    except (ValueError, KeyError, RecursionError) as error:  # msgspec's and Unicode's errors are ValueErrors
        raise FrameError(f"stimuli cannot be read: {error}") from error


def _stimulus_at(parts: list[msgspec.Raw], at: int) -> tuple[list[msgspec.Raw], int]:
    """The parts of the stimulus that begins there, and where the next one begins."""
    name = msgspec.json.decode(parts[at], type=str)
    if name not in _STIMULI:
        raise ValueError(f"no stimulus is called {name[:40]!r}")
    begin, at = at, at + _LENGTHS[name]
    if at > len(parts):
        raise ValueError("the last stimulus is not complete")
    after = at
    while after < len(parts):
        length = 1
        if bytes(parts[after])[:1] == b'"':
            result = msgspec.json.decode(parts[after], type=str)
            if result in _STIMULI:
                break
            length = _LENGTHS[result]
        after += length
    return parts[begin:at], after


def _frames_of(stimulus: list[msgspec.Raw], results: list[msgspec.Raw], number: int) -> Iterator[Frame]:
    name, time = msgspec.json.decode(stimulus[0], type=str), msgspec.json.decode(stimulus[1], type=Moment)
    made: list[Frame] = []
    clock: list[bytes] = []
    at = 0
    while at < len(results):
        part = bytes(results[at])
        if part[:1] != b'"':
            clock.append(part)
            at += 1
            continue
        result = msgspec.json.decode(part, type=str)
        made.append(_result(result, results[at + 1 : at + _LENGTHS[result]], time, number))
        at += _LENGTHS[result]
    kind, subjects, fields = _stimulus_fields(name, stimulus)
    yield Frame(kind, time, subjects, b'{%b,"clock":[%b]}' % (fields, b",".join(clock)), number)
    yield from made


def _stimulus_fields(name: str, stimulus: list[msgspec.Raw]) -> tuple[FrameKind, tuple[str, ...], bytes]:
    """Kind, subjects and the fields of the body but for the clock."""
    first, *others = (bytes(part) for part in stimulus[2:])
    if name in (CHANGED, DELETED):
        subject, told = _subject(first, others[0]), _object_text(others[1])
        return FrameKind.WATCH_EVENT, (subject,), b'"type":"%b","kind":%b,"object":%b' % (name.encode(), first, told)
    if name == EXPECTED:
        return FrameKind.WATCH_EVENT, (), b'"type":"%b","kind":%b,"object":%b' % (name.encode(), first, others[0])
    if name == TICK:
        return FrameKind.TICK, (), b'"what":%b,"task":%b' % (first, others[0])
    if name == STEP:
        return FrameKind.TASK_STEP, (), b'"task":%b,"cause":%b' % (first, others[0])
    return FrameKind.CALL_END, (), b'"call":%b,"error":%b' % (first, others[0])


def _object_text(told: bytes) -> bytes:
    """The text of an object that was recorded by itself, or with the line of the watch that it came in."""
    if told[:1] != b"[":
        return told
    (line,) = msgspec.json.decode(told, type=tuple[_WatchLine])
    return bytes(line.object)


def _subject(kind: bytes, key: bytes) -> str:
    return subject_prefix(msgspec.json.decode(kind, type=str)) + msgspec.json.decode(key, type=str)


def _result(name: str, parts: list[msgspec.Raw], time: float, number: int) -> Frame:
    if len(parts) != _LENGTHS[name] - 1:
        raise ValueError(f"the {name} at its end is not complete")
    if name == DECISION:
        decision = msgspec.json.decode(parts[0], type=DecisionBody)
        return Frame(FrameKind.DECISION, time, subjects_of(decision), bytes(parts[0]), number)
    if name == BINDING:
        binding = msgspec.json.decode(parts[0], type=BindingBody)
        return Frame(FrameKind.BINDING, time, subjects_of(binding), bytes(parts[0]), number)
    if name == PLACED:
        placed = msgspec.json.decode(parts[1], type=PlacedPod)
        return decision_frame(placed.decision(msgspec.json.decode(parts[0], type=str), time), time, number)
    if name == BOUND:
        pod, uid, node = (msgspec.json.decode(part, type=str) for part in parts)
        return decision_frame(BindingBody(pod, uid, node), time, number)
    if name == TOLD:
        call, change, kind, key, obj = map(bytes, parts)
        told = b'{"call":%b,"type":%b,"kind":%b,"object":%b}' % (call, change, kind, obj)
        return Frame(FrameKind.TOLD_MEANWHILE, time, (_subject(kind, key),), told, number)
    answer = bytes(parts[0])
    return Frame(FrameKind.ANSWER, time, (), answer if answer[:1] == b"{" else b'{"call":%b}' % answer, number)
