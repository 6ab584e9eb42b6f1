# SPDX-License-Identifier: Apache-2.0
"""Extraction of a recorded attempt as a golden scenario for `steersman conformance`: the cluster,
the pod and the decision.

Scenarios break ties by name and evaluate all nodes, so that they are deterministic. `notes` say
where the recorded decision depended on chance, or on plugin files or feature gates.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError
from steersman.record import (
    DecisionBody,
    FrameKind,
    KnownCluster,
    RecordReader,
    RunBody,
    body_of,
    read_run,
    record_bounds,
    repeat,
    simulation_setup,
    with_decided_node,
)
from steersman.scheduler.assembly import AttemptObserver
from steersman.scheduler.cycle import Decision, Failed, Scheduled, Unschedulable
from steersman.scheduler.diagnosis import Outcome
from steersman.scheduler.queue import QueuedPodInfo
from steersman.simulation import Simulation
from steersman.testing.conformance.scenarios import ScenarioReplay as ScenarioReplay
from steersman.testing.conformance.setting import UNNAMED_VERSION

AREA: Final = "recorded"
HAS_PLUGINS: Final = "was made with plugins of files, which a golden scenario cannot have"
OTHER_GATES: Final = "feature gates differ from their defaults, and a scenario has the defaults: {}"
OTHER_OUTCOME: Final = "the record says {}, and the scenario {}: something that it does not have made the difference"
TIED: Final = "the recorded node {} is one of {} equally good ones; the scenario takes the first by name"


class ExtractedScenario(msgspec.Struct, frozen=True):
    """A golden scenario with notes."""

    scenario: dict[str, Any]
    #: Notes for the reader.
    notes: tuple[str, ...]


class _Wanted(msgspec.Struct, frozen=True):
    """The attempt to extract."""

    pod: str
    number: int
    recorded: DecisionBody


def extract(directory: str | os.PathLike[str], pod: str, attempt: int | None = None) -> ExtractedScenario:
    """Extract an attempt at a pod (`default/web-0` or `web-0`): the last one, or the one with this
    number in the record. Raise `InputError` if missing."""
    reader = RecordReader(directory)
    run, _, _ = record_bounds(reader)
    if run.plugin_files:
        raise InputError(HAS_PLUGINS, file=str(directory))
    wanted = _attempt(reader, pod if "/" in pod else f"default/{pod}", attempt)
    objects = _live_objects(reader, wanted) if run.is_live else _simulated_objects(reader, wanted)
    return _extracted(run, wanted, objects)


def _attempt(reader: RecordReader, pod: str, number: int | None) -> _Wanted:
    frames = (frame for frame in reader.frames(f"pod/{pod}") if frame.kind == FrameKind.DECISION)
    bodies = (body_of(frame, DecisionBody, reader.directory) for frame in frames)
    attempts = [body for body in bodies if body.pod == pod]
    if not attempts:
        raise InputError("the record has no attempt at it", file=str(reader.directory), object=f"Pod {pod}")
    chosen = len(attempts) if number is None else number
    if not 1 <= chosen <= len(attempts):
        hint = f"the record has {len(attempts)} attempts at it"
        raise InputError(
            "is not there", file=str(reader.directory), object=f"Pod {pod}", field="attempt", value=chosen, hint=hint
        )
    return _Wanted(pod, chosen, attempts[chosen - 1])


# -- the cluster before the attempt ------------------------------------------------------------------------------------


def _live_objects(reader: RecordReader, wanted: _Wanted) -> list[api.Object]:
    known, seen = KnownCluster(reader), 0
    for frame in reader.all_frames():
        if frame.kind == FrameKind.DECISION:
            seen += body_of(frame, DecisionBody, reader.directory).pod == wanted.pod
            if seen == wanted.number:
                return known.objects_with_nodes()
        known.add(frame)
    raise InputError(
        "the attempt is not in the record any more", file=str(reader.directory), object=f"Pod {wanted.pod}"
    )


class _ObjectsBefore(AttemptObserver):
    """Collects a simulation's objects right after the decision of the wanted attempt."""

    def __init__(self, simulation: Simulation, wanted: _Wanted, before: int) -> None:
        self._simulation = simulation
        self._wanted = wanted
        self._left = before
        self._seen = 0
        #: Pod UID → decided node; many of these pods are not bound yet.
        self._decided: dict[str, str] = {}
        self.objects: list[api.Object] | None = None

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self._left -= 1
        if self._left < 0 and queued.key == self._wanted.pod:
            self._seen += 1
            if self._seen == self._wanted.number:
                self._look()
        if isinstance(decision, Scheduled):
            self._decided[queued.uid] = decision.node

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._decided.pop(queued.uid, None)

    def _look(self) -> None:
        store = self._simulation.cluster
        kinds = [kind for kind in self._simulation.scheduler.known_kinds if kind in store.kinds]
        found = (obj for kind in kinds for obj in store.objects(kind).values())
        self.objects = [with_decided_node(obj, self._decided) for obj in found]


