# SPDX-License-Identifier: Apache-2.0
"""How each plugin of a profile is evaluated: with kernels if possible, else by calls for every
node. Decided once per profile.

Built from a `Profile`; used by the columnar engine to build signatures.

A scalar plugin that promises what its results depend on gets kernels too, and is cached like the
in-tree ones. It makes the promise with `depends = Depends.NODE` or `Depends.NODE_PODS`, and returns
what it reads of the pod with `fragment(pod)`. Without a promise it is called in every cycle. Such a
kernel evaluates every node, including those that another plugin rejects. An internal error there
must not fail the pod, so errors are stored by row and count only if the node matters. If a plugin
normalises its scores, which depends on all feasible nodes, its raw scores are cached and
NormalizeScore is called in every cycle.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import msgspec
import numpy as np

from steersman.api import Pod
from steersman.framework import (
    ALL_ROWS,
    MAX_INT64,
    MIN_INT64,
    ClusterFilterKernel,
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    Depends,
    Feasible,
    FilterKernel,
    IntColumn,
    NodeScore,
    NodesView,
    Normalize,
    PerPodFragment,
    PodInfo,
    PreFilterPlugin,
    PreScorePlugin,
    ReasonColumn,
    Rows,
    ScoreKernel,
    StatusTable,
)
from steersman.scheduler.engine.columns import FragmentColumn
from steersman.scheduler.engine.guarded_kernels import guarded_fragment, guarded_kernel
from steersman.scheduler.engine.row_totals import PENALTY
from steersman.scheduler.engine.scalar import check_score, normalised_scores
from steersman.scheduler.runtime.faults import CycleAborted
from steersman.scheduler.runtime.methods import FilterMethod
from steersman.scheduler.runtime.profile import FilterCall, Profile, ScoreCall
from steersman.scheduler.state.node_table import NodeTable

# -- steps ----------------------------------------------------------------------------------------

MAX_SCORE = 100


def reads_claims(plugin: object) -> bool:
    return isinstance(plugin, ColumnarFilter) and plugin.reads_claims


class FilterStep:
    """One filter plugin of the profile."""

    __slots__ = ("_columnar", "_promise", "call", "is_live", "statuses")

    def __init__(self, call: FilterCall, prepared: bool) -> None:
        """`prepared` says whether the profile runs the plugin's PreFilter. Its filter may then
        depend on the cycle state, so that a promise is ignored. If the profile disables the
        PreFilter of the plugin, its kernel, which covers both, is not used."""
        self.call = call
        plugin = call.plugin
        is_whole = prepared or not isinstance(plugin, PreFilterPlugin)
        self._columnar = plugin if is_whole and isinstance(plugin, ColumnarFilter) else None
        self._promise: Depends | None = None if self._columnar or prepared else promise(plugin)
        self.statuses: StatusTable = self._columnar.statuses if self._columnar else StatusTable()
        #: Whether it must be called for every node in every cycle.
        self.is_live = self._columnar is None and self._promise is None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def is_cluster(self) -> bool:
        return self._columnar is not None and self._columnar.filters_by_cluster

    def depends_on_claims(self, pod: PodInfo) -> bool:
        """Return whether the kernel is specific to this pod because of its volume claims."""
        return pod.shape.has_claims and reads_claims(self.call.plugin)

    def fragment(self, pod: PodInfo) -> Hashable:
        """Return the fragment; pods with equal fragments share the kernel. None disables
        sharing."""
        if self._columnar is not None:
            return guarded_fragment(self._columnar.filter_fragment, pod, self.name, "Filter")
        return fragment(self.call.plugin, pod)

    def kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | ClusterFilterKernel | None:
        if self._columnar is not None:
            return guarded_kernel(self._columnar.filter_kernel, pod, view, self.name, "Filter")
        assert self._promise is not None
        return PromisedFilter(self.call.run, pod, view, self.statuses, self._promise)


class ScoreStep:
    """One score plugin of the profile."""

    __slots__ = ("_columnar", "_promise", "call", "is_live", "is_whole")

    def __init__(self, call: ScoreCall, pre_filtered: bool, pre_scored: bool) -> None:
        """The flags say whether the profile runs the plugin's PreFilter and PreScore; see
        `FilterStep`."""
        self.call = call
        plugin, prepared = call.plugin, pre_filtered or pre_scored
        #: Whether the profile runs the plugin's PreScore, if it has one.
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
    def caches_raw_scores(self) -> bool:
        """Whether raw scores are cached and normalised by the plugin in every cycle."""
        return self._promise is not None and self.call.normalize is not None

    def depends_on_claims(self, pod: PodInfo) -> bool:
        """Return whether the kernel is specific to this pod because of its volume claims."""
        return pod.shape.has_claims and reads_claims(self.call.plugin)

    def fragment(self, pod: PodInfo) -> Hashable:
        if self._columnar is not None:
            return guarded_fragment(self._columnar.score_fragment, pod, self.name, "Score")
        return fragment(self.call.plugin, pod)

    def kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        if self._columnar is not None:
            return guarded_kernel(self._columnar.score_kernel, pod, view, self.name, "Score")
        assert self._promise is not None
        return PromisedScore(self.call, pod, view, self._promise)


class Plan(msgspec.Struct, frozen=True):
    """The steps in configured order, with derived properties."""

    profile: Profile
    filters: tuple[FilterStep, ...]
    scores: tuple[ScoreStep, ...]
    #: PreFilter and PreScore plugins that are called in every cycle.
    live_pre_filters: frozenset[str]
    live_pre_scores: frozenset[str]
    #: Plugins whose filter is a cluster kernel.
    cluster_filters: frozenset[str]
    #: Plugins whose kernels depend on more of a pod than its shape and used labels.
    per_pod: tuple[PerPodFragment, ...]
    #: Whether totals need 64 bits.
    wide: bool

    @property
    def live_filters(self) -> tuple[FilterStep, ...]:
        return tuple(step for step in self.filters if step.is_live)

    @property
    def live_scores(self) -> tuple[ScoreStep, ...]:
        return tuple(step for step in self.scores if step.is_live)

    def label_part(self, pod: PodInfo) -> tuple[Hashable, ...]:
        try:
            return tuple([plugin.pod_fragment(pod) for plugin in self.per_pod])
        except Exception:  # repeated, to find the plugin that raised
            return tuple(
                guarded_fragment(p.pod_fragment, pod, getattr(p, "name", ""), "Fragment") for p in self.per_pod
            )

    def fragment_kinds(self) -> tuple[type[object], ...] | None:
        """Return the kinds of objects on which fragments depend, besides pods and nodes: while none
        of them changes, pods of one template have equal fragments. None if they may differ."""
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
    """The fragment of a scalar plugin with a promise, as a part of the pod's signature."""

    def __init__(self, plugin: object) -> None:
        self._plugin = plugin

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        return fragment(self._plugin, pod)


