# SPDX-License-Identifier: Apache-2.0
"""The scheduler of a sandbox: the same assembly as everywhere, driven in the time of the sandbox's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from steersman import api, config
from steersman.api.text_files import read_text
from steersman.assembly import Failure, Scheduler, SchedulerOptions
from steersman.assembly.registry import register, with_enabled
from steersman.assembly.stimuli import at_once
from steersman.client import Timing
from steersman.clock import Clock
from steersman.config import FeatureGates, SchedulerConfiguration, refuse_unsupported
from steersman.embedded import Store, StoreReader, feed
from steersman.embedded.subscriptions import Subscription
from steersman.errors import InputError
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME, PodInfo
from steersman.host import LoopTimers, SchedulingLoop
from steersman.internal_errors import InternalErrors
from steersman.record.frames import SANDBOX
from steersman.record.live_recording import LiveRecording
from steersman.record.recorded_setup import run_body
from steersman.record.segments import Limits
from steersman.rng import SeededRng
from steersman.sandbox.event_objects import NORMAL, WARNING, EventObjects
from steersman.sandbox.options import SandboxOptions
from steersman.sim import EmbeddedWriter

PODS_AT_A_TIME: Final = 16
"""Pods decided before clients of the API server have their turn."""


def scheduler_options(options: SandboxOptions, internal_errors: InternalErrors) -> SchedulerOptions:
    """Configuration, plugins and gates; raises `InputError`, `ConfigError` and `PluginError`."""
    gates = FeatureGates.parse(options.feature_gates) if options.feature_gates else FeatureGates(None)
    refuse_unsupported(gates)
    registry, names = register(options.plugins)
    loaded = _configuration(options.config_file, gates)
    if options.scheduler:
        loaded = _renamed(loaded, options.scheduler)
    return SchedulerOptions(with_enabled(loaded, names), gates, registry, internal_errors=internal_errors)


def _configuration(file: str, gates: FeatureGates) -> SchedulerConfiguration:
    return config.load(configuration_text(file), file, gates) if file else config.default_configuration(gates)


def configuration_text(file: str) -> str:
    """The text of the configuration file; "" without one."""
    return read_text(file) if file else ""


def _renamed(loaded: SchedulerConfiguration, name: str) -> SchedulerConfiguration:
    """The configuration with its only profile under another name."""
    if len(loaded.profiles) != 1:
        hint = "name the profiles in the configuration instead"
        raise InputError("cannot be given to several profiles", field="--scheduler", value=name, hint=hint)
    profile = msgspec.structs.replace(loaded.profiles[0], scheduler_name=name)
    return msgspec.structs.replace(loaded, profiles=(profile,))


class SandboxWriter(EmbeddedWriter):
    """Implements `assembly.ApiWriter`: writes to the store at once, and reports as event objects."""

    def __init__(self, store: Store, clock: Clock, events: EventObjects) -> None:
        super().__init__(store, clock)
        self._event_objects = events

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._event_objects.report_scheduling(pod.pod, pod.scheduler_name, NORMAL, "Scheduled", "Binding", note)

    def report_failure(self, failure: Failure) -> None:
        pod, nomination = failure.pod, failure.nomination
        reason, action = "FailedScheduling", "Scheduling"
        self._event_objects.report_scheduling(pod, _scheduler_of(pod), WARNING, reason, action, failure.message)
        condition = api.Condition(type="PodScheduled", status="False", reason=failure.reason, message=failure.message)
        self._patch(pod, condition, None if nomination is None else nomination.node)

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        scheduler = _scheduler_of(preemptor)
        self._event_objects.report_scheduling(victim, scheduler, NORMAL, "Preempted", "Preempting", message)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        kind = WARNING if is_warning else NORMAL
        self._event_objects.report_scheduling(pod, _scheduler_of(pod), kind, reason, "Scheduling", note)


class TaskStarter(Protocol):
    """Starts tasks that end with the sandbox."""

    def create_task(self, work: Coroutine[Any, Any, None], *, name: str | None = None) -> asyncio.Task[None]: ...


class DrivenScheduler(NamedTuple):
    """A scheduler, the loop that drives it, what feeds it, and its tasks."""

    scheduler: Scheduler
    loop: SchedulingLoop
    fed_by: Subscription
    tasks: tuple[asyncio.Task[None], ...]

    def stop(self) -> None:
        """Stops the scheduler: it is told nothing any more and decides nothing; bindings that are under way go on."""
        self.fed_by.cancel()
        for task in self.tasks:
            task.cancel()


def start_scheduler(
    store: Store,
    timers: LoopTimers,
    events: EventObjects,
    options: SchedulerOptions,
    seed: int,
    tasks: TaskStarter,
    recording: LiveRecording | None = None,
) -> DrivenScheduler:
    """A scheduler on the store, and the tasks that drive it."""
    writer = SandboxWriter(store, store.clock, events)
    reader = StoreReader(store)
    if recording is None:
        scheduler = Scheduler(store.clock, SeededRng(seed), writer, tasks.create_task, options, reader)
    else:
        scheduler = _recorded_scheduler(store, writer, reader, seed, options, tasks, recording)
    reader.serve(scheduler.known_kinds)
    sink = scheduler.ingest if recording is None else recording.sink(scheduler.ingest)
    fed_by = feed(store, sink, scheduler.watched_kinds)
    timing = Timing(store.clock, sleep=timers.sleep)
    errors, act = options.internal_errors, at_once if recording is None else recording.act
    loop = SchedulingLoop(scheduler, timing, errors, pods_at_a_time=PODS_AT_A_TIME, act=act)
    driving = tasks.create_task(loop.run(), name="scheduling loop")
    refreshing = tasks.create_task(scheduler.background.run(timers.sleep), name="refresh plugins")
    return DrivenScheduler(scheduler, loop, fed_by, (driving, refreshing))


class ReplaceableScheduler:
    """The scheduler of a sandbox, in whose place another one can be put, with another configuration."""

    def __init__(self, start: Callable[[SchedulerOptions], DrivenScheduler], options: SchedulerOptions) -> None:
        self._start = start
        self.current = start(options)

    async def replace(self, options: SchedulerOptions) -> None:
        """Pods that wait are the new one's from now on. Raises what is wrong with the options, and nothing has changed."""
        former, self.current = self.current, self._start(options)
        former.stop()
        if former.loop.is_held:
            self.current.loop.hold()
        await self.current.scheduler.background.refresh()


def _recorded_scheduler(
    store: Store,
    writer: SandboxWriter,
    reader: StoreReader,
    seed: int,
    options: SchedulerOptions,
    tasks: TaskStarter,
    recording: LiveRecording,
) -> Scheduler:
    clock, spawn = recording.clock(store.clock), recording.spawn(tasks.create_task)
    scheduler = Scheduler(clock, SeededRng(seed), recording.writer(writer), spawn, options, recording.reader(reader))
    kinds = scheduler.watched_kinds

    def objects() -> list[api.Object]:
        return [obj for kind in kinds for obj in store.objects(kind).values()]

    recording.begin(scheduler, asyncio.get_running_loop(), objects)
    return scheduler


def new_recording(directory: str, options: SchedulerOptions, seed: int, clock: Clock) -> LiveRecording:
    """The record of a sandbox's scheduler. Raises `InputError` if the directory cannot be written to."""
    body = run_body(SANDBOX, options.configuration, options.gates, options.registry, seed, clock.now())
    body = msgspec.structs.replace(body, controllers=False, binds_at_once=True, postpones=options.postpones)
    return LiveRecording(directory, Limits(), body, clock)


def _scheduler_of(pod: api.Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
