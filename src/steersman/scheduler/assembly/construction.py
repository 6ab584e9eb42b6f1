# SPDX-License-Identifier: Apache-2.0
"""Creates the parts of a scheduler from the options of its host: profiles, queue, cycle.

`scheduler` owns them. All decisions based on the configuration and the feature gates are made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from steersman import api, config
from steersman.base import Clock, InternalErrors, Rng
from steersman.base.graph_copy import shared_by_copies
from steersman.config import FeatureGates, Rule, SchedulerConfiguration
from steersman.framework import EXTENDER_PLUGIN, Extender
from steersman.scheduler.assembly.nominations import NominatedPods
from steersman.scheduler.assembly.observers import Instruments
from steersman.scheduler.assembly.pending_pods import PendingInfos, pre_enqueue_step
from steersman.scheduler.assembly.registry import default_registry
from steersman.scheduler.binding.cycle import MAX_CONCURRENT_BINDINGS
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.queue import (
    PodGroupSettings,
    Queued,
    QueueProfile,
    QueueSettings,
    SchedulingQueue,
    hint_rows,
    sort_key_of,
)
from steersman.scheduler.queue.heap import ComparingQueueSort, KeyedQueueSort, SortKey
from steersman.scheduler.runtime.capabilities import capabilities_of
from steersman.scheduler.runtime.event_registrations import pod_events_of
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, PluginError, describe_fault
from steersman.scheduler.runtime.handle import ProfileHandle
from steersman.scheduler.runtime.plugin_args import check_args
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.runtime.profiles import build_profiles
from steersman.scheduler.runtime.registry import Registry
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.pod_groups import PodGroupTable

POP_FROM_BACKOFF_GATE = "SchedulerPopFromBackoffQ"


@shared_by_copies
class SchedulerOptions(msgspec.Struct, frozen=True):
    """Options of a host in addition to the configuration."""

    configuration: SchedulerConfiguration = msgspec.field(default_factory=config.default_configuration)
    gates: FeatureGates = config.DEFAULT_GATES
    registry: Registry = msgspec.field(default_factory=default_registry)
    #: Extenders in call order; usually `client.http_extenders`. A scheduler with extenders is
    #: driven by `schedule_one_async`.
    extenders: Sequence[Extender] = ()
    #: Seconds after which an unschedulable pod is retried without an event.
    max_in_unschedulable: float = QueueSettings().max_in_unschedulable
    #: Collects internal errors, after which the pod fails and is retried; if None, they are raised
    #: to the caller.
    internal_errors: InternalErrors | None = None
    #: Whether cycles that would take too long are postponed; the host then runs
    #: `Scheduler.postponed`.
    postpones: bool = False
    #: Metrics of the scheduler, if any.
    instruments: Instruments | None = None
    #: Maximum number of concurrent binding requests.
    bindings_at_once: int = MAX_CONCURRENT_BINDINGS
    #: Whether to use the scalar engine: slow, for comparisons.
    scalar: bool = False


def make_pod_groups(gates: FeatureGates) -> PodGroupTable | None:
    """Return the table of pod groups, or None if they are not scheduled."""
    if not gates.enabled("GenericWorkload"):
        return None
    return PodGroupTable(has_composites=gates.enabled("CompositePodGroup"))


def make_profiles(options: SchedulerOptions, handle_of: Callable[[str], ProfileHandle]) -> dict[str, Profile]:
    """Return the profiles of the configuration by name, each plugin with the handle of its
    profile."""
    built = config.build(options.configuration, capabilities_of(options.registry, options.gates), options.gates)
    check_args(options.configuration, options.registry)
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
    """Return the scheduling queue of the profiles; `pods` are the unfinished ones."""
    first = next(iter(profiles.values()))
    settings = options.configuration
    return SchedulingQueue(
        {name: _queue_profile(options, profile, infos) for name, profile in profiles.items()},
        _sort_key(first.queue_sort),
        clock,
        QueueSettings(
            float(settings.pod_initial_backoff_seconds),
            float(settings.pod_max_backoff_seconds),
            options.max_in_unschedulable,
            options.gates.enabled(POP_FROM_BACKOFF_GATE),
            pod_events_of(options.gates),
            options.gates.has_rule(Rule.GATED_PODS_KEEP_NOMINATIONS),
            options.gates.has_rule(Rule.DELETED_PODS_ARE_UNCOUNTED),
            _pod_group_settings(options.gates),
        ),
        pod_lookup=pods.get,
        metrics=None if options.instruments is None else options.instruments.queue_metrics,
        internal_errors=options.internal_errors,
    )


def _pod_group_settings(gates: FeatureGates) -> PodGroupSettings | None:
    return PodGroupSettings(gates.enabled("CompositePodGroup")) if gates.enabled("GenericWorkload") else None


def _sort_key(plugin: KeyedQueueSort | ComparingQueueSort) -> SortKey:
    is_in_tree = type(plugin).__module__.startswith("steersman.")
    return sort_key_of(plugin) if is_in_tree else _GuardedSortKey(plugin)


class _GuardedSortKey:
    """Sort key of an out-of-tree QueueSort plugin; raises PluginError with its name for an invalid
    key."""

    def __init__(self, plugin: KeyedQueueSort | ComparingQueueSort) -> None:
        self._sort_key = sort_key_of(plugin)
        self._method = f'plugin "{getattr(plugin, "name", "")}": sort_key()'

    def __call__(self, queued: Queued) -> tuple[Any, ...]:
        try:
            key = self._sort_key(queued)
        except PLUGIN_FAULTS as cause:
            raise PluginError(f"{self._method} raised {describe_fault(cause)}") from cause
        if not isinstance(key, tuple) or not key:
            raise PluginError(f"{self._method} returned {key!r}, expected a tuple that is not empty")
        return key


def _queue_profile(options: SchedulerOptions, profile: Profile, infos: PendingInfos) -> QueueProfile:
    gates = [pre_enqueue_step(call, infos.get) for call in profile.pre_enqueue]
    # An extender registers no events: after its rejection, any event may help.
    covers_taints = options.gates.has_rule(Rule.TAINT_UPDATES_OF_NEW_NODES)
    hints = hint_rows(EXTENDER_PLUGIN, None, covers_taints) if options.extenders else ()
    return QueueProfile(gates, (*hints, *profile.hints))


def make_cycle(
    options: SchedulerOptions, cache: Cache, profiles: Mapping[str, Profile], nominated: NominatedPods, rng: Rng
) -> SchedulingCycle:
    """Return the scheduling cycle of the profiles."""
    return SchedulingCycle(
        cache,
        profiles,
        nominated.all,
        rng,
        options.configuration.percentage_of_nodes_to_score,
        options.scalar,
        has_extenders=any(extender.is_filter or extender.is_prioritizer for extender in options.extenders),
    )