# -- kernels of promises --------------------------------------------------------------------------


def promise(plugin: object) -> Depends | None:
    """Return what the plugin's results depend on, or None without a promise."""
    depends = getattr(plugin, "depends", None)
    return depends if isinstance(depends, Depends) else None


def fragment(plugin: object, pod: PodInfo) -> Hashable:
    """Return the part of the pod that the plugin reads; the whole pod if the plugin does not
    declare it. Wrapped in a tuple, because the fragment may be None, which for kernels disables
    sharing."""
    function = getattr(plugin, "fragment", None)
    if not callable(function):
        return WholePod(pod.pod)
    return (guarded_fragment(function, pod, getattr(plugin, "name", ""), "Fragment"),)


class WholePod:
    """A version of a pod: equal only to itself, since any change of the pod creates another
    object."""

    __slots__ = ("_pod",)

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WholePod) and other._pod is self._pod

    def __hash__(self) -> int:
        return id(self._pod)


class PromisedFilter(FilterKernel):
    """Calls the scalar filter row by row."""

    def __init__(
        self, run: FilterMethod, pod: PodInfo, view: NodesView, statuses: StatusTable, depends: Depends
    ) -> None:
        self.depends = depends
        self._run = run
        self._pod = pod
        self._view = view
        self._statuses = statuses
        self._state = CycleState()
        #: Rows on which the last call had an internal error. They count as rejected.
        self.broken_rows: set[int] = set()

    def row(self, row: int) -> int:
        status = self._run(self._state, self._pod, self._view.info(row))
        if status is None or status.is_rejected:
            self.broken_rows.discard(row)
        else:
            self.broken_rows.add(row)
        return 0 if status is None else self._statuses.id_of(status)

    def rows(self, rows: Rows) -> ReasonColumn:
        index, alive = _indices(self._view, rows), self._view.alive
        return np.fromiter((self.row(r) if alive[r] else 0 for r in index.tolist()), np.int32, len(index))


