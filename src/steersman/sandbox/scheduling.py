# SPDX-License-Identifier: Apache-2.0
"""Scheduler of a sandbox: the common assembly, driven by the sandbox's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import msgspec

from steersman import config
from steersman.api import read_text
from steersman.base import Clock, InputError, InternalErrors, SeededRng, Timing
from steersman.cluster.store import Store, StoreReader, Subscription, feed
from steersman.config import FeatureGates, SchedulerConfiguration, refuse_unsupported
from steersman.framework import Spawn
from steersman.record import SANDBOX, Limits, LiveRecording, run_body
from steersman.sandbox.event_objects import EventObjects
from steersman.sandbox.options import SandboxOptions
from steersman.scheduler.assembly import Scheduler, SchedulerOptions, register, with_enabled
from steersman.scheduler.host import HostTasks, LoopTimers, PlainPorts, SchedulingLoop
from steersman.scheduler.runtime import GuardedCoroutine
from steersman.simulation import EventWriter

PODS_AT_A_TIME: Final = 16
"""Number of pods decided before yielding to clients of the API server."""


def scheduler_options(options: SandboxOptions, internal_errors: InternalErrors) -> SchedulerOptions:
    """Return the options. Raise `InputError`, `ConfigError` or `PluginError`."""
    gates = FeatureGates.parse(options.feature_gates, options.emulated_version)
    refuse_unsupported(gates)
    registry, names = register(options.plugins)
    loaded = _configuration(options.config_file, gates)
    if options.scheduler:
        loaded = _renamed(loaded, options.scheduler)
    return SchedulerOptions(with_enabled(loaded, names), gates, registry, internal_errors=internal_errors)


def _configuration(file: str, gates: FeatureGates) -> SchedulerConfiguration:
    return config.load(configuration_text(file), file, gates) if file else config.default_configuration(gates)


def configuration_text(file: str) -> str:
    """Return the text of the configuration file; "" without one."""
    return read_text(file) if file else ""


def _renamed(loaded: SchedulerConfiguration, name: str) -> SchedulerConfiguration:
    """Return the configuration with its only profile under another name."""
    if len(loaded.profiles) != 1:
        hint = "name the profiles in the configuration instead"
        raise InputError("cannot be given to several profiles", field="--scheduler", value=name, hint=hint)
    profile = msgspec.structs.replace(loaded.profiles[0], scheduler_name=name)
    return msgspec.structs.replace(loaded, profiles=(profile,))


class DrivenScheduler(NamedTuple):
    """A scheduler with its loop, its event subscription, and its tasks."""

    scheduler: Scheduler
    loop: SchedulingLoop
    fed_by: Subscription
    tasks: tuple[asyncio.Task[None], ...]
    detach_clock: Callable[[], None] = lambda: None

    def stop(self) -> None:
        """Stop the scheduler's events and decisions; bindings in flight are completed."""
        self.fed_by.cancel()
        self.detach_clock()
        for task in self.tasks:
            task.cancel()


def start_scheduler(
    store: Store,
    timers: LoopTimers,
    events: EventObjects,
    options: SchedulerOptions,
    seed: int,
    tasks: HostTasks,
    recording: LiveRecording | PlainPorts,
) -> DrivenScheduler:
    """Start a scheduler on the store. It decides nothing while the clock is stopped."""
    reader = StoreReader(store)
    scheduler = Scheduler(
        recording.clock(store.clock),
        SeededRng(seed),
        recording.writer(EventWriter(store, events.report_scheduling)),
        recording.spawn(_surviving(tasks, options.internal_errors)),
        options,
        recording.reader(reader),
    )
    kinds = scheduler.watched_kinds
    recording.begin(
        scheduler,
        asyncio.get_running_loop(),
        lambda: [obj for kind in kinds for obj in store.objects(kind).values()],
    )
    reader.serve(scheduler.known_kinds)
    fed_by = feed(store, recording.sink(scheduler.ingest), kinds)
    timing = Timing(store.clock, sleep=timers.sleep)
    errors, act = options.internal_errors, recording.act
    clock = timers.clock
    loop = SchedulingLoop(
        scheduler, timing, errors, pods_at_a_time=PODS_AT_A_TIME, act=act, is_paused=lambda: clock.is_stopped
    )
    driving = tasks.create_task(loop.run(), name="scheduling loop")
    refreshing = tasks.create_task(scheduler.background.run(timers.sleep), name="refresh plugins")
    return DrivenScheduler(scheduler, loop, fed_by, (driving, refreshing), clock.attach(loop.wake))


class ReplaceableScheduler:
    """Scheduler of a sandbox that can be replaced by one with another configuration."""

    def __init__(self, start: Callable[[SchedulerOptions], DrivenScheduler], options: SchedulerOptions) -> None:
        self._start = start
        self.current = start(options)

    def step(self, decisions: int) -> None:
        """Decide up to `decisions` waiting pods while the clock is paused."""
        self.current.loop.step(decisions)

    async def replace(self, options: SchedulerOptions) -> None:
        """Replace the scheduler and hand over waiting pods. Invalid options change nothing."""
        former, self.current = self.current, self._start(options)
        former.stop()
        await self.current.scheduler.background.refresh()


def _surviving(tasks: HostTasks, errors: InternalErrors | None) -> Spawn:
    """Return a function that starts tasks whose faults are logged and counted."""
    if errors is None:
        return tasks.create_task
    survived = partial(errors.survived, "task", "a binding or a coroutine of a plugin")
    return lambda work: tasks.create_task(GuardedCoroutine(work, survived))


def new_recording(directory: str, options: SchedulerOptions, seed: int, clock: Clock) -> LiveRecording:
    """Return a new record. Raise `InputError` if the directory cannot be written."""
    body = run_body(SANDBOX, options.configuration, options.gates, options.registry, seed, clock.now())
    body = msgspec.structs.replace(body, controllers=False, binds_at_once=True, postpones=options.postpones)
    return LiveRecording(directory, Limits(), body, clock)
