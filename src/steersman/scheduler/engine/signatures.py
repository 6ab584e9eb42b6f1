# SPDX-License-Identifier: Apache-2.0
"""Finds or builds the signature of a pod.

Fragment columns are shared between signatures and live as long as one of them references them.
Rarely requested signatures are evicted (`SignatureStore`). Both are dropped when the table's
generation changes; if a label key comes into use, signatures of pods with this label are dropped.
The signature found for a pod is reused for other pods of its template.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from weakref import ref

from steersman.base import CacheSpec, WeakValueCache
from steersman.base.graph_copy import GraphCopy, copied_attributes, fresh_token
from steersman.framework import (
    SKIP,
    ClusterFilterKernel,
    ClusterScoreKernel,
    CycleState,
    FilterKernel,
    Objects,
    PodInfo,
    PodShape,
    ScoreKernel,
    StatusTable,
    is_skip,
)
from steersman.scheduler.engine.columns import FragmentColumn, ScoreColumn, WeightedColumn
from steersman.scheduler.engine.evaluation import Answer
from steersman.scheduler.engine.evaluation_plan import (
    FilterStep,
    Plan,
    PromisedFilter,
    PromisedNormalizedScore,
    PromisedScore,
    ScoreStep,
)
from steersman.scheduler.engine.row_totals import FilterColumn, RowTotals
from steersman.scheduler.engine.signature import Signature, SignatureStore
from steersman.scheduler.runtime.applicable_calls import concerns
from steersman.scheduler.state.node_table import NodeTable

#: Maximum total number of rows of all signatures. Each takes some thirty bytes, and as many for
#: unshared columns and counts.
_MAX_ROWS = 1 << 21
#: Limits on the number of signatures, for few and many nodes.
_MIN_SIGNATURES, _MAX_SIGNATURES = 64, 512
#: Number of unused fragment columns to keep.
_SPARE_FRAGMENTS = 64

FilterPart = FilterColumn | ClusterFilterKernel | None
ScorePart = ScoreColumn | ClusterScoreKernel | None


class SignatureEntry:
    """A signature with its parts in configured order, for diagnosis and reports."""

    __slots__ = (
        "__weakref__",
        "filters",
        "follows_state",
        "is_complete",
        "is_pinned",
        "is_plain",
        "label_keys",
        "live_filters",
        "live_scores",
        "needs_no_reserve_or_permit",
        "pinning",
        "pre_filter_answers",
        "promised_filters",
        "promised_scores",
        "scores",
        "signature",
        "used",
    )

    def __init__(
        self,
        signature: Signature,
        filters: list[tuple[FilterStep, FilterPart]],
        scores: list[tuple[ScoreStep, ScorePart]],
        pre_filter_answers: dict[str, Answer],
        pinning: frozenset[str],
        plan: Plan,
        pod: PodInfo,
    ) -> None:
        """`pod` is any pod with the signature; all have its shape."""
        self.signature = signature
        #: Requested again since it was created or last spared.
        self.used = False
        #: Labels of the pod that it was created for.
        self.label_keys: Collection[str] = pod.labels.keys()
        #: Filters that are neither live nor skipped for every pod of the signature.
        self.filters = filters
        #: Scores that are not live; the part is None if PreScore returns Skip.
        self.scores = scores
        #: PreFilter results of columnar plugins; they depend on the signature alone, except that
        #: cluster kernels may return Skip too.
        self.pre_filter_answers = pre_filter_answers
        #: Plugins whose PreFilter restricts each pod to the node that it is pinned to, and does
        #: nothing else.
        self.pinning = pinning
        #: Kernels that may report internal errors: those of scalar plugins, and some cluster
        #: kernels.
        self.promised_filters: list[PromisedFilter | ClusterFilterKernel] = [
            *(k for k in _kernels(filters) if isinstance(k, PromisedFilter)),
            *(part for _, part in filters if isinstance(part, ClusterFilterKernel) and part.may_break),
        ]
        self.promised_scores = list(_promised_scores(scores))
        #: Steps that must be called for every feasible node.
        skipped = {name for name, (_, status) in pre_filter_answers.items() if is_skip(status)}
        self.live_filters = [step for step in plan.live_filters if step.name not in skipped]
        scored = {step.name for step, _ in scores}
        self.live_scores = [step for step in plan.live_scores if step.name not in scored]
        decided = pinning | pre_filter_answers.keys() | plan.cluster_filters
        by_kernels = (
            _kernels_decide(filters, pre_filter_answers, decided, plan)
            and not self.live_filters
            and not self.promised_filters
        )
        #: Whether kernels alone decide: PreFilter neither rejects nor restricts, and no plugin is
        #: called.
        self.is_plain = by_kernels and not pinning
        #: Whether rejections can change only with the state of the cluster.
        self.follows_state = self.is_plain and all(
            part.follows_state for _, part in filters if isinstance(part, ClusterFilterKernel)
        )
        #: Like `by_kernels`, but PreFilter restricts the pod to the node that it is pinned to.
        self.is_pinned = by_kernels and bool(pinning)
        #: Whether the signature alone determines the decision: kernels filter and score.
        self.is_complete = self.is_plain and not self.live_scores and not self.promised_scores
        profile = plan.profile
        #: Whether it is complete, and no Reserve, Permit or PreBind plugin applies to its pods.
        self.needs_no_reserve_or_permit = self.is_complete and not (
            profile.permit.for_pod(pod)
            or profile.reserve.for_pod(pod)
            or profile.pre_bind.for_pod(pod)
            or not profile.binds_by_default
        )


def _kernels_decide(
    filters: list[tuple[FilterStep, FilterPart]], answers: Mapping[str, Answer], decided: Collection[str], plan: Plan
) -> bool:
    """Return whether PreFilter neither rejects nor restricts, and cluster kernels do not refuse the
    pod."""
    return (
        all(result is None and (status is None or is_skip(status)) for result, status in answers.values())
        and all(call.name in decided for call in plan.profile.pre_filter)
        and not any(isinstance(part, ClusterFilterKernel) and _may_refuse(part) for _, part in filters)
    )


def _kernels(parts: Iterable[tuple[object, FilterPart | ScorePart]]) -> Iterator[FilterKernel | ScoreKernel]:
    return (part.kernel for _, part in parts if isinstance(part, FragmentColumn))


def _promised_scores(
    scores: Iterable[tuple[ScoreStep, ScorePart]],
) -> Iterator[PromisedScore | PromisedNormalizedScore]:
    for _, part in scores:
        if isinstance(part, PromisedNormalizedScore):
            yield part
        elif isinstance(part, FragmentColumn) and isinstance(part.kernel, PromisedScore):
            yield part.kernel


Identity = tuple[PodShape, tuple[tuple[str, str], ...], str, tuple[Hashable, ...]]
"""Identity of a signature: shape, used labels, node, and fragments of plugins."""


SIGNATURES = CacheSpec(
    name="signatures",
    attributes=("Signatures._entries", "Signatures._generation", "Signatures._label_version"),
    contents="the columns of a signature in configured order, and the result of PreFilter",
    key="shape, labels used by a selector, node name, what plugins add",
    invalidation=(
        "the table's generation and dropped statuses: all are removed; a new label key in use: signatures whose pod "
        "has the label"
    ),
    limit="64 to 512, by the number of rows; those requested only once are evicted first",
    reference="`Signatures._make` of the pod",
    checked_by="tests/engine/test_signatures.py",
    is_inline=True,
)


TEMPLATE_SIGNATURES = CacheSpec(
    name="signatures of templates",
    attributes=("Signatures._as_of", "Signatures._versions", "Signatures._changes_seen"),
    contents="the signature found for another pod of the template",
    key="template (weak reference)",
    invalidation="versions of the objects that plugins read, label keys in use: every template looks its signature up again",
    limit="one for each template",
    reference="`Signatures._look_up` of the pod",
    checked_by="tests/engine/test_signatures.py",
    is_inline=True,
)


FRAGMENT_TABLES = CacheSpec(
    name="fragments",
    attributes=("Signatures._filter_columns", "Signatures._score_columns"),
    contents="the column of a fragment",
    key="plugin, fragment",
    invalidation="the table's generation and dropped statuses: all are removed",
    limit="those of cached signatures, and 64 spare ones (`WeakValueCache`)",
    reference="a kernel built for the fragment",
    checked_by="tests/equivalence/test_engines_agree.py",
)


def _no_entries(copies: GraphCopy, original: SignatureStore[SignatureEntry]) -> SignatureStore[SignatureEntry]:
    return copies.note(original, SignatureStore(_MIN_SIGNATURES))


@copied_attributes(_entries=_no_entries, _as_of=fresh_token)
class Signatures:
    """All signatures of one plan on one table."""

    def __init__(self, plan: Plan, table: NodeTable, objects: Objects) -> None:
        self._plan = plan
        self._table = table
        self._objects = objects
        #: Kinds of objects on which signatures depend: while none changes, pods of one template
        #: share theirs. None if they never do.
        self._kinds = plan.fragment_kinds()
        self._versions: list[int] = []
        self._changes_seen = -1
        self._entries: SignatureStore[SignatureEntry] = SignatureStore(_MIN_SIGNATURES)
        #: Token of the current versions of those kinds and of the label keys in use, stored in
        #: templates with their signature.
        self._as_of = object()
        self._filter_columns: WeakValueCache[tuple[str, Hashable], FilterColumn] = WeakValueCache(_SPARE_FRAGMENTS)
        self._score_columns: WeakValueCache[tuple[str, Hashable], ScoreColumn] = WeakValueCache(_SPARE_FRAGMENTS)
        self._generation = -1
        self._label_keys: frozenset[str] = frozenset()
        self._label_version = -1
        self._forgotten = StatusTable.times_cleared

    def get(self, pod: PodInfo) -> SignatureEntry:
        """Return the pod's signature; cached in its template while nothing relevant has changed."""
        table, template = self._table, pod.template
        if table.generation != self._generation or self._forgotten != StatusTable.times_cleared:
            self._reset()
        elif table.label_keys.version != self._label_version:
            self._check_label_keys()
        if self._objects.changes != self._changes_seen:
            self._check_objects()
        is_known = template.signature_version is self._as_of and not pod.node_name
        entry: SignatureEntry | None = template.signature() if is_known else None
        if entry is None:
            entry = self._find(pod)
        else:
            entry.used = True
        return self._with_claim_kernels(entry, pod) if pod.shape.has_claims else entry

    def _find(self, pod: PodInfo) -> SignatureEntry:
        """Return the signature that the pod shares with others, and cache it in the template if all
        its pods have it."""
        entry = self._look_up(pod)
        if self._kinds is not None and not pod.node_name:
            pod.template.signature, pod.template.signature_version = ref(entry), self._as_of
        return entry

    def _check_objects(self) -> None:
        """Invalidate signatures cached in templates if an object changed on which a pod's label
        part may depend."""
        self._changes_seen = self._objects.changes
        versions = [self._objects.version(kind) for kind in self._kinds or ()]
        if versions != self._versions:
            self._versions = versions
            self._as_of = object()

    def _with_claim_kernels(self, shared: SignatureEntry, pod: PodInfo) -> SignatureEntry:
        """Return the shared signature with the kernels specific to this pod."""
        filters = [
            (step, self._filter_part(step, pod) if step.depends_on_claims(pod) else part)
            for step, part in shared.filters
        ]
        scores = [
            (step, self._score_part(step, pod) if step.depends_on_claims(pod) else part) for step, part in shared.scores
        ]
        signature = shared.signature.with_claim_kernels(
            [p for step, p in filters if isinstance(p, ClusterFilterKernel) and step.depends_on_claims(pod)],
            [
                (step.weight, p)
                for step, p in scores
                if isinstance(p, ClusterScoreKernel) and step.depends_on_claims(pod)
            ],
        )
        return SignatureEntry(signature, filters, scores, shared.pre_filter_answers, shared.pinning, self._plan, pod)

    def _look_up(self, pod: PodInfo) -> SignatureEntry:
        identity = self._identity(pod)
        entry = self._entries.get(identity)
        if entry is None:
            generation = self._table.generation
            entry = self._make(pod)
            if self._table.generation != generation:
                self._reset()
                return self._look_up(pod)
            if self._table.label_keys.version != self._label_version:
                self._check_label_keys()
                identity = self._identity(pod)
            shape, *rest = identity
            self._entries.put(identity, entry, hash((shape.fingerprint, *rest)))
            self._make_room()
        return entry

    def _identity(self, pod: PodInfo) -> Identity:
        keys = self._label_keys
        labels = tuple([item for item in pod.labels.items() if item[0] in keys]) if keys else ()
        return pod.shape, labels, pod.node_name, self._plan.label_part(pod)

    def __len__(self) -> int:
        return len(self._entries)

    def is_outdated(self) -> bool:
        """Return whether columns were replaced or statuses dropped since the last pod, so that the
        next one resets this."""
        return self._table.generation != self._generation or self._forgotten != StatusTable.times_cleared

    def entries(self) -> Iterator[SignatureEntry]:
        """Iterate over the cached entries."""
        return self._entries.values()

    def columns(self) -> Iterator[FilterColumn | ScoreColumn]:
        """Yield the columns of all fragments in use, and some spare ones."""
        yield from self._filter_columns.values()
        yield from self._score_columns.values()

    def cache_sizes(self) -> dict[str, int]:
        """Return the number of entries by cache."""
        return {
            "signatures": len(self._entries),
            "fragments": len(self._filter_columns) + len(self._score_columns),
            "statuses": sum(len(step.statuses) for step in self._plan.filters),
        }

    def _make_room(self) -> None:
        rows = self._table.capacity
        self._entries.shrink(min(_MAX_SIGNATURES, max(_MIN_SIGNATURES, _MAX_ROWS // rows)))
        for step in self._plan.filters:
            step.statuses.clear_if_full()

    def _reset(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self._filter_columns.clear()
        self._score_columns.clear()
        self._as_of = object()
        self._generation = self._table.generation
        self._forgotten = StatusTable.times_cleared
        self._label_keys = self._table.label_keys.keys()
        self._label_version = self._table.label_keys.version

    def _check_label_keys(self) -> None:
        """Drop signatures of pods that have a label that came into use."""
        keys = self._table.label_keys.keys()
        new = keys - self._label_keys
        self._entries.drop(lambda entry: not new.isdisjoint(entry.label_keys))
        self._as_of = object()
        self._label_keys = keys
        self._label_version = self._table.label_keys.version

    def _make(self, pod: PodInfo) -> SignatureEntry:
        answers, pinning = self._pre_filter_answers(pod)
        skipped = {name for name, (_, status) in answers.items() if is_skip(status)}
        filters = [
            (s, None if s.depends_on_claims(pod) else self._filter_part(s, pod))
            for s in self._plan.filters
            if not s.is_live and s.name not in skipped
        ]
        scores = [
            (s, None if s.depends_on_claims(pod) else self._score_part(s, pod))
            for s in self._plan.scores
            if not s.is_live
        ]
        scores += [(s, None) for s in self._plan.live_scores if s.is_whole and not concerns(s.call.plugin, pod)]
        totals = RowTotals(
            self._table,
            [part for _, part in filters if isinstance(part, FragmentColumn)],
            [part for _, part in filters if isinstance(part, ClusterFilterKernel)],
            [WeightedColumn(part, s.weight) for s, part in scores if isinstance(part, FragmentColumn)],
            [(s.weight, part) for s, part in scores if isinstance(part, ClusterScoreKernel)],
            self._plan.wide,
        )
        return SignatureEntry(Signature(totals), filters, scores, answers, pinning, self._plan, pod)

    def _pre_filter_answers(self, pod: PodInfo) -> tuple[dict[str, Answer], frozenset[str]]:
        """Return the PreFilter results of columnar plugins, which depend on the pod alone, and the
        plugins whose result is the node that the pod is pinned to.

        Plugins with a cluster kernel are left out, because the kernel has the result. A plugin that
        does not apply to the pod returns Skip.
        """
        answers: dict[str, Answer] = {}
        pinning: set[str] = set()
        for call in self._plan.profile.pre_filter:
            if not concerns(call.plugin, pod):
                answers[call.name] = (None, SKIP)
            elif call.name not in self._plan.live_pre_filters and call.name not in self._plan.cluster_filters:
                result, status = call.run(CycleState(), pod, ())
                if result is not None and result.node_names == {pod.pinned_to}:
                    pinning.add(call.name)
                else:
                    answers[call.name] = result, status
        return answers, frozenset(pinning)

    def _filter_part(self, step: FilterStep, pod: PodInfo) -> FilterPart:
        fragment = step.fragment(pod)
        column = self._filter_columns.get((step.name, fragment))
        if column is not None:
            return column
        kernel = step.kernel(pod, self._table)
        if not isinstance(kernel, FilterKernel):
            return kernel
        column = FragmentColumn(kernel, self._table)
        if fragment is not None:
            self._filter_columns.put((step.name, fragment), column)
        return column

    def _score_part(self, step: ScoreStep, pod: PodInfo) -> ScorePart:
        fragment = step.fragment(pod)
        column = self._score_columns.get((step.name, fragment))
        if column is None:
            kernel = step.kernel(pod, self._table)
            if not isinstance(kernel, ScoreKernel):
                return kernel
            column = FragmentColumn(kernel, self._table)
            if fragment is not None:
                self._score_columns.put((step.name, fragment), column)
        return PromisedNormalizedScore(column, step.call, pod, self._table) if step.caches_raw_scores else column


def _may_refuse(kernel: ClusterFilterKernel) -> bool:
    return kernel.refusal_varies or kernel.refusal() is not None
