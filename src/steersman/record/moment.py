# SPDX-License-Identifier: Apache-2.0
"""A moment of a record, as a simulation. Of a recorded simulation, what was done up to then is done again, and it stands still
there; of a live cluster, it has the objects that the scheduler knew, and pods where it had put them.

What can be asked of any simulation can be asked of this one: why a pod waits, which change would help, what would come next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from steersman import api
from steersman.assembly.registry import PluginSource
from steersman.errors import InputError
from steersman.kubelets import DEFAULT_POLICY
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameKind,
    RunBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.live_items import kind_text, snapshot_object, told_object
from steersman.record.reader import RecordReader, snapshot_of
from steersman.record.recorded_run import (
    RecordedRun,
    RecordedStep,
    body_of,
    first_problem,
    read_run,
    record_bounds,
)
from steersman.record.recorded_setup import NO_CONSENT, PluginConsent, scheduler_options, simulation_setup
from steersman.record.steps import do_again, repeat, step_of
from steersman.sim import Simulation
from steersman.sim.journal import JournaledCall

_TAKE_TIME: Final = frozenset({"run", "advance"})
"""Steps that can be told how far to go."""


def simulation_at(
    directory: str | os.PathLike[str],
    time: float | datetime,
    *,
    plugins: Iterable[PluginSource] = (),
    trusts_record: bool = False,
) -> Simulation:
    """The recorded cluster and its queue as they were at a time: so many seconds after the start of the record, or a moment
    with a time zone. Whoever asks closes it. Of a live cluster it has the objects, and pods are on the nodes that were decided;
    what waits is tried as if it had just come. `plugins` are files that may be run where the record names them;
    `trusts_record`: all that it names may. Raises `InputError` for a record that cannot be used, and for a time that is
    not in it."""
    reader = RecordReader(directory)
    run, begin, end = record_bounds(reader)
    until = time.timestamp() if isinstance(time, datetime) else run.start + time
    if not begin <= until <= end:
        times = " to ".join(datetime.fromtimestamp(each, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for each in (begin, end))
        covered = f"the record covers {times}, {begin - run.start:.3g} to {end - run.start:g} seconds after its start"
        shown = time.isoformat() if isinstance(time, datetime) else time
        raise InputError("is not in the record", file=str(directory), field="time", value=shown, hint=covered)
    consent = PluginConsent(plugins, trusts_record=trusts_record)
    if run.is_live:
        return _live_simulation_at(reader, until, consent)
    recorded = read_run(directory)
    simulation = Simulation.made(simulation_setup(recorded.run, None, consent))
    try:
        _go(simulation, recorded, until)
    except BaseException:
        simulation.close()
        raise
    return simulation


def _go(simulation: Simulation, recorded: RecordedRun, until: float) -> None:
    """Does everything that was begun by then."""
    begun = [step for step in recorded.steps if step.frame.time <= until]
    for step in begun[:-1]:
        repeat(step.frame, step.objects, simulation)
    for step in begun[-1:]:
        _repeat_until(step, simulation, until - recorded.run.start)


def _repeat_until(step: RecordedStep, simulation: Simulation, seconds: float) -> None:
    """Takes the last step, which may have gone on for longer."""
    known = step_of(step.frame, step.objects, simulation.known_kinds)
    if known.method in _TAKE_TIME:
        end = known.arguments[0] if known.arguments else None
        stops = known.method == "run" or bool(known.keywords.get("stops_at_rest"))
        until = min(seconds, end) if isinstance(end, (int, float)) else seconds
        do_again(JournaledCall("advance", (until,), {"stops_at_rest": end is None and stops}), simulation)
        return
    with simulation.fork() as trial:
        do_again(known, trial)
        goes_too_far = trial.now > seconds
    if goes_too_far:
        JournaledCall("advance", (seconds,)).repeat(simulation)
    else:
        do_again(known, simulation)


# -- of a live cluster ---------------------------------------------------------------------------------------------------


def _live_simulation_at(reader: RecordReader, until: float, plugins: PluginConsent) -> Simulation:
    """The cluster as the recorded scheduler knew it at that time. Raises `InputError`."""
    known = KnownCluster(reader, plugins)
    for frame in reader.all_frames():
        if frame.time > until:
            break
        known.add(frame)
    if known.run is None:
        raise InputError("does not say how it began", file=str(reader.directory), hint=first_problem(reader))
    options = scheduler_options(known.run, None, plugins)
    simulation = Simulation(options, known.run.seed, until, DEFAULT_POLICY, controllers=False)
    simulation.add(*known.objects_with_nodes())
    return simulation


class KnownCluster:
    """The objects that the scheduler of a record knows at a time."""

    def __init__(self, reader: RecordReader, plugins: PluginConsent = NO_CONSENT) -> None:
        self._reader = reader
        self._plugins = plugins
        self.run: RunBody | None = None
        self._kinds: dict[str, type[api.Object]] = {}
        self._objects: dict[tuple[str, str], api.Object] = {}
        #: By uid, the node of a pod that the scheduler has decided on.
        self._decided: dict[str, str] = {}

    def add(self, frame: Frame) -> None:
        if frame.kind == FrameKind.SNAPSHOT:
            if snapshot_of(frame, self._reader.directory).begins:
                self._decided.clear()
            self._objects.clear()
        elif frame.kind == FrameKind.RUN:
            self._begin(body_of(frame, RunBody, self._reader.directory))
        elif frame.kind == FrameKind.OBJECT:
            self._put(snapshot_object(frame, self._kinds))
        elif frame.kind in (FrameKind.WATCH_EVENT, FrameKind.TOLD_MEANWHILE):
            self._tell(body_of(frame, WatchEventBody, self._reader.directory))
        elif frame.kind == FrameKind.DECISION:
            decision = body_of(frame, DecisionBody, self._reader.directory)
            if decision.node:
                self._decided[decision.uid] = decision.node
        elif frame.kind == FrameKind.BINDING:
            binding = body_of(frame, BindingBody, self._reader.directory)
            if binding.message:
                self._decided.pop(binding.uid, None)

    def _begin(self, run: RunBody) -> None:
        if self.run is None or run.seed != self.run.seed:
            with Simulation(scheduler_options(run, None, self._plugins), controllers=False) as simulation:
                self._kinds = {kind_text(kind): kind for kind in simulation.known_kinds}
        self.run = run

    def _tell(self, body: WatchEventBody) -> None:
        obj = told_object(body, self._kinds)
        if obj is not None and body.type is WatchedChange.CHANGED:
            self._put(obj)
        elif obj is not None:
            self._objects.pop((body.kind, api.key(obj)), None)

    def _put(self, obj: api.Object) -> None:
        self._objects[kind_text(type(obj)), api.key(obj)] = obj

    def objects_with_nodes(self) -> list[api.Object]:
        """All objects; pods that were decided on, and are not bound yet, have their node."""
        return [with_decided_node(obj, self._decided) for obj in self._objects.values()]


def with_decided_node(obj: api.Object, decided: Mapping[str, str]) -> api.Object:
    """The object; a pod that has no node, and was decided on, with its node. `decided` has nodes by uid."""
    if not isinstance(obj, api.Pod) or obj.spec.node_name or (node := decided.get(obj.metadata.uid)) is None:
        return obj
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, node_name=node))
