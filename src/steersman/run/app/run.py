# SPDX-License-Identifier: Apache-2.0
"""Entry point: turns options into an exit code; opens and closes what the program needs.

effective ─► connect ─► control thread, transports, extenders, bindings ─► Program.run
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from steersman.base import (
    KUBE_SCHEDULER_RELEASES,
    InputError,
    InternalErrors,
    Timing,
    hide_passwords,
    most_informative_error,
    steersman_version,
)
from steersman.config import dump_public_yaml, with_extender_resources, without_effect
from steersman.kube.client import (
    ClusterChoice,
    Connection,
    FailureLog,
    RawObjects,
    WriteFence,
    connect,
    http_extenders,
)
from steersman.kube.observe import SILENCE, ClientMetrics, Log, Metrics, NullLog, set_up
from steersman.run.app.control_thread import ControlConnections, ControlThread, control_transports, transports
from steersman.run.app.process import ENDING, Bindings, Control, new_event_loop, raise_open_files, signals_handled
from steersman.run.app.program import ClusterConnections, ControlThreadParts, Program
from steersman.run.app.recording import NullRecorder, Recorder
from steersman.run.app.settings import EffectiveSettings, RunOptions, effective
from steersman.scheduler.host import keep_freed_memory

logger = logging.getLogger(__name__)

EXIT_SECOND_SIGNAL: Final = 1
STARTING: Final = "Starting Steersman"
DEFAULTS: Final = "defaults"


def main(options: RunOptions) -> int:
    """Run until a signal or the loss of the lease. Return 0 after an orderly end, 1 if the lease
    was lost or a second signal came."""
    log = set_up(options.verbosity, options.log_format)
    raise_open_files()
    keep_freed_memory()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(until_signalled(options, log))


async def until_signalled(options: RunOptions, log: Log | NullLog = SILENCE) -> int:
    """Run under the control of signals. A second SIGTERM or SIGINT ends the program at once."""
    control, hurry = Control(), asyncio.Event()
    program = asyncio.current_task()

    def end() -> None:
        if control.stop.is_set() and program is not None:
            hurry.set()
            program.cancel()
        control.stop.set()

    try:
        with signals_handled({**dict.fromkeys(ENDING, end), signal.SIGUSR2: control.dump.set}):
            return await run(options, control, log=log)
    except asyncio.CancelledError:
        if not hurry.is_set():
            raise
        return EXIT_SECOND_SIGNAL


async def run(
    options: RunOptions,
    control: Control,
    environment: Mapping[str, str] | None = None,
    log: Log | NullLog = SILENCE,
) -> int:
    """Run and return the exit code. Raise `SteersmanError` or OSError if the start fails."""
    settings = effective(options)
    if options.write_config_to:
        _write_configuration(settings, options.write_config_to)
        return 0
    timing = Timing()
    known = os.environ if environment is None else environment
    try:
        return await _run(settings, options, control, known, timing, log)
    except ExceptionGroup as group:
        raise most_informative_error(group) from group


async def _run(
    settings: EffectiveSettings,
    options: RunOptions,
    control: Control,
    environment: Mapping[str, str],
    timing: Timing,
    log: Log | NullLog,
) -> int:
    configuration, metrics, internal_errors = settings.configuration, Metrics(), InternalErrors()
    requests, originals = ClientMetrics(metrics.registry), RawObjects(configuration.extenders)
    own = _own_connection(settings, options, environment, timing)
    own = msgspec.structs.replace(own, on_certificate=requests.show_certificate)

    def announce() -> None:
        log.info(STARTING, **_what_starts(settings, options, own))
        for line in (*options.ignored_flags, *without_effect(settings.gates)):
            logger.warning("%s", line)

    others = _control_connections(settings, options, environment, timing)
    elects = configuration.leader_election.leader_elect
    fence = WriteFence(timing.clock) if elects else WriteFence.open(timing.clock)
    seed = secrets.randbits(64)
    async with (
        _recording(settings, options, seed, timing) as recording,
        ControlThread() as thread,
        thread.entered(lambda: control_transports(others, requests)) as control_channels,
        transports(own, configuration.client_connection, timing, requests, fence) as channels,
        http_extenders(configuration, originals, fence) as extenders,
        Bindings(internal_errors) as bindings,
    ):
        failures = FailureLog(timing.clock, hide_passwords(own.server))
        connections = ClusterConnections(channels, extenders, originals, fence, failures)
        control_parts = ControlThreadParts(thread, control_channels, options.serving, options.flags)
        program = Program(
            settings,
            connections,
            control_parts,
            bindings,
            control,
            timing,
            log,
            metrics,
            internal_errors,
            announce,
            seed,
            recording,
        )
        return await program.run()


@asynccontextmanager
async def _recording(
    settings: EffectiveSettings, options: RunOptions, seed: int, timing: Timing
) -> AsyncGenerator[Recorder, None]:
    """Yield the recorder, and close the record at the end."""
    if options.record is None:
        yield NullRecorder()
        return
    from steersman.run.app.recorded import FileRecorder  # slow import, rarely needed

    recorded = FileRecorder(options.record, settings, seed, timing.clock)
    try:
        yield recorded
    finally:
        asyncio.get_running_loop().set_task_factory(None)
        await asyncio.to_thread(recorded.close)


def _what_starts(settings: EffectiveSettings, options: RunOptions, own: Connection) -> dict[str, str]:
    """Return the fields of the first log line, for diagnosing a wrong setup."""
    changed = settings.gates.changed()
    gates = {"featureGates": ",".join(f"{name}={str(on).lower()}" for name, on in changed.items())} if changed else {}
    return {
        "version": steersman_version(),
        "compatibleWith": f"kube-scheduler {KUBE_SCHEDULER_RELEASES[str(settings.gates.version)]}",
        "server": hide_passwords(own.server),
        "configuration": options.config_file or DEFAULTS,
        "profiles": ",".join(profile.scheduler_name for profile in settings.configuration.profiles),
        **gates,
    }


def _own_connection(
    settings: EffectiveSettings, options: RunOptions, environment: Mapping[str, str], timing: Timing
) -> Connection:
    kubeconfig = options.kubeconfig or settings.configuration.client_connection.kubeconfig
    return connect(ClusterChoice(kubeconfig, master=options.master), environment, timing).connection


def _control_connections(
    settings: EffectiveSettings, options: RunOptions, environment: Mapping[str, str], timing: Timing
) -> ControlConnections:
    """Connect again, because credentials belong to the loop that uses them."""
    own, serving = _own_connection(settings, options, environment, timing), options.serving

    def other(file: str) -> Connection:
        return connect(ClusterChoice(file), environment, timing).connection if file else own

    return ControlConnections(own, other(serving.authentication.kubeconfig), other(serving.authorization_kubeconfig))


def _write_configuration(settings: EffectiveSettings, file: str) -> None:
    try:
        Path(file).write_text(dump_public_yaml(with_extender_resources(settings.configuration)), "utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from error
    logger.info("wrote the configuration to %s", file)
