# SPDX-License-Identifier: Apache-2.0
"""Recorder of a simulation: the calls of its methods, and all decisions of the scheduler.

    with record_simulation(simulation, "directory"):
        simulation.run()

A call is recorded from the simulation's journal when it begins, before its decisions. Forks of the
simulation are not recorded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import POLICY_VERSION, InputError, describe
from steersman.cluster.kubelets import MAX_SECONDS, POLICY_KIND
from steersman.framework import is_custom
from steersman.record.frames import SIMULATED, BindingBody, DecisionBody, Frame, PlacedPod, RunBody, StepBody
from steersman.record.items import ALL_BOUND, AT, CALL, SimulationItem, given_items, item_frames
from steersman.record.log import RecordLog
from steersman.record.recorded_run import run_body
from steersman.record.recorder import PlacementObserver, Recorder, SnapshotContents
from steersman.record.segments import Limits, new_directory
from steersman.simulation import Gathered, Given, JournaledCall, Simulation, SimulationSetup

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
        step.repeat(simulation.internals)
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
        raise InputError("is not a step of a simulation", object="record", value=body.method, hint=f"known are {known}")
    return body


# -- the recorder ------------------------------------------------------------------------------------------------------


NO_EXTENDERS = "what extenders answer is not recorded yet: a simulation that asks them cannot be replayed"


class _VirtualClock:
    """Clock of a simulation, as Unix time."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._start = simulation.internals.setup.start

    def now(self) -> float:
        return float(self._start + self._simulation.now)

    monotonic = now


class SimulationRecorder(Recorder):
    """Recorder of one simulation. Every decision is a stimulus at its virtual time."""

    def __init__(self, simulation: Simulation, directory: Path, limits: Limits | None = None) -> None:
        self._simulation = simulation
        self._setup = simulation.internals.setup
        #: UIDs of replicas that were scheduled together and are not bound yet.
        self._unbound: set[str] = set()
        clock = _VirtualClock(simulation)
        #: Times of the recorded calls; for calls before the recording, the time at which it began.
        self._step_times = [clock.now()] * len(simulation.internals.journal.calls)
        log = RecordLog(directory, limits or Limits(), waits_for_disk=True)
        super().__init__(log, _run_body(self._setup), clock, simulation.decisions)
        log.start()
        simulation.internals.journal.on_call = self._note_steps
        simulation.scheduler.observe(PlacementObserver(self))

    def decision_time(self) -> float:
        return self._now()

    def _snapshot_contents(self) -> SnapshotContents:
        """Return all calls so far, which reproduce the state in a simulation of the same setup."""
        taken = zip(self._simulation.internals.journal.calls, self._step_times, strict=False)
        frames = list(item_frames(item for step, time in taken for item in step_items(step, time)))
        return SnapshotContents(len(frames), frames)

    def begin_replicas(self) -> None:
        self._begin_results()
        self._unbound = set()

    def end_replicas(self) -> None:
        self._parts += (ALL_BOUND, sorted(self._unbound))
        self.end()

    def note_placed(self, placed: PlacedPod, profile: str) -> None:
        if self.is_open:
            self._unbound.add(placed.uid)
            super().note_placed(placed, profile)
        else:
            self._note_alone(super().note_placed, placed, profile)

    def note_bound(self, pod: str, uid: str, node: str) -> None:
        if self.is_open and uid in self._unbound:
            self._unbound.discard(uid)
        else:
            self._note_alone(super().note_bound, pod, uid, node)

    def note_decision(self, body: DecisionBody | BindingBody) -> None:
        self._note_alone(super().note_decision, body)

    def _note_alone(self, note: Callable[..., None], *result: object) -> None:
        """Record a result as a separate stimulus, or as part of the current one of replicas."""
        if self.is_open:
            note(*result)
            return
        self._begin_results()
        note(*result)
        self.end()

    def _begin_results(self) -> None:
        if self._log.wants_attention:
            self._attend()
        self._parts += (AT, self._now())
        self.is_open = True

    def _note_steps(self) -> None:
        for step in self._simulation.internals.journal.calls[len(self._step_times) :]:
            for item in step_items(step, self._now()):
                if self._log.wants_attention:
                    self._attend()
                self._can_start_segment = False
                self._noted.add(item)
                self.end()
            self._can_start_segment = True
            if self._log.wants_segment:
                self._log.wants_attention = True
            self._step_times.append(self._now())

    def flush(self) -> None:
        """Wait until all recorded data is on disk. Raises `InputError` if writing has failed."""
        self._note_steps()
        self._log.flush()

    def close(self) -> None:
        """End the record. Raises `InputError` if it could not be written."""
        self._note_steps()
        simulation = self._simulation
        simulation.internals.journal.on_call = None
        is_same = simulation.decisions == self._decisions and simulation.internals.setup == self._setup
        self._close_log(is_complete=simulation.internals.journal.has_everything and is_same)
        self._log.require_success()


@contextmanager
def record_simulation(
    simulation: Simulation, directory: str | os.PathLike[str], limits: Limits | None = None
) -> Iterator[SimulationRecorder]:
    """Record the simulation's calls and decisions within the block. The directory is created if
    necessary and must not contain a record. Raises `InputError`."""
    if simulation.internals.setup.options.extenders:
        raise InputError(NO_EXTENDERS, object="record")
    recorder = SimulationRecorder(simulation, new_directory(directory), limits)
    try:
        yield recorder
    finally:
        recorder.close()


def _run_body(setup: SimulationSetup) -> RunBody:
    """Return the setup of a simulation."""
    options = setup.options
    # Extenders are not called, and may contain secrets.
    configuration = msgspec.structs.replace(options.configuration, extenders=())
    policy = {"apiVersion": POLICY_VERSION, "kind": POLICY_KIND, **msgspec.to_builtins(setup.kubelets)}
    body = run_body(SIMULATED, configuration, options.gates, options.registry, setup.seed, setup.start)
    return msgspec.structs.replace(body, kubelets=policy, controllers=setup.controllers)
