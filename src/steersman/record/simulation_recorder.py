# SPDX-License-Identifier: Apache-2.0
"""Records a simulation: what was done to it, and everything that the scheduler decided.

    with record_simulation(simulation, "directory"):
        simulation.run()

The journal of the simulation tells what was done, when it begins: a step stands in the record before its decisions. Forks of
the simulation are not recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from steersman.errors import InputError
from steersman.kubelets.policy import POLICY_KIND, POLICY_VERSION
from steersman.record.decisions import decision_frame
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    EndBody,
    Frame,
    FrameKind,
    RunBody,
    SnapshotBody,
    encoded,
)
from steersman.record.log import RecordLog
from steersman.record.placed import PlacedReplicas, ReplicaObserver
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.record.recorded_setup import run_body
from steersman.record.segments import Limits, new_directory
from steersman.record.steps import frames_of
from steersman.sim import Simulation, SimulationSetup

NO_EXTENDERS = "what extenders answer is not recorded yet: a simulation that asks them cannot be replayed"


class SimulationRecorder:
    """Writes the record of one simulation."""

    def __init__(self, simulation: Simulation, directory: Path, limits: Limits | None = None) -> None:
        self._simulation = simulation
        self._setup = simulation.setup
        self._run = encoded(FrameKind.RUN, self._setup.start, _run_body(self._setup))
        #: When each step was taken that is in the record, or led to its beginning; of the latter, when the recording began.
        self._step_times = [self._now()] * len(simulation.journal.steps)
        #: How many decisions are in the record or led to its beginning.
        self._decisions = simulation.decisions
        self._log = RecordLog(directory, self._snapshot, limits)
        simulation.journal.on_step = self._note_steps
        simulation.observe(ReplicaObserver(self._now, self._note_decision, self._note_replicas))

    def _now(self) -> float:
        return self._setup.start + self._simulation.now

    def _snapshot(self) -> Sequence[Frame]:
        """How the simulation was made and what was done to it: to do the same again leads to where it is."""
        taken = zip(self._simulation.journal.steps, self._step_times, strict=False)
        steps = [frame for step, time in taken for frame in frames_of(step, time)]
        head = SnapshotBody(1 + len(steps), self._decisions)
        return [encoded(FrameKind.SNAPSHOT, self._now(), head, [SNAPSHOT_SUBJECT]), self._run, *steps]

    def _note_decision(self, body: DecisionBody | BindingBody) -> None:
        self._log.append([decision_frame(body, self._now())])
        self._decisions += isinstance(body, DecisionBody)

    def _note_replicas(self, placed: PlacedReplicas) -> None:
        self._log.append([placed.frame(self._now())])
        self._decisions += len(placed)

    def _note_steps(self) -> None:
        for step in self._simulation.journal.steps[len(self._step_times) :]:
            self._log.append(frames_of(step, self._now()))
            self._step_times.append(self._now())

    def flush(self) -> None:
        """Waits until everything so far is on disk. Raises `InputError` if it could not be written."""
        self._note_steps()
        self._log.flush()

    def close(self) -> None:
        """Ends the record. Raises `InputError` if it could not be written."""
        self._note_steps()
        simulation = self._simulation
        simulation.journal.on_step = None
        is_same = simulation.decisions == self._decisions and simulation.setup == self._setup
        is_complete = simulation.journal.has_everything and is_same
        self._log.append([encoded(FrameKind.END, self._now(), EndBody(self._decisions, is_complete))])
        self._log.close()


@contextmanager
def record_simulation(
    simulation: Simulation, directory: str | os.PathLike[str], limits: Limits | None = None
) -> Iterator[SimulationRecorder]:
    """Records what is done to the simulation, and what it decides, in the block. The directory is made if need be, and must
    not hold a record yet. Raises `InputError`."""
    if simulation.setup.options.extenders:
        raise InputError(NO_EXTENDERS, object="record")
    recorder = SimulationRecorder(simulation, new_directory(directory), limits)
    try:
        yield recorder
    finally:
        recorder.close()


def _run_body(setup: SimulationSetup) -> RunBody:
    """How a simulation was made."""
    options = setup.options
    # Extenders are not asked, and may have secrets.
    configuration = msgspec.structs.replace(options.configuration, extenders=())
    policy = {"apiVersion": POLICY_VERSION, "kind": POLICY_KIND, **msgspec.to_builtins(setup.kubelets)}
    body = run_body("simulate", configuration, options.gates, options.registry, setup.seed, setup.start)
    return msgspec.structs.replace(body, kubelets=policy, controllers=setup.controllers)
