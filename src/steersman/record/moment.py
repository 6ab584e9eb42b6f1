# SPDX-License-Identifier: Apache-2.0
"""Simulations that start at a moment of a record. Of a recorded simulation, earlier calls are
repeated; of a live cluster, the objects known to the scheduler are added, pods on decided nodes.

They answer the same questions as others: why a pod waits, which change helps, what comes next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.record.expansion import delivered_object, snapshot_object
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameKind,
    RunBody,
    StateBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.items import kind_text
from steersman.record.reader import RecordReader, snapshot_of
from steersman.record.recorded_run import (
    NO_CONSENT,
    PluginConsent,
    RecordedRun,
    RecordedStep,
    body_of,
    first_problem,
    read_run,
    record_bounds,
    scheduler_options,
    simulation_setup,
)
from steersman.record.simulation_recorder import do_again, repeat, step_of
from steersman.scheduler.assembly import PluginSource, kinds_of_scheduler
from steersman.simulation import JournaledCall, Simulation, SimulationSetup

_TAKE_TIME: Final = frozenset({"run", "advance"})
"""Steps that accept an end time."""


def simulation_at(
    directory: str | os.PathLike[str],
    time: float | datetime,
    *,
    plugins: Iterable[PluginSource] = (),
    trusts_record: bool = False,
) -> Simulation:
    """Return the recorded cluster and its queue at `time`: seconds after the record's start or a

    timezone-aware datetime. The caller closes the simulation. For a live cluster, pods are on their
    decided nodes, and pending pods are queued like new ones. `plugins` are files of the record that
    may be executed; `trusts_record` allows all of them. Raises `InputError` for an unusable record,
    or a time outside it."""
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
    simulation = Simulation(simulation_setup(recorded.run, None, consent))
    try:
        _go(simulation, recorded, until)
    except BaseException:
        simulation.close()
        raise
    return simulation


def _go(simulation: Simulation, recorded: RecordedRun, until: float) -> None:
    """Repeat all calls that began until then."""
    begun = [step for step in recorded.steps if step.frame.time <= until]
    for step in begun[:-1]:
        repeat(step.frame, step.objects, simulation)
    for step in begun[-1:]:
        _repeat_until(step, simulation, until - recorded.run.start)


def _repeat_until(step: RecordedStep, simulation: Simulation, seconds: float) -> None:
    """Repeat the last step, which may extend beyond `seconds`, up to that time."""
    known = step_of(step.frame, step.objects, simulation.scheduler.known_kinds)
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
        JournaledCall("advance", (seconds,)).repeat(simulation.internals)
    else:
        do_again(known, simulation)


# -- of a live cluster ---------------------------------------------------------------------------------------------------


def _live_simulation_at(reader: RecordReader, until: float, plugins: PluginConsent) -> Simulation:
    """Return the cluster known to the recorded scheduler at that time. Raises `InputError`."""
    known = KnownCluster(reader, plugins)
    for frame in reader.all_frames():
        if frame.time > until:
            break
        known.add(frame)
    if known.run is None:
        raise InputError("does not say how it began", file=str(reader.directory), hint=first_problem(reader))
    options = scheduler_options(known.run, None, plugins)
    simulation = Simulation(SimulationSetup(options, known.run.seed, until, controllers=False))
    simulation.add(*known.objects_with_nodes())
    return simulation


class KnownCluster:
    """The objects known to the scheduler after the frames added so far."""

    def __init__(self, reader: RecordReader, plugins: PluginConsent = NO_CONSENT) -> None:
        self._reader = reader
        self._plugins = plugins
        self.run: RunBody | None = None
        self._kinds: dict[str, type[api.Object]] = {}
        self._objects: dict[tuple[str, str], api.Object] = {}
        #: Pod UID → the node that the scheduler chose.
        self._decided: dict[str, str] = {}

    def add(self, frame: Frame) -> None:
        if frame.kind == FrameKind.SNAPSHOT:
            if snapshot_of(frame, self._reader.directory).begins:
                self._decided.clear()
            self._objects.clear()
        elif frame.kind == FrameKind.RUN:
            self._begin(body_of(frame, RunBody, self._reader.directory))
        elif frame.kind == FrameKind.STATE:
            state = body_of(frame, StateBody, self._reader.directory)
            self._decided.update((pod.uid, pod.node) for pod in state.scheduler.assumed)
        elif frame.kind == FrameKind.OBJECT:
            self._put(snapshot_object(frame, self._kinds))
        elif frame.kind in (FrameKind.WATCH_EVENT, FrameKind.NESTED_WATCH_EVENT):
            self._apply(body_of(frame, WatchEventBody, self._reader.directory))
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
            options = scheduler_options(run, None, self._plugins)
            known = kinds_of_scheduler(options.configuration, options.gates, options.registry).known
            self._kinds = {kind_text(kind): kind for kind in known}
        self.run = run

    def _apply(self, body: WatchEventBody) -> None:
        obj = delivered_object(body, self._kinds)
        if obj is not None and body.type is WatchedChange.CHANGED:
            self._put(obj)
        elif obj is not None:
            self._objects.pop((body.kind, api.key(obj)), None)

    def _put(self, obj: api.Object) -> None:
        self._objects[kind_text(type(obj)), api.key(obj)] = obj

    def objects_with_nodes(self) -> list[api.Object]:
        """Return all objects; unbound pods with a decided node have that node."""
        return [with_decided_node(obj, self._decided) for obj in self._objects.values()]


def with_decided_node(obj: api.Object, decided: Mapping[str, str]) -> api.Object:
    """Return the object; an unbound pod gets its node from `decided` (pod UID → node)."""
    if not isinstance(obj, api.Pod) or obj.spec.node_name or (node := decided.get(obj.metadata.uid)) is None:
        return obj
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, node_name=node))
