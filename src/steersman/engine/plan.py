# SPDX-License-Identifier: Apache-2.0
"""How a profile's plugins are evaluated: by kernels where possible, one by one otherwise. Decided once per profile.

Comes from a `Profile`; used by the columnar engine to put signatures together.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from steersman.engine.promised_kernels import PromisedFilter, PromisedScore, fragment, promise
from steersman.engine.row_totals import PENALTY
from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    Depends,
    FilterKernel,
    PerPodFragment,
    ScoreKernel,
    StatusTable,
)
from steersman.framework.nodes_view import NodesView
from steersman.framework.plugin import PreFilterPlugin, PreScorePlugin
from steersman.framework.pod_info import PodInfo
from steersman.runtime.profile import FilterCall, Profile, ScoreCall

MAX_SCORE = 100


def looks_at_claims(plugin: object) -> bool:
    return isinstance(plugin, ColumnarFilter) and plugin.looks_at_claims


class FilterStep:
    """One filter plugin of the profile."""

    __slots__ = ("_columnar", "_promise", "call", "is_live", "statuses")

    def __init__(self, call: FilterCall, prepared: bool) -> None:
        """`prepared`: the plugin has PreFilter as well. Its filter may rest on what that left in the cycle's state, so
        that no promise can be kept. Where the profile leaves out the PreFilter that the plugin has, the kernel, which
        stands for both, is of no use."""
        self.call = call
        plugin = call.plugin
        is_whole = prepared or not isinstance(plugin, PreFilterPlugin)
        self._columnar = plugin if is_whole and isinstance(plugin, ColumnarFilter) else None
        self._promise: Depends | None = None if self._columnar or prepared else promise(plugin)
        self.statuses: StatusTable = self._columnar.statuses if self._columnar else StatusTable()
        #: Must be asked for every node in every cycle.
        self.is_live = self._columnar is None and self._promise is None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def is_cluster(self) -> bool:
        return self._columnar is not None and self._columnar.filters_by_cluster

    def is_personal(self, pod: PodInfo) -> bool:
        """The kernel is for this pod alone."""
        return pod.shape.has_claims and looks_at_claims(self.call.plugin)

    def fragment(self, pod: PodInfo) -> Hashable:
        """Pods with equal fragments share the kernel; None: this one is not shared."""
        if self._columnar is not None:
            return self._columnar.filter_fragment(pod)
        return fragment(self.call.plugin, pod)

    def kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | ClusterFilterKernel | None:
        if self._columnar is not None:
            return self._columnar.filter_kernel(pod, view)
        assert self._promise is not None
        return PromisedFilter(self.call.run, pod, view, self.statuses, self._promise)


class ScoreStep:
    """One score plugin of the profile."""

    __slots__ = ("_columnar", "_promise", "call", "is_live", "is_whole")

    def __init__(self, call: ScoreCall, pre_filtered: bool, pre_scored: bool) -> None:
        """Whether the plugin has PreFilter and PreScore as well; see `FilterStep`."""
        self.call = call
        plugin, prepared = call.plugin, pre_filtered or pre_scored
        #: The profile does not leave out the PreScore that the plugin has, which may say Skip.
        self.is_whole = pre_scored or not isinstance(plugin, PreScorePlugin)
        self._columnar = plugin if self.is_whole and isinstance(plugin, ColumnarScore) else None
        self._promise = None if self._columnar or prepared else promise(plugin)
        self.is_live = self._columnar is None and self._promise is None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def weight(self) -> int:
        return self.call.weight

    @property
    def keeps_raw_scores(self) -> bool:
        """The plugin promises something of its scores, and normalises them itself in every cycle."""
        return self._promise is not None and self.call.normalize is not None

    def is_personal(self, pod: PodInfo) -> bool:
        """The kernel is for this pod alone."""
        return pod.shape.has_claims and looks_at_claims(self.call.plugin)

    def fragment(self, pod: PodInfo) -> Hashable:
        if self._columnar is not None:
            return self._columnar.score_fragment(pod)
        return fragment(self.call.plugin, pod)

    def kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        if self._columnar is not None:
            return self._columnar.score_kernel(pod, view)
        assert self._promise is not None
        return PromisedScore(self.call, pod, view, self._promise)


class Plan(msgspec.Struct, frozen=True):
    """The steps in configured order, and what they imply."""

    profile: Profile
    filters: tuple[FilterStep, ...]
    scores: tuple[ScoreStep, ...]
    #: PreFilter and PreScore plugins that are asked in every cycle.
    live_pre_filters: frozenset[str]
    live_pre_scores: frozenset[str]
    #: Plugins whose filter is a cluster kernel.
    cluster_filters: frozenset[str]
    #: Plugins whose kernels depend on more of a pod than its shape and referenced labels.
    per_pod: tuple[PerPodFragment, ...]
    #: Totals need 64 bits.
    wide: bool

    @property
    def live_filters(self) -> tuple[FilterStep, ...]:
        return tuple(step for step in self.filters if step.is_live)

    @property
    def live_scores(self) -> tuple[ScoreStep, ...]:
        return tuple(step for step in self.scores if step.is_live)

    def label_part(self, pod: PodInfo) -> tuple[Hashable, ...]:
        return tuple([plugin.pod_fragment(pod) for plugin in self.per_pod])

    def fragment_kinds(self) -> tuple[type[object], ...] | None:
        """Kinds of objects: while none of them changes, pods of one template have equal label parts; None: they need not."""
        kinds: set[type[object]] = set()
        for plugin in self.per_pod:
            if plugin.fragment_kinds is None:
                return None
            kinds.update(plugin.fragment_kinds)
        return tuple(kinds)


def make_plan(profile: Profile) -> Plan:
    pre_filters = {call.name for call in profile.pre_filter}
    pre_scores = {call.name for call in profile.pre_score}
    filters = tuple(FilterStep(call, call.name in pre_filters) for call in profile.filter)
    scores = tuple(ScoreStep(call, call.name in pre_filters, call.name in pre_scores) for call in profile.score)
    steps: list[FilterStep | ScoreStep] = [*filters, *scores]
    scored_by_kernel = {s.name for s in scores if not s.is_live}
    plugins = {s.name: s.call.plugin for s in steps if not s.is_live}.values()
    return Plan(
        profile=profile,
        filters=filters,
        scores=scores,
        live_pre_filters=frozenset(c.name for c in profile.pre_filter if not isinstance(c.plugin, ColumnarFilter)),
        live_pre_scores=frozenset(c.name for c in profile.pre_score if c.name not in scored_by_kernel),
        cluster_filters=frozenset(s.name for s in filters if s.is_cluster),
        per_pod=tuple(p for p in plugins if isinstance(p, PerPodFragment) and p.has_pod_fragments)
        + tuple(_PromisedFragment(p) for p in plugins if promise(p) is not None),
        wide=sum(abs(s.weight) for s in scores) * MAX_SCORE >= PENALTY // 4,
    )


class _PromisedFragment(PerPodFragment):
    """The part of a pod that a promising scalar plugin looks at, as a part of the pod's signature."""

    def __init__(self, plugin: object) -> None:
        self._plugin = plugin

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        return fragment(self._plugin, pod)
