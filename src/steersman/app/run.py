# SPDX-License-Identifier: Apache-2.0
"""Entrance: options in, exit code out. Opens what the program needs, and closes it.

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

from steersman.app.control_thread import ControlConnections, ControlThread, control_transports, transports
from steersman.app.process import ENDING, Bindings, Control, new_event_loop, raise_open_files, signals_handled
from steersman.app.program import Controlling, Outside, Program
from steersman.app.recording import NOT_RECORDED, NotRecorded
from steersman.app.settings import Effective, RunOptions, effective
from steersman.build_info import KUBE_SCHEDULER_VERSION, steersman_version
from steersman.client import (
    ClusterChoice,
    Connection,
    FailureLog,
    RawObjects,
    Timing,
    WriteFence,
    connect,
    http_extenders,
)
from steersman.config import dump_public_yaml, without_effect
from steersman.errors import InputError, SteersmanError
from steersman.host import keep_freed_memory
from steersman.internal_errors import InternalErrors
from steersman.observe import ClientMetrics, Log, Metrics, set_up
from steersman.observe.logs import SILENCE, Silence
from steersman.redaction import hide_passwords

logger = logging.getLogger(__name__)

HURRIED: Final = 1
STARTING: Final = "Starting Steersman"
DEFAULTS: Final = "defaults"


def main(options: RunOptions) -> int:
    """Runs until a signal, or the loss of the lease, ends it. 0: ended in order; 1: the lease was lost, or a
    second signal came."""
    log = set_up(options.verbosity, options.log_format)
    raise_open_files()
    keep_freed_memory()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(until_signalled(options, log))


async def until_signalled(options: RunOptions, log: Log | Silence = SILENCE) -> int:
    """`run` under the control of signals. The second one that asks for the end does not wait for anything any more."""
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
        return HURRIED


async def run(
    options: RunOptions,
    control: Control,
    environment: Mapping[str, str] | None = None,
    log: Log | Silence = SILENCE,
) -> int:
    """The exit code. Decisions go to `log`. `SteersmanError` or OSError for what makes a start impossible."""
    settings = effective(options)
    if options.write_config_to:
        _write_configuration(settings, options.write_config_to)
        return 0
    timing = Timing()
    known = os.environ if environment is None else environment
    try:
        return await _run(settings, options, control, known, timing, log)
    except ExceptionGroup as group:
        raise _most_telling(group) from group


async def _run(
    settings: Effective,
    options: RunOptions,
    control: Control,
    environment: Mapping[str, str],
    timing: Timing,
    log: Log | Silence,
) -> int:
    configuration, metrics, internal_errors = settings.configuration, Metrics(), InternalErrors()
    requests, originals = ClientMetrics(metrics.registry), RawObjects(configuration.extenders)
    own = _own_connection(settings, options, environment, timing)

    def announce() -> None:
        log.info(STARTING, **_what_starts(settings, options, own))
        for line in without_effect(settings.gates):
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
        outside = Outside(channels, extenders, originals, fence, failures)
        controlling = Controlling(thread, control_channels, options.serving, options.flags)
        program = Program(
            settings,
            outside,
            controlling,
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
    settings: Effective, options: RunOptions, seed: int, timing: Timing
) -> AsyncGenerator[NotRecorded, None]:
    """The record, which is closed when nothing happens any more."""
    if options.record is None:
        yield NOT_RECORDED
        return
    from steersman.app.recorded import Recorded  # takes a while to import, and few record

    recorded = Recorded(options.record, settings, seed, timing.clock)
    try:
        yield recorded
    finally:
        asyncio.get_running_loop().set_task_factory(None)
        await asyncio.to_thread(recorded.close)


def _what_starts(settings: Effective, options: RunOptions, own: Connection) -> dict[str, str]:
    """Parts of the first line of the log, which an operator reads when a process does not do what he expects."""
    changed = settings.gates.changed()
    gates = {"featureGates": ",".join(f"{name}={str(on).lower()}" for name, on in changed.items())} if changed else {}
    return {
        "version": steersman_version(),
        "compatibleWith": f"kube-scheduler {KUBE_SCHEDULER_VERSION}",
        "server": hide_passwords(own.server),
        "configuration": options.config_file or DEFAULTS,
        "profiles": ",".join(profile.scheduler_name for profile in settings.configuration.profiles),
        **gates,
    }


def _own_connection(
    settings: Effective, options: RunOptions, environment: Mapping[str, str], timing: Timing
) -> Connection:
    kubeconfig = options.kubeconfig or settings.configuration.client_connection.kubeconfig
    return connect(ClusterChoice(kubeconfig, master=options.master), environment, timing).connection


def _control_connections(
    settings: Effective, options: RunOptions, environment: Mapping[str, str], timing: Timing
) -> ControlConnections:
    """Looked up anew: credentials belong to the loop that uses them."""
    own, serving = _own_connection(settings, options, environment, timing), options.serving

    def other(file: str) -> Connection:
        return connect(ClusterChoice(file), environment, timing).connection if file else own

    return ControlConnections(own, other(serving.authentication.kubeconfig), other(serving.authorization_kubeconfig))


def _write_configuration(settings: Effective, file: str) -> None:
    try:
        Path(file).write_text(dump_public_yaml(settings.configuration), "utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from error
    logger.info("wrote the configuration to %s", file)


def _most_telling(group: ExceptionGroup[Exception]) -> Exception:
    """Tasks end together; one error says why. What is meant for users comes first."""
    leaves = list(_leaves(group))
    return next((leaf for leaf in leaves if isinstance(leaf, SteersmanError)), leaves[0])


def _leaves(group: ExceptionGroup[Exception]) -> list[Exception]:
    leaves: list[Exception] = []
    for error in group.exceptions:
        leaves += _leaves(error) if isinstance(error, ExceptionGroup) else [error]
    return leaves