def _simulated_objects(reader: RecordReader, wanted: _Wanted) -> list[api.Object]:
    recorded = read_run(reader.directory)
    with Simulation(simulation_setup(recorded.run)) as simulation:
        observer = _ObjectsBefore(simulation, wanted, recorded.decisions_before)
        simulation.scheduler.observe(observer)
        for step in recorded.steps:
            repeat(step.frame, step.objects, simulation)
            if observer.objects is not None:
                return observer.objects
    raise InputError("is not decided again by a replay", file=str(reader.directory), object=f"Pod {wanted.pod}")


# -- the scenario ------------------------------------------------------------------------------------------------------


def _extracted(run: RunBody, wanted: _Wanted, objects: Iterable[api.Object]) -> ExtractedScenario:
    target, nominated, others = _sorted(wanted, objects)
    scenario: dict[str, Any] = {
        "area": AREA,
        "name": f"{wanted.pod}, attempt {wanted.recorded.attempt}",
        "version": run.emulated_version or UNNAMED_VERSION,
        "config": {**run.configuration, "extenders": []},
        "objects": [_document(obj) for obj in others],
        "pods": [_document(pod) for pod in (target, *nominated)],
        "expected": [{"pod": wanted.pod}],
    }
    expected = next(ScenarioReplay(scenario, scalar=False).results())
    return ExtractedScenario({**scenario, "expected": [expected]}, tuple(_notes(run, wanted.recorded, expected)))


def _sorted(wanted: _Wanted, objects: Iterable[api.Object]) -> tuple[api.Pod, list[api.Pod], list[api.Object]]:
    """Return the pod, other nominated pods, and the remaining objects without waiting pods."""
    target: api.Pod | None = None
    nominated: list[api.Pod] = []
    others: list[api.Object] = []
    for obj in objects:
        if not isinstance(obj, api.Pod):
            others.append(obj)
        elif obj.metadata.uid == wanted.recorded.uid:
            target = msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, node_name=""))
        elif obj.spec.node_name:
            others.append(obj)
        elif obj.status.nominated_node_name:
            nominated.append(obj)
    if target is None:
        raise InputError("was not known when it was tried", object=f"Pod {wanted.pod}")
    return target, nominated, others


def _document(obj: api.Object) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(codec.encode(obj))
    return document


def _notes(run: RunBody, recorded: DecisionBody, expected: dict[str, Any]) -> Sequence[str]:
    notes: list[str] = []
    if run.gates:
        gates = ", ".join(f"{name}={str(is_on).lower()}" for name, is_on in run.gates.items())
        notes.append(OTHER_GATES.format(gates))
    selected, best = expected.get("selected", ""), expected.get("top") or [expected.get("selected", "")]
    if recorded.outcome is Outcome.SCHEDULED and recorded.node in best:
        if recorded.node != selected:
            notes.append(TIED.format(recorded.node, len(best)))
    elif recorded.node or expected["outcome"] != recorded.outcome:
        notes.append(OTHER_OUTCOME.format(recorded.node or recorded.outcome, selected or expected["outcome"]))
    return notes
