# SPDX-License-Identifier: Apache-2.0
"""Replays a recorded simulation: does again what was done, and compares decision by decision.

With the scheduler of the record, every decision has to be the same to the byte, scores included. With another configuration or
with more plugins the differences are the answer: what would have been decided instead. The attempts at a pod are compared in
their order, because another scheduler tries pods at other times and more or less often.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from steersman import config
from steersman.assembly import SchedulerOptions
from steersman.assembly.registry import PluginSource, register, with_enabled
from steersman.build_info import steersman_version
from steersman.config import FeatureGates, SchedulerConfiguration
from steersman.errors import InputError
from steersman.kubelets import load_policy
from steersman.record.frames import DecisionBody, Frame, FrameKind, RunBody
from steersman.record.recorded_run import RecordedRun, read_run
from steersman.record.simulation_recorder import DecisionObserver, file_digest
from steersman.record.steps import step_of
from steersman.sim import Simulation, SimulationSetup

API_VERSION: Final = "steersman.dev/replay/v1"
OTHER_VERSION: Final = "the record is of Steersman {}, and this is {}"
CHANGED_FILE: Final = "{} is not what it was when the record was made"
INCOMPLETE: Final = "something was done to the simulation that is not in the record"
ENDS_EARLY: Final = "the record ends early: it was not closed"
BEGINNING_GONE: Final = "the first {} decisions are not in the record any more, and are not compared"


class Differs(StrEnum):
    """In what a decision differs from the recorded one; the first that applies."""

    NOT_MADE = "not made"
    NOT_RECORDED = "not recorded"
    OUTCOME = "outcome"
    NODE = "node"
    PREEMPTION = "preemption"
    MESSAGE = "message"
    SCORES = "scores"
    TIME = "time"
    POD = "pod"
    ORDER = "order"


class DecisionDifference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A decision that is not what was recorded."""

    pod: str
    #: The number of the attempt at the pod, from 1, as far as the record goes back.
    attempt: int
    differs: Differs
    recorded: DecisionBody | None = None
    decided: DecisionBody | None = None


class Replay(msgspec.Struct, frozen=True, rename="camel"):
    """The comparison of a record with what is decided now."""

    #: How many decisions were recorded, and how many of them were the same.
    recorded: int
    same: int
    differences: tuple[DecisionDifference, ...]
    #: Seconds that the virtual clock shows at the start, as Unix time.
    start: float
    #: The time from which on the record is complete.
    since: float
    #: What the reader should know: one line each.
    notes: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"apiVersion": API_VERSION, "kind": "Replay", "isSame": self.is_same, **document}


def replay(
    directory: str | os.PathLike[str],
    *,
    configuration: str | None = None,
    plugins: Iterable[PluginSource] = (),
) -> Replay:
    """Decides everything again that a record holds. `configuration` is the file of another KubeSchedulerConfiguration,
    `plugins` come beside those of the record. Raises `InputError`, `ConfigError` and `PluginError`."""
    recorded = read_run(directory)
    setup = _setup(recorded.run, configuration, tuple(plugins))
    decided = _decide_again(recorded, setup)[recorded.decisions_before :]
    if recorded.end is None:
        decided = decided[: len(recorded.decisions)]
    is_other = configuration is not None or len(setup.options.registry.files) > len(recorded.run.plugin_files)
    differences = tuple(compare(recorded.decisions, decided, _WHAT_IF if is_other else _FIELDS))
    made = sum(1 for difference in differences if difference.recorded is not None)
    same = len(recorded.decisions) - made
    return Replay(
        len(recorded.decisions), same, differences, recorded.run.start, recorded.since, tuple(_notes(recorded))
    )


def _setup(run: RunBody, configuration: str | None, plugins: tuple[PluginSource, ...]) -> SimulationSetup:
    gates = FeatureGates(run.gates)
    missing = [known.file for known in run.plugin_files if not Path(known.file).is_file()]
    if missing:
        raise InputError("is not there any more, and the record needs its plugins", file=missing[0])
    registry, names = register((*(known.file for known in run.plugin_files), *plugins))
    chosen = _recorded_configuration(run, gates) if configuration is None else _load(configuration, gates)
    options = SchedulerOptions(with_enabled(chosen, names), gates, registry)
    return SimulationSetup(options, run.seed, run.start, load_policy(run.kubelets), run.controllers)


