# SPDX-License-Identifier: Apache-2.0
"""A profile: one set of plugin instances with their order and weights, ready to be called.

Built from the effective configuration and a registry; used by the queue (PreEnqueue, hints), the
cycle and the binding driver. Everything that can be decided once, such as missing methods and
kernels, is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import msgspec

from steersman.config import DEFAULT_GATES, Rule
from steersman.framework import (
    ClusterEventWithHint,
    Gates,
    PlacementFeasiblePlugin,
    PodInfo,
    Status,
    plugin as points,
    refreshed,
    split_by_role,
    with_custom,
)
from steersman.scheduler.queue.heap import ComparingQueueSort, KeyedQueueSort
from steersman.scheduler.queue.settings import HintRow, hint_rows
from steersman.scheduler.runtime.applicable_calls import ApplicableCalls
from steersman.scheduler.runtime.declared_kinds import declared_kinds, kinds_by_gates
from steersman.scheduler.runtime.event_registrations import (
    EventsByResource,
    events_by_resource,
    registrations,
    registrations_of_kinds,
)
from steersman.scheduler.runtime.faults import PluginError
from steersman.scheduler.runtime.methods import (
    FilterMethod,
    Method,
    PlacementScoreMethod,
    PreFilterMethod,
    ScoreMethod,
    StatusMethod,
    check_is_awaited,
    filter_method,
    find,
    placement_score_method,
    pre_filter_method,
    score_method,
    status_method,
)

DEFAULT_BINDER = "DefaultBinder"
_REJECTING_POINTS = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit")


class PluginRef(msgspec.Struct, frozen=True):
    """A plugin at an extension point, as named by the configuration."""

    name: str
    weight: int = 0


class ProfileSpec(msgspec.Struct, frozen=True):
    """Input for building a profile: plugins by extension point (in configuration spelling,
    ``preFilter``), and their arguments."""

    name: str
    points: Mapping[str, Sequence[PluginRef]]
    args: Mapping[str, object] = msgspec.field(default_factory=dict)
    percentage_of_nodes_to_score: int | None = None


class PreFilterCall(msgspec.Struct, frozen=True):
    name: str
    plugin: object
    run: PreFilterMethod
    #: PreFilter extensions; None for a plugin whose state does not depend on other pods.
    add_pod: StatusMethod | None
    remove_pod: StatusMethod | None


class FilterCall(msgspec.Struct, frozen=True):
    name: str
    plugin: object
    run: FilterMethod


class ScoreCall(msgspec.Struct, frozen=True):
    name: str
    plugin: object
    weight: int
    run: ScoreMethod
    #: Scales a list of NodeScore in place; None if the plugin has no NormalizeScore.
    normalize: StatusMethod | None


class PlacementScoreCall(msgspec.Struct, frozen=True):
    name: str
    plugin: object
    weight: int
    run: PlacementScoreMethod
    #: Scales a list of PlacementScore in place; None if the plugin has no NormalizePlacementScore.
    normalize: StatusMethod | None


class StatusCall(msgspec.Struct, frozen=True):
    """A call at an extension point whose method returns a status."""

    name: str
    plugin: object
    run: StatusMethod


class ReserveCall(msgspec.Struct, frozen=True):
    name: str
    plugin: object
    reserve: StatusMethod
    unreserve: StatusMethod


class RawCall(msgspec.Struct, frozen=True):
    """A call at an extension point whose result the caller interprets (PostFilter, Permit, PreBind,
    Bind)."""

    name: str
    plugin: object
    run: Method
    #: Whether the plugin enforces its own deadlines.
    enforces_deadlines: bool = False
    #: Called with pod uid, status and seconds for work done without calling `run`; None without
    #: metrics.
    ran: Callable[[str, str, float], None] | None = None


class PreBindCall(RawCall, frozen=True, kw_only=True):
    #: Returns Skip if there is nothing to do; None if the plugin does not implement it.
    pre_flight: Method | None


class Profile(msgspec.Struct, frozen=True):
    """The plugins of one profile by extension point, in the order of execution."""

    name: str
    percentage_of_nodes_to_score: int | None
    plugins: Mapping[str, object]
    pre_enqueue: tuple[StatusCall, ...]
    queue_sort: KeyedQueueSort | ComparingQueueSort
    pre_filter: tuple[PreFilterCall, ...]
    filter: tuple[FilterCall, ...]
    post_filter: tuple[RawCall, ...]
    pre_score: tuple[StatusCall, ...]
    score: tuple[ScoreCall, ...]
    reserve: ApplicableCalls[ReserveCall]
    permit: ApplicableCalls[RawCall]
    pre_bind: ApplicableCalls[PreBindCall]
    bind: tuple[RawCall, ...]
    post_bind: tuple[StatusCall, ...]
    #: The extension points of pod groups; empty without the gate GenericWorkload. A profile has at
    #: most one plugin at PlacementGenerate.
    placement_generate: tuple[RawCall, ...]
    #: Plugins of the profile with PlacementFeasible, at whatever points they are enabled.
    placement_feasible: tuple[StatusCall, ...]
    #: Whether all these plugins have `tolerates_placed_members`.
    tolerates_placed_members: bool
    placement_score: tuple[PlacementScoreCall, ...]
    pod_group_post_filter: tuple[RawCall, ...]
    #: Registered events by plugin.
    hints: tuple[HintRow, ...]
    #: Whether DefaultBinder is the only Bind plugin.
    binds_by_default: bool

    def gate(self, pod: PodInfo) -> Status | None:
        """Return the rejection by the first PreEnqueue plugin that holds the pod back, or None."""
        for call in self.pre_enqueue:
            status = call.run(pod)
            if status is not None:
                return status.with_plugin(call.name)
        return None


def build(spec: ProfileSpec, instances: Mapping[str, object], *, gates: Gates = DEFAULT_GATES) -> Profile:
    """Build a profile from plugin instances. Raises PluginError if one lacks a method of its
    extension point."""
    wire = _Wiring(spec, instances, gates)
    queue_sort = wire.plugins_at("queueSort")
    if len(queue_sort) != 1:
        raise PluginError(f'profile "{spec.name}": expected one queueSort plugin, got {len(queue_sort)}')
    return Profile(
        name=spec.name,
        percentage_of_nodes_to_score=spec.percentage_of_nodes_to_score,
        plugins=instances,
        pre_enqueue=wire.status_calls("preEnqueue", "PreEnqueue", "pre_enqueue", 1),
        queue_sort=_queue_sort(*queue_sort[0]),
        pre_filter=tuple(_pre_filter_call(ref.name, plugin) for ref, plugin in wire.plugins_at("preFilter")),
        filter=tuple(
            FilterCall(r.name, plugin, filter_method(plugin, r.name)) for r, plugin in wire.plugins_at("filter")
        ),
        post_filter=wire.raw_calls("postFilter", "post_filter"),
        pre_score=wire.status_calls("preScore", "PreScore", "pre_score", 3),
        score=tuple(_score_call(ref, plugin) for ref, plugin in wire.plugins_at("score")),
        reserve=ApplicableCalls(_reserve_call(ref.name, plugin) for ref, plugin in wire.plugins_at("reserve")),
        permit=ApplicableCalls(wire.raw_calls("permit", "permit")),
        pre_bind=ApplicableCalls(_pre_bind_call(ref.name, plugin) for ref, plugin in wire.plugins_at("preBind")),
        bind=wire.raw_calls("bind", "bind"),
        post_bind=wire.status_calls("postBind", "PostBind", "post_bind", 3),
        placement_generate=wire.group_calls("placementGenerate", "generate_placements"),
        placement_feasible=wire.placement_feasible(),
        tolerates_placed_members=wire.tolerates_placed_members(),
        placement_score=wire.placement_scores(),
        pod_group_post_filter=wire.group_calls("podGroupPostFilter", "pod_group_post_filter"),
        hints=tuple(wire.hints()),
        binds_by_default=[ref.name for ref, _ in wire.plugins_at("bind")] == [DEFAULT_BINDER],
    )


class _Wiring:
    def __init__(self, spec: ProfileSpec, instances: Mapping[str, object], gates: Gates) -> None:
        self._covers_taints = gates.has_rule(Rule.TAINT_UPDATES_OF_NEW_NODES)
        self._has_pod_roles = gates.has_rule(Rule.POD_EVENTS_BY_ROLE)
        self._kinds_by_gates = kinds_by_gates(gates)
        self._has_groups = gates.enabled("GenericWorkload")
        self._spec = spec
        self._instances = instances

    def plugins_at(self, point: str) -> list[tuple[PluginRef, object]]:
        return [(ref, self._instances[ref.name]) for ref in self._spec.points.get(point, ())]

    def status_calls(self, point: str, label: str, method: str, arguments: int) -> tuple[StatusCall, ...]:
        return tuple(
            StatusCall(ref.name, plugin, status_method(plugin, ref.name, label, method, arguments))
            for ref, plugin in self.plugins_at(point)
        )

    def raw_calls(self, point: str, method: str) -> tuple[RawCall, ...]:
        return tuple(
            RawCall(
                r.name,
                plugin,
                find(plugin, r.name, method, 3),
                enforces_deadlines=bool(getattr(plugin, "enforces_deadlines", False)),
            )
            for r, plugin in self.plugins_at(point)
        )

    def group_calls(self, point: str, method: str) -> tuple[RawCall, ...]:
        return self.raw_calls(point, method) if self._has_groups else ()

    def placement_feasible(self) -> tuple[StatusCall, ...]:
        if not self._has_groups:
            return ()
        return tuple(
            StatusCall(name, plugin, status_method(plugin, name, "PlacementFeasible", "placement_feasible", 3))
            for name, plugin in self._instances.items()
            if isinstance(plugin, PlacementFeasiblePlugin)
        )

    def tolerates_placed_members(self) -> bool:
        plugins = (plugin for plugin in self._instances.values() if isinstance(plugin, PlacementFeasiblePlugin))
        return all(plugin.tolerates_placed_members for plugin in plugins)

    def placement_scores(self) -> tuple[PlacementScoreCall, ...]:
        if not self._has_groups:
            return ()
        return tuple(_placement_score_call(ref, plugin) for ref, plugin in self.plugins_at("placementScore"))

    def _registrations(
        self, name: str, plugin: points.EnqueueExtensions, events: EventsByResource
    ) -> Iterable[ClusterEventWithHint]:
        rows = registrations(name, plugin, events)
        is_in_tree = type(plugin).__module__.startswith("steersman.scheduler.")
        if is_in_tree and self._has_pod_roles:
            return (split for row in rows for split in split_by_role(row))
        return rows

    def hints(self) -> list[HintRow]:
        """Return the queueing hints of the plugins that can reject a pod; a plugin without
        registrations gets all events."""
        rejecting = {ref.name for point in _REJECTING_POINTS for ref, _ in self.plugins_at(point)}
        rows: list[HintRow] = []
        declared = declared_kinds({name: type(plugin) for name, plugin in self._instances.items()})
        events = events_by_resource(with_custom((*declared, *self._kinds_by_gates)))
        for name, plugin in self._instances.items():
            if isinstance(plugin, points.BackgroundPlugin):
                find(plugin, name, "refresh", 0)
                rows.append((name, ClusterEventWithHint(refreshed(name))))
            if isinstance(plugin, points.EnqueueExtensions):
                rows += hint_rows(name, self._registrations(name, plugin, events), self._covers_taints)
            elif name in rejecting:
                rows += (
                    *hint_rows(name, None, self._covers_taints),
                    *hint_rows(name, registrations_of_kinds(plugin), self._covers_taints),
                )
        return rows


def _queue_sort(ref: PluginRef, plugin: object) -> KeyedQueueSort | ComparingQueueSort:
    methods = [method for method in ("sort_key", "less") if hasattr(plugin, method)]
    if not methods:
        raise PluginError(f'plugin "{ref.name}": a queueSort plugin needs a method sort_key(queued) or less(a, b)')
    for method in methods:
        check_is_awaited(getattr(plugin, method), ref.name, method)
    return cast("KeyedQueueSort | ComparingQueueSort", plugin)


def _pre_filter_call(name: str, plugin: object) -> PreFilterCall:
    extended = hasattr(plugin, "add_pod") or hasattr(plugin, "remove_pod")
    return PreFilterCall(
        name=name,
        plugin=plugin,
        run=pre_filter_method(plugin, name),
        add_pod=status_method(plugin, name, "AddPod", "add_pod", 4) if extended else None,
        remove_pod=status_method(plugin, name, "RemovePod", "remove_pod", 4) if extended else None,
    )


def _score_call(ref: PluginRef, plugin: object) -> ScoreCall:
    normalizes = hasattr(plugin, "normalize_scores")
    return ScoreCall(
        name=ref.name,
        plugin=plugin,
        weight=ref.weight or 1,
        run=score_method(plugin, ref.name),
        normalize=status_method(plugin, ref.name, "NormalizeScore", "normalize_scores", 3) if normalizes else None,
    )


def _placement_score_call(ref: PluginRef, plugin: object) -> PlacementScoreCall:
    point, method = "NormalizePlacementScore", "normalize_placement_scores"
    return PlacementScoreCall(
        name=ref.name,
        plugin=plugin,
        weight=ref.weight or 1,
        run=placement_score_method(plugin, ref.name),
        normalize=status_method(plugin, ref.name, point, method, 3) if hasattr(plugin, method) else None,
    )


def _reserve_call(name: str, plugin: object) -> ReserveCall:
    return ReserveCall(
        name=name,
        plugin=plugin,
        reserve=status_method(plugin, name, "Reserve", "reserve", 3),
        unreserve=status_method(plugin, name, "Reserve", "unreserve", 3),
    )


def _pre_bind_call(name: str, plugin: object) -> PreBindCall:
    has_pre_flight = hasattr(plugin, "pre_bind_pre_flight")
    return PreBindCall(
        name=name,
        plugin=plugin,
        run=find(plugin, name, "pre_bind", 3),
        pre_flight=find(plugin, name, "pre_bind_pre_flight", 3) if has_pre_flight else None,
    )
