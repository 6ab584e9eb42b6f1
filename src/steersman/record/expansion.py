# SPDX-License-Identifier: Apache-2.0
"""Expansion of frames with many items (`items`) into one frame per item.

Instead of items, formats 2 and 3 have a frame per call of a simulation, preceded by its objects
(`OBJECTS`), and one frame for replicas that were scheduled together (`PLACED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.framework import is_custom
from steersman.record.decisions import decision_frame, subjects_of
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameError,
    FrameKind,
    Moment,
    ObjectsBody,
    PlacedBody,
    PlacedPod,
    WatchEventBody,
)
from steersman.record.items import (
    ALL_BOUND,
    AT,
    BINDING,
    BOUND,
    CALL,
    CHANGED,
    DECISION,
    DELETED,
    EXPECTED,
    GIVEN,
    PLACED,
    RESULT_LENGTHS,
    STEP,
    STIMULUS_LENGTHS,
    TICK,
    TOLD,
    object_subject,
    subject_prefix,
)

MAX_COMMAS: Final = {FrameKind.STIMULI: 1 << 22, FrameKind.OBJECTS: 1 << 22, FrameKind.PLACED: 1 << 16}
"""Frames with more commas are rejected to bound a reader's memory: a decoded part is larger than
its text. Recorders end a frame with the stimulus that brings it to 1 MiB, API servers store objects
of at most a few MiB, and schedulers place some dozens of replicas together."""


def delivered_object(body: WatchEventBody, kinds: Mapping[str, type[api.Object]]) -> api.Object | None:
    """Return the object that was delivered to a scheduler; None if its kind is not in `kinds`, and
    for the object count of a list. Raises `InputError`."""
    kind = kinds.get(body.kind)
    return None if kind is None or body.type is EXPECTED else codec.decode(body.object, kind)


def snapshot_object(frame: Frame, kinds: Mapping[str, type[api.Object]]) -> api.Object:
    """Return the object in a snapshot frame. Raises `InputError`."""
    return codec.convert_object(codec.plain(frame.body), filter(is_custom, kinds.values()))


def expanded(frame: Frame) -> Iterable[Frame]:
    """Yield one frame per item in the frame, or the frame itself. Raises `FrameError`."""
    expand = _EXPANDERS.get(frame.kind)
    if expand is None:
        yield frame
        return
    if frame.body.count(b",") > MAX_COMMAS[FrameKind(frame.kind)]:
        raise FrameError("a frame holds more items than any recorder puts into one")
    try:
        yield from expand(frame)
    except (ValueError, KeyError, RecursionError) as error:  # msgspec's and Unicode's errors are ValueErrors
        raise FrameError(f"items cannot be read: {error}") from error


# -- items -------------------------------------------------------------------------------------------------------------


class _WatchLine(msgspec.Struct):
    """A watch event line; fields other than the object are ignored."""

    object: msgspec.Raw


def _expanded_items(frame: Frame) -> Iterator[Frame]:
    """Yield the frames of single stimuli and of their results, in order."""
    parts = msgspec.json.decode(frame.body, type=list[msgspec.Raw])
    at = 0
    while at < len(parts):
        stimulus, after = _stimulus_at(parts, at)
        yield from _frames_of(stimulus, parts[at + len(stimulus) : after], frame.number)
        at = after


def _stimulus_at(parts: list[msgspec.Raw], at: int) -> tuple[list[msgspec.Raw], int]:
    """Return the parts of the stimulus at index `at`, and the index of the next stimulus."""
    name = msgspec.json.decode(parts[at], type=str)
    if name not in STIMULUS_LENGTHS:
        raise ValueError(f"no stimulus is called {name[:40]!r}")
    begin, at = at, at + STIMULUS_LENGTHS[name]
    if at > len(parts):
        raise ValueError("the last stimulus is not complete")
    after = at
    while after < len(parts):
        length = 1
        if bytes(parts[after])[:1] == b'"':
            result = msgspec.json.decode(parts[after], type=str)
            if result in STIMULUS_LENGTHS:
                break
            length = RESULT_LENGTHS[result]
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
        parts = results[at + 1 : at + RESULT_LENGTHS[result]]
        if len(parts) != RESULT_LENGTHS[result] - 1:
            raise ValueError(f"the {result} at its end is not complete")
        if result == ALL_BOUND and at + 2 < len(results):  # at most one, to bound a reader's memory
            raise ValueError("results follow the bindings of replicas")
        made += _bindings(made, parts[0]) if result == ALL_BOUND else (_result(result, parts, time, number),)
        at += RESULT_LENGTHS[result]
    if name == GIVEN:
        yield from _expanded_objects(Frame(FrameKind.OBJECTS, time, (), bytes(stimulus[2]), number))
    elif name == CALL:
        yield Frame(FrameKind.STEP, time, (), bytes(stimulus[2]), number)
    elif name != AT:
        kind, subjects, fields = _stimulus_fields(name, stimulus)
        yield Frame(kind, time, subjects, b'{%b,"clock":[%b]}' % (fields, b",".join(clock)), number)
    yield from made


def _stimulus_fields(name: str, stimulus: list[msgspec.Raw]) -> tuple[FrameKind, tuple[str, ...], bytes]:
    """Return kind, subjects, and the body's fields except the clock."""
    first, *others = (bytes(part) for part in stimulus[2:])
    if name in (CHANGED, DELETED):
        subject, object_text = _subject(first, others[0]), _object_text(others[1])
        return (
            FrameKind.WATCH_EVENT,
            (subject,),
            b'"type":"%b","kind":%b,"object":%b' % (name.encode(), first, object_text),
        )
    if name == EXPECTED:
        return FrameKind.WATCH_EVENT, (), b'"type":"%b","kind":%b,"object":%b' % (name.encode(), first, others[0])
    if name == TICK:
        return FrameKind.TICK, (), b'"what":%b,"task":%b' % (first, others[0])
    if name == STEP:
        return FrameKind.TASK_STEP, (), b'"task":%b,"cause":%b' % (first, others[0])
    return FrameKind.CALL_END, (), b'"call":%b,"error":%b' % (first, others[0])