class PromisedScore(ScoreKernel):
    """Calls the scalar score row by row. Scores that the plugin normalises may be out of range
    before."""

    def __init__(self, call: ScoreCall, pod: PodInfo, view: NodesView, depends: Depends) -> None:
        self.depends = depends
        self.normalize = Normalize.NONE
        self._call = call
        self._pod = pod
        self._view = view
        self._state = CycleState()
        #: Internal error of the last call by row. The row's score is 0.
        self.faults: dict[int, CycleAborted] = {}
        #: Raw scores outside int64 by row. The row's score is 0.
        self.beyond_int64: dict[int, int] = {}

    def row(self, row: int) -> int:
        self.beyond_int64.pop(row, None)
        try:
            score = self._call.run(self._state, self._pod, self._view.info(row))
            if self._call.normalize is None:
                check_score(self._call.name, score)
        except CycleAborted as fault:
            self.faults[row] = fault
            return 0
        self.faults.pop(row, None)
        if not MIN_INT64 <= score <= MAX_INT64:
            self.beyond_int64[row] = score
            return 0
        return score

    def rows(self, rows: Rows) -> IntColumn:
        index, alive = _indices(self._view, rows), self._view.alive
        return np.fromiter((self.row(r) if alive[r] else 0 for r in index.tolist()), np.int64, len(index))


class PromisedNormalizedScore(ClusterScoreKernel):
    """Cached raw scores of a `PromisedScore`, normalised by the plugin over the feasible rows."""

    def __init__(self, raw: FragmentColumn[ScoreKernel], call: ScoreCall, pod: PodInfo, table: NodeTable) -> None:
        assert isinstance(raw.kernel, PromisedScore)
        self._raw = raw
        self._asked = raw.kernel
        self._call = call
        self._pod = pod
        self._table = table

    @property
    def faults(self) -> Mapping[int, CycleAborted]:
        """Current internal errors by row."""
        self._raw.sync()
        return self._asked.faults

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        self._raw.sync()
        beyond = self._asked.beyond_int64
        if not beyond:
            return self._raw.values.astype(np.int64, copy=False)
        column = self._raw.values.astype(object)
        for row, score in beyond.items():
            column[row] = score
        return column

    def normalized(self, feasible: Feasible) -> IntColumn:
        """Return the normalised scores. Raises CycleAborted if the plugin fails, or leaves a score
        out of range."""
        rows, names = feasible.rows, self._table.names
        raw = self.raw(feasible)[rows].tolist()
        entries = [NodeScore(names[row], score) for row, score in zip(rows.tolist(), raw, strict=True)]
        column = np.zeros(self._table.capacity, np.int64)
        column[rows] = normalised_scores(self._call, CycleState(), self._pod, entries)
        return column


def _indices(view: NodesView, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.arange(view.capacity)[rows] if rows is ALL_ROWS or isinstance(rows, slice) else rows
