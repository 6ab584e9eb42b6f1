# SPDX-License-Identifier: Apache-2.0
"""The parts of a scheduler, made from the options of its host: profiles, queue, cycle.

`scheduler` owns them. Whatever the configuration and the feature gates decide about a part is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from steersman import api, config
from steersman.assembly.nominations import NominatedPods
from steersman.assembly.observers import Instruments
from steersman.assembly.pending_pods import PendingInfos, pre_enqueue_step
from steersman.assembly.registry import default_registry
from steersman.binding.cycle import BINDINGS_AT_ONCE
from steersman.clock import Clock
from steersman.config import FeatureGates, SchedulerConfiguration
from steersman.cycle.schedule_one import SchedulingCycle
from steersman.framework.extender import EXTENDER_PLUGIN, Extender
from steersman.graph_copy import shared_by_copies
from steersman.internal_errors import InternalErrors
from steersman.queue import QueueProfile, QueueSettings, SchedulingQueue, hint_rows, sort_key_of
from steersman.rng import Rng
from steersman.runtime.capabilities import capabilities_of
from steersman.runtime.handle import ProfileHandle
from steersman.runtime.profile import Profile
from steersman.runtime.profiles import build_profiles
from steersman.runtime.registry import Registry
from steersman.state.cache import Cache

POP_FROM_BACKOFF_GATE = "SchedulerPopFromBackoffQ"


@shared_by_copies
class SchedulerOptions(msgspec.Struct, frozen=True):
    """The choices of a host besides the configuration."""

    configuration: SchedulerConfiguration = msgspec.field(default_factory=config.default_configuration)
    gates: FeatureGates = config.DEFAULT_GATES
    registry: Registry = msgspec.field(default_factory=default_registry)
    #: Services that have a say, in the order in which they are asked; usually `client.http_extenders`. A scheduler with
    #: extenders is driven by `schedule_one_async`.
    extenders: Sequence[Extender] = ()
    #: A pod that has been unschedulable for so many seconds is tried again without a reason.
    max_in_unschedulable: float = QueueSettings().max_in_unschedulable
    #: What a running scheduler survives: the pod fails and is tried again. None: a programming error goes on to the caller.
    internal_errors: InternalErrors | None = None
    #: Cycles that would take too long are postponed; the host runs `Scheduler.postponed`. Else they take their time.
    postpones: bool = False
    #: Counts and times what happens; None: nobody measures.
    instruments: Instruments | None = None
    #: Bindings that are under way at once, as requests of their own.
    bindings_at_once: int = BINDINGS_AT_ONCE
    #: Use the plain engine: slow, for comparisons.
    scalar: bool = False


def make_profiles(options: SchedulerOptions, handle_of: Callable[[str], ProfileHandle]) -> dict[str, Profile]:
    """The profiles of the configuration by name, each plugin with the handle of its profile."""
    built = config.build(options.configuration, capabilities_of(options.registry), options.gates)
    profiles = build_profiles(built.profiles, options.registry, handle_of)
    if options.instruments is None:
        return profiles
    return {name: options.instruments.instrumented(profile) for name, profile in profiles.items()}


def make_queue(
    options: SchedulerOptions,
    profiles: Mapping[str, Profile],
    clock: Clock,
    pods: Mapping[str, api.Pod],
    infos: PendingInfos,
) -> SchedulingQueue:
    """The scheduling queue of the profiles; `pods` are those that are not finished."""
    first = next(iter(profiles.values()))
    settings = options.configuration
    return SchedulingQueue(
        {name: _queue_profile(options, profile, infos) for name, profile in profiles.items()},
        sort_key_of(first.queue_sort),
        clock,
        QueueSettings(
            float(settings.pod_initial_backoff_seconds),
            float(settings.pod_max_backoff_seconds),
            options.max_in_unschedulable,
            options.gates.enabled(POP_FROM_BACKOFF_GATE),
        ),
        pod_lookup=pods.get,
        metrics=None if options.instruments is None else options.instruments.queue_metrics,
        internal_errors=options.internal_errors,
    )


def _queue_profile(options: SchedulerOptions, profile: Profile, infos: PendingInfos) -> QueueProfile:
    gates = [pre_enqueue_step(call, infos.get) for call in profile.pre_enqueue]
    # An extender cannot say what would help: after its refusal, everything might.
    hints = hint_rows(EXTENDER_PLUGIN, None) if options.extenders else ()
    return QueueProfile(gates, (*hints, *profile.hints))


def make_cycle(
    options: SchedulerOptions, cache: Cache, profiles: Mapping[str, Profile], nominated: NominatedPods, rng: Rng
) -> SchedulingCycle:
    """The scheduling cycle of the profiles."""
    return SchedulingCycle(
        cache,
        profiles,
        nominated.all,
        rng,
        options.configuration.percentage_of_nodes_to_score,
        options.scalar,
        asks_extenders=any(extender.is_filter or extender.is_prioritizer for extender in options.extenders),
    )