def _recorded_configuration(run: RunBody, gates: FeatureGates) -> SchedulerConfiguration:
    return config.load(msgspec.json.encode(run.configuration).decode(), "the record's configuration", gates)


def _load(path: str, gates: FeatureGates) -> SchedulerConfiguration:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=path) from error
    return config.load(text, path, gates)


def _decide_again(recorded: RecordedRun, setup: SimulationSetup) -> list[DecisionBody]:
    decided: list[DecisionBody] = []
    with setup.made() as simulation:
        _watch(simulation, setup.start, decided)
        for step in recorded.steps:
            step_of(step.frame, step.objects, simulation.known_kinds).repeat(simulation)
    return decided


def _watch(simulation: Simulation, start: float, decided: list[DecisionBody]) -> None:
    def note(frame: Frame) -> None:
        if frame.kind == FrameKind.DECISION:
            decided.append(msgspec.json.decode(frame.body, type=DecisionBody))

    simulation.observe(DecisionObserver(lambda: start + simulation.now, note))


def _notes(recorded: RecordedRun) -> Iterator[str]:
    if recorded.run.version != steersman_version():
        yield OTHER_VERSION.format(recorded.run.version, steersman_version())
    for known in recorded.run.plugin_files:
        if file_digest(known.file) != known.digest:
            yield CHANGED_FILE.format(known.file)
    if recorded.decisions_before:
        yield BEGINNING_GONE.format(recorded.decisions_before)
    if recorded.end is None:
        yield ENDS_EARLY
    elif not recorded.end.is_complete:
        yield INCOMPLETE
    yield from map(str, recorded.problems)


# -- comparing ---------------------------------------------------------------------------------------------------------


def compare(
    recorded: Sequence[DecisionBody], decided: Sequence[DecisionBody], fields: ComparedFields
) -> Iterator[DecisionDifference]:
    """The differences in these fields, those of recorded decisions first and in their order."""
    before, now = _by_attempt(recorded), _by_attempt(decided)
    found = False
    for key, was in before.items():
        differs = _difference(was, now.get(key), fields)
        if differs is not None:
            found = True
            yield DecisionDifference(*key, differs, was, now.get(key))
    for key, made in now.items():
        if key not in before:
            found = True
            yield DecisionDifference(*key, Differs.NOT_RECORDED, None, made)
    if not found and fields is _FIELDS:
        for was_key, is_key in zip(before, now, strict=True):
            if was_key != is_key:
                yield DecisionDifference(*was_key, Differs.ORDER, before[was_key], now[is_key])
                return


def _by_attempt(decisions: Iterable[DecisionBody]) -> dict[tuple[str, int], DecisionBody]:
    attempts = Counter[str]()
    found: dict[tuple[str, int], DecisionBody] = {}
    for decision in decisions:
        attempts[decision.pod] += 1
        found[decision.pod, attempts[decision.pod]] = decision
    return found


def _difference(was: DecisionBody, now: DecisionBody | None, compared: ComparedFields) -> Differs | None:
    if now is None:
        return Differs.NOT_MADE
    for differs, fields in compared.items():
        if any(getattr(was, field) != getattr(now, field) for field in fields):
            return differs
    return None


ComparedFields: TypeAlias = "Mapping[Differs, tuple[str, ...]]"

_WHAT_IF: Final[ComparedFields] = {
    Differs.OUTCOME: ("outcome",),
    Differs.NODE: ("node",),
    Differs.PREEMPTION: ("nominated_node", "victims"),
}
"""With another configuration: scores and messages are others then, and it is the decisions that count."""
_FIELDS: Final[ComparedFields] = {
    **_WHAT_IF,
    Differs.MESSAGE: ("message", "rejected_by"),
    Differs.SCORES: ("total", "digest", "ties", "feasible_nodes"),
    Differs.TIME: ("at",),
    Differs.POD: ("pod", "uid", "profile", "attempt"),
}
"""Everything that is recorded of a decision."""
