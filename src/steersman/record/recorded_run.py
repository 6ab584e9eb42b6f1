# SPDX-License-Identifier: Apache-2.0
"""A simulation run read from a record: the scheduler's setup, the steps, and the decisions."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from steersman import config
from steersman.base import KUBE_SCHEDULER_RELEASES, InputError, steersman_version
from steersman.cluster.kubelets import load_policy
from steersman.config import EffectiveProfile, FeatureGates, SchedulerConfiguration
from steersman.record.frames import DecisionBody, EndBody, Frame, FrameKind, PluginFile, RunBody
from steersman.record.reader import ProblemKind, RecordReader, snapshot_of
from steersman.scheduler.assembly import PluginSource, SchedulerOptions, register, with_enabled
from steersman.scheduler.binding import MAX_CONCURRENT_BINDINGS
from steersman.scheduler.runtime import Registry, capabilities_of
from steersman.simulation import SimulationSetup

T = TypeVar("T")


class RecordedStep(msgspec.Struct, frozen=True):
    """A call of a simulation as frames (see `simulation_recorder.step_of`)."""

    frame: Frame
    #: Frames of the objects that the call adds.
    objects: tuple[Frame, ...]


MIN_UNCOMPRESSED_LIMIT: Final = 256 << 20
MAX_COMPRESSION_RATIO: Final = 500
"""Limit for `read_run` relative to the segments' size, but at least `MIN_UNCOMPRESSED_LIMIT`."""


class RecordedRun:
    """The replayable part of a simulation's record, up to its end or the first gap."""

    def __init__(self, run: RunBody, reader: RecordReader) -> None:
        self.run = run
        self.steps: list[RecordedStep] = []
        self.decisions: list[DecisionBody] = []
        #: Number of decisions before the first retained one.
        self.decisions_before = 0
        #: Start of the period for which the record is complete.
        self.since = 0.0
        #: None if the record was not closed properly, and may be incomplete.
        self.end: EndBody | None = None
        #: The reader's problems; grows while frames are read.
        self.problems = reader.problems
        self._directory = reader.directory
        self._objects: list[Frame] = []
        size_on_disk = sum(file.stat().st_size for file in reader.files)
        self._bytes_left = max(MIN_UNCOMPRESSED_LIMIT, MAX_COMPRESSION_RATIO * size_on_disk)

    def add(self, frame: Frame) -> None:
        """Add the next frame. Raises `InputError`."""
        self._bytes_left -= len(frame.body)
        if self._bytes_left < 0:
            wrong = f"is more than {MAX_COMPRESSION_RATIO} times as large when it is decompressed"
            raise InputError(
                wrong, file=str(self._directory), object=f"frame {frame.number}", hint="no scheduler wrote this record"
            )
        if frame.kind == FrameKind.SNAPSHOT:
            self.decisions_before = snapshot_of(frame, self._directory).decisions
            self.since = frame.time
        elif frame.kind == FrameKind.OBJECT:
            self._objects.append(frame)
        elif frame.kind == FrameKind.STEP:
            self.steps.append(RecordedStep(frame, tuple(self._objects)))
            self._objects.clear()
        elif frame.kind == FrameKind.DECISION:
            self.decisions.append(body_of(frame, DecisionBody, self._directory))
        elif frame.kind == FrameKind.END:
            self.end = body_of(frame, EndBody, self._directory)


def read_run(directory: str | os.PathLike[str]) -> RecordedRun:
    """Return the run in the record of a simulation. Raises `InputError`."""
    reader = RecordReader(directory)
    run, _ = first_run(reader)
    recorded: RecordedRun | None = None
    for frame in reader.frames():
        if any(problem.kind is not ProblemKind.TORN_TAIL for problem in reader.problems):
            break
        recorded = recorded or RecordedRun(run, reader)
        recorded.add(frame)
    if recorded is None:
        raise InputError("holds nothing that could be replayed", file=str(directory), hint=first_problem(reader))
    return recorded


def first_run(reader: RecordReader) -> tuple[RunBody, float]:
    """Return the first scheduler's setup, and the start of the record. Raises `InputError`."""
    since = 0.0
    for frame in reader.all_frames():
        if frame.kind == FrameKind.SNAPSHOT:
            snapshot_of(frame, reader.directory)
            since = frame.time
        elif frame.kind == FrameKind.RUN:
            return body_of(frame, RunBody, reader.directory), since
    raise InputError("does not say how it began", file=str(reader.directory), hint=first_problem(reader))


def record_bounds(reader: RecordReader) -> tuple[RunBody, float, float]:
    """Return the first scheduler's setup, and the first and last time. Raises `InputError`."""
    run, _ = first_run(reader)
    begin, end = math.inf, -math.inf
    for frame in reader.frames():
        begin, end = min(begin, frame.time), max(end, frame.time)
    return run, begin, end


