# SPDX-License-Identifier: Apache-2.0
"""Records a simulation: what was done to it, and everything that the scheduler decided.

    with record_simulation(simulation, "directory"):
        simulation.run()

The journal of the simulation tells what was done; it is looked at whenever something is decided, so that a step stands in the
record before its decisions. Forks of the simulation are not recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import msgspec

from steersman import config
from steersman.assembly import AttemptObserver
from steersman.build_info import KUBE_SCHEDULER_VERSION, steersman_version
from steersman.config import EffectiveProfile
from steersman.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.engine.evaluation import Evaluation
from steersman.errors import InputError
from steersman.framework.pod_info import PodInfo
from steersman.graph_copy import copied_attributes, no_value
from steersman.kubelets.policy import POLICY_KIND, POLICY_VERSION
from steersman.observe.decisions import record_of
from steersman.preemption import PreemptionReport
from steersman.queue import QueuedPodInfo
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    EndBody,
    Frame,
    FrameKind,
    PluginFile,
    RunBody,
    SnapshotBody,
    encoded,
)
from steersman.record.log import RecordLog
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.record.score_digest import DigestedScores, ScoreDigests
from steersman.record.segments import Limits, new_directory
from steersman.record.steps import frames_of
from steersman.runtime.capabilities import capabilities_of
from steersman.sim import Simulation, SimulationSetup

NO_EXTENDERS = "what extenders answer is not recorded yet: a simulation that asks them cannot be replayed"


@copied_attributes(_tell=no_value, _now=no_value)
class DecisionObserver(AttemptObserver):
    """Tells every decision and binding of a simulation, as the frames of a record have them. The copy of a fork is silent."""

    def __init__(self, now: Callable[[], float], tell: Callable[[Frame], None]) -> None:
        """`now` is the scheduler's clock, as Unix time."""
        self._now: Callable[[], float] | None = now
        self._tell: Callable[[Frame], None] | None = tell
        self._digests = ScoreDigests()
        #: Of the attempt that is under way.
        self._scores: DigestedScores | None = None
        self._last: Decision | None = None

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        if self._tell is not None:
            self._scores = self._digests.of(evaluation)

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        if self._tell is None or self._now is None or isinstance(decision, Postponed):
            return
        scores, self._scores, self._last = self._scores, None, decision
        body = decision_body(decision, self._now(), queued.attempts, scores)
        self._tell(encoded(FrameKind.DECISION, body.at, body, _subjects(body)))

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        if decision is not self._last:  # what was told already
            self._tell_binding(BindingBody(queued.key, queued.uid, "", decision.message))

    def bound(self, decision: Scheduled) -> None:
        self._tell_binding(BindingBody(decision.pod.key, decision.pod.uid, decision.node))

    def _tell_binding(self, body: BindingBody) -> None:
        if self._tell is None or self._now is None:
            return
        subjects = [f"pod/{body.pod}", *([f"node/{body.node}"] if body.node else [])]
        self._tell(encoded(FrameKind.BINDING, self._now(), body, subjects))


def decision_body(
    decision: Scheduled | Unschedulable | Failed | Dropped, at: float, attempt: int, scores: DigestedScores | None
) -> DecisionBody:
    """The decision as it is recorded."""
    body = DecisionBody(
        **msgspec.structs.asdict(record_of(decision, at)),
        attempt=attempt,
        digest="" if scores is None else scores.digest,
    )
    if isinstance(decision, Scheduled):
        total = None if scores is None else scores.total_of(decision.node)
        return msgspec.structs.replace(body, total=total)
    if isinstance(decision, Unschedulable):
        nominated = "" if decision.nomination is None else decision.nomination.node
        return msgspec.structs.replace(body, nominated_node=nominated, victims=_victims(decision))
    return body


def _victims(decision: Unschedulable) -> tuple[str, ...]:
    result = None if decision.post_filter is None else decision.post_filter.result
    report = None if result is None else result.report
    if not isinstance(report, PreemptionReport) or report.choice is None:
        return ()
    return tuple(victim.key for victim in report.choice.candidate.victims_to_delete)


def _subjects(body: DecisionBody) -> list[str]:
    nodes = [f"node/{name}" for name in (body.node, body.nominated_node) if name]
    return [f"pod/{body.pod}", *nodes, *(f"pod/{victim}" for victim in body.victims)]


class SimulationRecorder:
    """Writes the record of one simulation."""

    def __init__(self, simulation: Simulation, directory: Path, limits: Limits | None = None) -> None:
        self._simulation = simulation
        self._setup = simulation.setup
        self._run = encoded(FrameKind.RUN, self._setup.start, run_body(self._setup))
        #: When each step was taken that is in the record, or led to its beginning; of the latter, when the recording began.
        self._step_times = [self._now()] * len(simulation.journal.steps)
        #: How many decisions are in the record or led to its beginning.
        self._decisions = simulation.decisions
        self._log = RecordLog(directory, self._snapshot, limits)
        simulation.observe(DecisionObserver(self._now, self._note))

    def _now(self) -> float:
        return self._setup.start + self._simulation.now

    def _snapshot(self) -> Sequence[Frame]:
        """How the simulation was made and what was done to it: to do the same again leads to where it is."""
        taken = zip(self._simulation.journal.steps, self._step_times, strict=False)
        steps = [frame for step, time in taken for frame in frames_of(step, time)]
        head = SnapshotBody(1 + len(steps), self._decisions)
        return [encoded(FrameKind.SNAPSHOT, self._now(), head, [SNAPSHOT_SUBJECT]), self._run, *steps]

    def _note(self, frame: Frame) -> None:
        self._note_steps()
        self._log.append([frame])
        if frame.kind == FrameKind.DECISION:
            self._decisions += 1

    def _note_steps(self) -> None:
        for step in self._simulation.journal.steps[len(self._step_times) :]:
            self._log.append(frames_of(step, self._now()))
            self._step_times.append(self._now())

    def close(self) -> None:
        """Ends the record. Raises `InputError` if it could not be written."""
        self._note_steps()
        simulation = self._simulation
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


def run_body(setup: SimulationSetup) -> RunBody:
    """How a simulation was made."""
    options = setup.options
    # Extenders are not asked, and may have secrets.
    configuration = msgspec.structs.replace(options.configuration, extenders=())
    effective = config.build(configuration, capabilities_of(options.registry), options.gates).profiles
    return RunBody(
        "simulate",
        steersman_version(),
        KUBE_SCHEDULER_VERSION,
        setup.seed,
        setup.start,
        config.to_document(configuration),
        options.gates.changed(),
        tuple(PluginFile(file, file_digest(file)) for file in options.registry.files),
        {profile.scheduler_name: _plugins(profile) for profile in effective},
        {"apiVersion": POLICY_VERSION, "kind": POLICY_KIND, **msgspec.to_builtins(setup.kubelets)},
        setup.controllers,
    )


def _plugins(profile: EffectiveProfile) -> tuple[str, ...]:
    return tuple(sorted({name for point in profile.plugins for name in profile.at(point)}))


def file_digest(file: str) -> str:
    """Of a plugin's file; "" if it cannot be read."""
    try:
        return blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""