def _object_text(text: bytes) -> bytes:
    """Return the text of an object that was recorded alone or as a watch event line."""
    if text[:1] != b"[":
        return text
    (line,) = msgspec.json.decode(text, type=tuple[_WatchLine])
    return bytes(line.object)


def _subject(kind: bytes, key: bytes) -> str:
    return subject_prefix(msgspec.json.decode(kind, type=str)) + msgspec.json.decode(key, type=str)


def _result(name: str, parts: list[msgspec.Raw], time: float, number: int) -> Frame:
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
        watch_event = b'{"call":%b,"type":%b,"kind":%b,"object":%b}' % (call, change, kind, obj)
        return Frame(FrameKind.NESTED_WATCH_EVENT, time, (_subject(kind, key),), watch_event, number)
    answer = bytes(parts[0])
    return Frame(FrameKind.ANSWER, time, (), answer if answer[:1] == b"{" else b'{"call":%b}' % answer, number)


def _bindings(made: list[Frame], unbound: msgspec.Raw) -> list[Frame]:
    """Return the bindings of all scheduled pods except those with these UIDs."""
    uids = msgspec.json.decode(unbound, type=set[str])
    decisions = [msgspec.json.decode(one.body, type=DecisionBody) for one in made if one.kind == FrameKind.DECISION]
    bound = (BindingBody(one.pod, one.uid, one.node) for one in decisions if one.node and one.uid not in uids)
    return [decision_frame(body, made[0].time, made[0].number) for body in bound]


# -- objects, and replicas of formats 2 and 3 --------------------------------------------------------------------------


class _ReadObjects(ObjectsBody, frozen=True, rename="camel"):
    """Objects of one kind, not yet decoded."""

    items: list[msgspec.Raw]


class _Name(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, frozen=True):
    """The name and namespace of an object in a record; its other fields are not decoded."""

    metadata: _Name = _Name()


def _expanded_objects(frame: Frame) -> Iterator[Frame]:
    body = msgspec.json.decode(frame.body, type=_ReadObjects)
    for item in body.items:
        name = msgspec.json.decode(item, type=_Named).metadata
        subject = object_subject(body.kind, body.is_namespaced, name.name, name.namespace)
        text = codec.with_kind(body.api_version, body.kind, bytes(item))
        yield Frame(FrameKind.OBJECT, frame.time, (subject,) if body.has_history else (), text, frame.number)


def _expanded_replicas(frame: Frame) -> Iterator[Frame]:
    """Yield the decision and, for bound replicas, the binding of each replica."""
    body = msgspec.json.decode(frame.body, type=PlacedBody)
    for one in body.replicas:
        yield decision_frame(one.decision(body.profile, body.at), frame.time, frame.number)
        if one.uid not in body.not_bound:
            yield decision_frame(BindingBody(one.pod, one.uid, one.node), frame.time, frame.number)


_EXPANDERS: Final[dict[int, Callable[[Frame], Iterator[Frame]]]] = {
    FrameKind.STIMULI: _expanded_items,
    FrameKind.OBJECTS: _expanded_objects,
    FrameKind.PLACED: _expanded_replicas,
}