def body_of(frame: Frame, cls: type[T], directory: Path) -> T:
    """Return the decoded body of a frame. Raises `InputError`."""
    try:
        return msgspec.json.decode(frame.body, type=cls)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wrong = f"holds a frame that cannot be read: {error}"
        raise InputError(wrong, file=str(directory), object=f"frame {frame.number}") from error


def first_problem(reader: RecordReader) -> str | None:
    """Return a hint about the first problem found in the record, or None."""
    return str(reader.problems[0]) if reader.problems else None


# -- setup -------------------------------------------------------------------------------------------------------------


def run_body(
    host: str,
    configuration: SchedulerConfiguration,
    gates: FeatureGates,
    registry: Registry,
    seed: int,
    start: float,
) -> RunBody:
    """Return the setup of a scheduler."""
    profiles = config.build(configuration, capabilities_of(registry, gates), gates).profiles
    return RunBody(
        host,
        steersman_version(),
        KUBE_SCHEDULER_RELEASES[str(gates.version)],
        seed,
        start,
        config.to_document(configuration),
        gates.changed(),
        tuple(PluginFile(file, file_digest(file)) for file in registry.files),
        {profile.scheduler_name: _plugins(profile) for profile in profiles},
        bindings_at_once=MAX_CONCURRENT_BINDINGS,
        has_exact_digests=True,
        has_uuids=True,
        emulated_version=str(gates.version),
    )


def _plugins(profile: EffectiveProfile) -> tuple[str, ...]:
    return tuple(sorted({name for point in profile.plugins for name in profile.plugins_at(point)}))


def file_digest(file: str) -> str:
    """Return the digest of a plugin file; "" if it is unreadable."""
    try:
        return blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


# -- and back ----------------------------------------------------------------------------------------------------------

NOT_TRUSTED: Final = "is a file with plugins that the record names, and would be run"
TRUST_HINT: Final = "--plugin FILE if you know it, --trust-record-plugins if you know where the record comes from"


class PluginConsent:
    """The plugin files that may be executed for a record, which is untrusted: those that the user
    names, or all files of the record."""

    def __init__(
        self, plugins: Iterable[PluginSource] = (), *, trusts_record: bool = False, adds_others: bool = False
    ) -> None:
        """`adds_others`: also enable plugins that the user names but the record does not."""
        self._plugins = tuple(plugins)
        self._trusts_record = trusts_record
        self._adds_others = adds_others

    def sources(self, run: RunBody) -> tuple[PluginSource, ...]:
        """Return recorded and added plugins. Raises `InputError` for untrusted or missing files."""
        return (*(self._allowed(known) for known in run.plugin_files), *self.others(run))

    def others(self, run: RunBody) -> tuple[PluginSource, ...]:
        """Return the plugins that the recorded scheduler did not have."""
        recorded = {self._named(known) for known in run.plugin_files}
        return tuple(source for source in self._plugins if self._adds_others and source not in recorded)

    def _allowed(self, known: PluginFile) -> PluginSource:
        named = self._named(known)
        if named is None and not self._trusts_record:
            raise InputError(NOT_TRUSTED, file=known.file, hint=TRUST_HINT)
        file = known.file if named is None else named
        if not isinstance(file, type) and not Path(file).is_file():
            raise InputError("does not exist any more, and the record needs its plugins", file=str(file))
        return file

    def _named(self, known: PluginFile) -> PluginSource | None:
        """Return the user's file with the same path, or the same content if the path differs."""
        files = [source for source in self._plugins if not isinstance(source, type)]
        path = os.path.realpath(known.file)
        same_path = (file for file in files if os.path.realpath(file) == path)
        same_content = (file for file in files if known.digest and file_digest(os.fspath(file)) == known.digest)
        return next(same_path, None) or next(same_content, None)


NO_CONSENT: Final = PluginConsent()


def simulation_setup(
    run: RunBody, configuration: str | None = None, plugins: PluginConsent = NO_CONSENT
) -> SimulationSetup:
    """Return the recorded simulation's setup, optionally with another configuration or plugins."""
    options = scheduler_options(run, configuration, plugins)
    return SimulationSetup(options, run.seed, run.start, load_policy(run.kubelets), run.controllers)


def scheduler_options(
    run: RunBody, configuration: str | None = None, plugins: PluginConsent = NO_CONSENT
) -> SchedulerOptions:
    """Return the scheduler's options. Raises `InputError`, `ConfigError` and `PluginError`."""
    gates = FeatureGates(run.gates, run.emulated_version or "1.36")
    registry, names = register(plugins.sources(run))
    chosen = _recorded_configuration(run, gates) if configuration is None else _load(configuration, gates)
    return SchedulerOptions(with_enabled(chosen, names), gates, registry, bindings_at_once=max(1, run.bindings_at_once))


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
