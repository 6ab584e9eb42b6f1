# SPDX-License-Identifier: Apache-2.0
"""Recorder of a simulation: the calls of its methods, and all decisions of the scheduler.

    with record_simulation(simulation, "directory"):
        simulation.run()

A call is recorded from the simulation's journal when it begins, before its decisions. Forks of the
simulation are not recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from steersman.base import POLICY_VERSION, InputError
from steersman.cluster.kubelets import POLICY_KIND
from steersman.record.frames import SIMULATED, BindingBody, DecisionBody, PlacedPod, RunBody
from steersman.record.items import ALL_BOUND, AT, item_frames
from steersman.record.log import RecordLog
from steersman.record.recorded_setup import run_body
from steersman.record.recorder import PlacementObserver, Recorder, SnapshotContents
from steersman.record.segments import Limits, new_directory
from steersman.record.steps import step_items
from steersman.simulation import Simulation, SimulationSetup

NO_EXTENDERS = "what extenders answer is not recorded yet: a simulation that asks them cannot be replayed"


class _VirtualClock:
    """Clock of a simulation, as Unix time."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._start = simulation.setup.start

    def now(self) -> float:
        return float(self._start + self._simulation.now)

    monotonic = now


class SimulationRecorder(Recorder):
    """Recorder of one simulation. Every decision is a stimulus at its virtual time."""

    def __init__(self, simulation: Simulation, directory: Path, limits: Limits | None = None) -> None:
        self._simulation = simulation
        self._setup = simulation.setup
        #: UIDs of replicas that were scheduled together and are not bound yet.
        self._unbound: set[str] = set()
        clock = _VirtualClock(simulation)
        #: Times of the recorded calls; for calls before the recording, the time at which it began.
        self._step_times = [clock.now()] * len(simulation.journal.calls)
        log = RecordLog(directory, limits or Limits(), waits_for_disk=True)
        super().__init__(log, _run_body(self._setup), clock, simulation.decisions)
        log.start()
        simulation.journal.on_call = self._note_steps
        simulation.observe(PlacementObserver(self))

    def decision_time(self) -> float:
        return self._now()

    def _snapshot_contents(self) -> SnapshotContents:
        """Return all calls so far, which reproduce the state in a simulation of the same setup."""
        taken = zip(self._simulation.journal.calls, self._step_times, strict=False)
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
        for step in self._simulation.journal.calls[len(self._step_times) :]:
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
        simulation.journal.on_call = None
        is_same = simulation.decisions == self._decisions and simulation.setup == self._setup
        self._close_log(is_complete=simulation.journal.has_everything and is_same)
        self._log.require_success()


@contextmanager
def record_simulation(
    simulation: Simulation, directory: str | os.PathLike[str], limits: Limits | None = None
) -> Iterator[SimulationRecorder]:
    """Record the simulation's calls and decisions within the block. The directory is created if
    necessary and must not contain a record. Raises `InputError`."""
    if simulation.setup.options.extenders:
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
