# SPDX-License-Identifier: Apache-2.0
"""Conversion of a simulation's steps, objects and call, to items of a record and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError, describe
from steersman.cluster.kubelets import MAX_SECONDS
from steersman.framework import is_custom
from steersman.record.frames import Frame, StepBody
from steersman.record.items import CALL, SimulationItem, given_items
from steersman.simulation import Gathered, Given, JournaledCall, Simulation

_ADD = "_add"
_DELETE = "_delete"
_EXCLUDE = "leave_out"
NAMES_BY_METHOD = {"add": _ADD, "delete": _DELETE, "exclude": _EXCLUDE}
"""Methods of `SimulatedCluster` with a different name in records."""
_WITH_DEADLINE = frozenset({"run", "advance"})
"""Calls whose first argument is their end time."""
CALLS = frozenset(
    {
        *(_ADD, _DELETE, "patch", "evict", "crash", "recover", "reboot", "drain", "cordon", "uncordon"),
        *("run", "advance", "settle", "schedule_now", "step", "next_decision", "decide", _EXCLUDE),
    }
)
"""The calls that a record may contain; records are untrusted input."""


def step_items(step: JournaledCall, time: float) -> Iterator[SimulationItem]:
    """Yield the items of a call: the objects that it adds, then the call."""
    name = NAMES_BY_METHOD.get(step.method, step.method)
    body = StepBody(name, step.arguments, dict(step.keywords))
    if name == _DELETE:
        kind, key = step.arguments
        assert isinstance(kind, type)
        assert issubclass(kind, api.Object)
        body = StepBody(_DELETE, (kind.API_VERSION, kind.KIND, key))
    elif name == _EXCLUDE:
        (pods,) = step.arguments
        assert isinstance(pods, Sequence)
        # Without history, because the pods themselves do not change.
        yield from given_items(pods, time, has_history=False)
        body = StepBody(_EXCLUDE, objects=len(pods))
    elif name == _ADD:
        gathered, replaces = step.arguments
        assert isinstance(gathered, Gathered)
        yield from given_items((given.object for given in gathered.objects), time)
        body = StepBody(_ADD, (replaces,), {}, len(gathered.objects), dict(gathered.skipped), gathered.notes)
    yield SimulationItem((CALL, time, msgspec.Raw(msgspec.json.encode(body))))


def step_of(frame: Frame, objects: Sequence[Frame], kinds: Collection[type[api.Object]]) -> JournaledCall:
    """Return the call in a frame; `objects` are the preceding frames, `kinds` the known kinds.

    Raises `InputError`.
    """
    body = _body(frame)
    custom = [kind for kind in kinds if is_custom(kind)]
    try:
        if body.method == _DELETE:
            version, name, key = body.arguments
            kind = codec.class_for(codec.Header(version, name), custom)
            if kind is None:
                raise InputError("is not a kind that can be read", value=name)
            return JournaledCall("delete", (kind, key))
        if body.method in (_ADD, _EXCLUDE):
            if len(objects) != body.objects:
                raise InputError(f"gives {body.objects} objects, and {len(objects)} are there")
            found = [codec.convert_object(codec.plain(item.body), custom) for item in objects]
            if body.method == _EXCLUDE:
                return JournaledCall("exclude", (found,))
            gathered = Gathered([Given(obj) for obj in found], Counter(body.skipped), body.notes)
            return JournaledCall("add", (gathered, bool(body.arguments[0])))
    except (ValueError, IndexError, TypeError) as error:
        raise InputError(f"cannot be read: {error}", object=f"step {body.method} of the record") from error
    return JournaledCall(body.method, body.arguments, body.keywords)


def repeat(frame: Frame, objects: Sequence[Frame], simulation: Simulation) -> None:
    """Make the call in a frame. Raises `InputError` if it fails."""
    do_again(step_of(frame, objects, simulation.scheduler.known_kinds), simulation)


def do_again(step: JournaledCall, simulation: Simulation) -> None:
    """Make a recorded call. Raises `InputError` on failure or an end after `MAX_SECONDS`."""
    _require_an_end(step)
    try:
        simulation.repeat(step)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"cannot be done: {describe(error)}", object=f"step {step.method} of the record") from error


def _require_an_end(step: JournaledCall) -> None:
    """Reject a call that would never end."""
    if step.method not in _WITH_DEADLINE:
        return
    until = step.keywords.get("until", step.arguments[0] if step.arguments else None)
    if isinstance(until, int | float) and not until <= MAX_SECONDS:
        wrong = f"is more than {MAX_SECONDS:,.0f} seconds of simulated time, the longest that commands allow"
        hint = "was the record changed, or written by a program of your own?"
        raise InputError(wrong, object=f"step {step.method} of the record", field="until", value=until, hint=hint)


def _body(frame: Frame) -> StepBody:
    try:
        body: StepBody = msgspec.json.decode(frame.body, type=StepBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", object="a step of the record") from error
    if body.method not in CALLS:
        known: Any = ", ".join(sorted(CALLS))
        raise InputError("is no step of a simulation", object="record", value=body.method, hint=f"known are {known}")
    return body
