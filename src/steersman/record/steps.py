# SPDX-License-Identifier: Apache-2.0
"""Steps of a simulation as frames, and back: frames of the objects that are given, and one for the step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from steersman import api
from steersman.api import codec
from steersman.errors import InputError
from steersman.framework.watching import is_custom
from steersman.internal_errors import describe
from steersman.kubelets.durations import LONGEST_SECONDS
from steersman.record.frames import Frame, FrameKind, StepBody, encoded
from steersman.record.given_objects import object_frames
from steersman.sim import Simulation
from steersman.sim.journal import JournaledCall
from steersman.sim.sources import Gathered, Given

_ADD = "_add"
_DELETE = "_delete"
_LEAVE_OUT = "leave_out"
_GOING_ON = frozenset({"run", "advance"})
"""Steps that say until when time goes on."""
METHODS = frozenset(
    {
        *("_add", "_delete", "patch", "evict", "crash", "recover", "reboot", "drain", "cordon", "uncordon"),
        *("run", "advance", "settle", "schedule_now", "step", "next_decision", "decide", _LEAVE_OUT),
    }
)
"""The methods that a record may have called: it is a file, and may say anything."""


def frames_of(step: JournaledCall, time: float) -> list[Frame]:
    """The frames of a step."""
    if step.method == _DELETE:
        kind, key = step.arguments
        assert isinstance(kind, type)
        assert issubclass(kind, api.Object)
        return [encoded(FrameKind.STEP, time, StepBody(_DELETE, (kind.API_VERSION, kind.KIND, key)))]
    if step.method == _LEAVE_OUT:
        (pods,) = step.arguments
        assert isinstance(pods, Sequence)
        # Without names: nothing happens to the pods that their history should tell.
        objects = [Frame(FrameKind.OBJECT, time, (), codec.encode(pod)) for pod in pods]
        return [*objects, encoded(FrameKind.STEP, time, StepBody(_LEAVE_OUT, objects=len(objects)))]
    if step.method != _ADD:
        return [encoded(FrameKind.STEP, time, StepBody(step.method, step.arguments, dict(step.keywords)))]
    gathered, replaces = step.arguments
    assert isinstance(gathered, Gathered)
    body = StepBody(_ADD, (replaces,), {}, len(gathered.objects), dict(gathered.skipped), gathered.notes)
    given = object_frames((given.object for given in gathered.objects), time)
    return [*given, encoded(FrameKind.STEP, time, body)]


def step_of(frame: Frame, objects: Sequence[Frame], kinds: Collection[type[api.Object]]) -> JournaledCall:
    """The step that a frame tells, with the frames of the objects before it. `kinds` are those that the simulation knows.
    Raises `InputError`."""
    body = _body(frame)
    custom = [kind for kind in kinds if is_custom(kind)]
    try:
        if body.method == _DELETE:
            version, name, key = body.arguments
            kind = codec.class_for(codec.Header(version, name), custom)
            if kind is None:
                raise InputError("is not a kind that can be read", value=name)
            return JournaledCall(_DELETE, (kind, key))
        if body.method in (_ADD, _LEAVE_OUT):
            if len(objects) != body.objects:
                raise InputError(f"gives {body.objects} objects, and {len(objects)} are there")
            found = [codec.convert_object(codec.plain(item.body), custom) for item in objects]
            if body.method == _LEAVE_OUT:
                return JournaledCall(_LEAVE_OUT, (found,))
            gathered = Gathered([Given(obj) for obj in found], Counter(body.skipped), body.notes)
            return JournaledCall(_ADD, (gathered, bool(body.arguments[0])))
    except (ValueError, IndexError, TypeError) as error:
        raise InputError(f"cannot be read: {error}", object=f"step {body.method} of the record") from error
    return JournaledCall(body.method, body.arguments, body.keywords)


def repeat(frame: Frame, objects: Sequence[Frame], simulation: Simulation) -> None:
    """Does to the simulation what a frame tells. Raises `InputError` for what cannot be done: a record may say anything."""
    do_again(step_of(frame, objects, simulation.known_kinds), simulation)


def do_again(step: JournaledCall, simulation: Simulation) -> None:
    """Takes a step of a record. Raises `InputError` if it cannot be taken, or would go on for longer than any record does."""
    _require_an_end(step)
    try:
        step.repeat(simulation)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"cannot be done: {describe(error)}", object=f"step {step.method} of the record") from error


def _require_an_end(step: JournaledCall) -> None:
    """A record may say anything, and must not keep a replay busy for ever."""
    if step.method not in _GOING_ON:
        return
    until = step.keywords.get("until", step.arguments[0] if step.arguments else None)
    if isinstance(until, int | float) and not until <= LONGEST_SECONDS:
        wrong = f"is more than {LONGEST_SECONDS:,.0f} seconds of simulated time, the longest that commands allow"
        hint = "was the record changed, or written by a program of your own?"
        raise InputError(wrong, object=f"step {step.method} of the record", field="until", value=until, hint=hint)


def _body(frame: Frame) -> StepBody:
    try:
        body: StepBody = msgspec.json.decode(frame.body, type=StepBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", object="a step of the record") from error
    if body.method not in METHODS:
        known: Any = ", ".join(sorted(METHODS))
        raise InputError("is no step of a simulation", object="record", value=body.method, hint=f"known are {known}")
    return body
