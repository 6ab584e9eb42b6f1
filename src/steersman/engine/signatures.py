# SPDX-License-Identifier: Apache-2.0
"""Finds or makes the signature of a pod.

Fragment columns are shared between signatures and between profiles' plugins of one instance, and live as long as one of these
refers to them. Signatures that nobody asks for again make room for others (`SignatureStore`). Both are dropped when the
table's generation changes; when a label key becomes relevant, the signatures of pods that have such a label are. What was
found for a pod serves the others of its template.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from weakref import ref

from steersman.bounded_table import SharedTable
from steersman.engine.columns import FragmentColumn, ScoreColumn, WeightedColumn
from steersman.engine.evaluation import Answer
from steersman.engine.plan import FilterStep, Plan, PromisedFilter, PromisedNormalizedScore, PromisedScore, ScoreStep
from steersman.engine.row_totals import FilterColumn, RowTotals
from steersman.engine.signature import ClaimOverlay, Signature, SignatureStore
from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    FilterKernel,
    ScoreKernel,
    StatusTable,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import Objects
from steersman.framework.pod_info import PodInfo, PodShape
from steersman.framework.status import SKIP, is_skip
from steersman.graph_copy import GraphCopy, copied_attributes, fresh_token
from steersman.kept import Kept
from steersman.runtime.applicable_calls import concerns
from steersman.state.node_table import NodeTable

#: Rows of all signatures together. Each takes some thirty bytes, and as many for columns and counts that nobody shares.
_MOST_ROWS = 1 << 21
#: However many or few nodes there are.
_LEAST_SIGNATURES, _MOST_SIGNATURES = 64, 512
#: Columns of fragments that no signature refers to.
_SPARE_FRAGMENTS = 64

FilterPart = FilterColumn | ClusterFilterKernel | None
ScorePart = ScoreColumn | ClusterScoreKernel | None


class SignatureEntry:
    """A signature with its parts in configured order, for diagnosis and reports."""

    __slots__ = (
        "__weakref__",
        "commits_simply",
        "filters",
        "is_complete",
        "is_pinned",
        "is_plain",
        "label_keys",
        "live_filters",
        "live_scores",
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
        signature: Signature | ClaimOverlay,
        filters: list[tuple[FilterStep, FilterPart]],
        scores: list[tuple[ScoreStep, ScorePart]],
        pre_filter_answers: dict[str, Answer],
        pinning: frozenset[str],
        plan: Plan,
        pod: PodInfo,
    ) -> None:
        """`pod` is the one that it is made for: all that have the signature are of its shape."""
        self.signature = signature
        #: Asked for again since it was made, or last spared.
        self.used = False
        #: The labels that the pod has for which it was made.
        self.label_keys: Collection[str] = pod.labels.keys()
        #: Without the steps that are skipped for every pod of the signature, and without live ones.
        self.filters = filters
        #: Every step that is not live; None: PreScore says Skip.
        self.scores = scores
        #: What PreFilter of the columnar plugins says; it depends on the signature alone, except that cluster kernels
        #: may say Skip as well.
        self.pre_filter_answers = pre_filter_answers
        #: Plugins whose PreFilter restricts each pod to the node that it is pinned to, and says nothing else.
        self.pinning = pinning
        #: Kernels that may have faults: those of scalar plugins, and some of the cluster kernels.
        self.promised_filters: list[PromisedFilter | ClusterFilterKernel] = [
            *(k for k in _kernels(filters) if isinstance(k, PromisedFilter)),
            *(part for _, part in filters if isinstance(part, ClusterFilterKernel) and part.may_break),
        ]
        self.promised_scores = list(_promised_scores(scores))
        #: Steps that must be asked for every feasible node.
        skipped = {name for name, (_, status) in pre_filter_answers.items() if is_skip(status)}
        self.live_filters = [step for step in plan.live_filters if step.name not in skipped]
        scored = {step.name for step, _ in scores}
        self.live_scores = [step for step in plan.live_scores if step.name not in scored]
        decided = pinning | pre_filter_answers.keys() | plan.cluster_filters
        by_kernels = (
            all(
                result is None and (status is None or is_skip(status)) for result, status in pre_filter_answers.values()
            )
            and all(call.name in decided for call in plan.profile.pre_filter)
            and not any(isinstance(part, ClusterFilterKernel) and _may_refuse(part) for _, part in filters)
            and not self.live_filters
            and not self.promised_filters
        )
        #: Kernels alone decide: PreFilter has nothing against the pod and restricts nothing, and nobody else is asked.
        self.is_plain = by_kernels and not pinning
        #: The same, but only the node that the pod is pinned to counts.
        self.is_pinned = by_kernels and bool(pinning)
        #: The signature says all there is to say: kernels alone decide and score.
        self.is_complete = self.is_plain and not self.live_scores and not self.promised_scores
        profile = plan.profile
        #: It is complete, and no Reserve, Permit or PreBind plugin has anything to do for its pods.
        self.commits_simply = self.is_complete and not (
            profile.permit or profile.reserve.of(pod) or profile.pre_bind.of(pod) or not profile.binds_by_default
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
"""The identity of a signature, which tells its pods from others: shape, relevant labels, node, and what plugins add."""


SIGNATURES = Kept(
    name="signatures",
    attributes=("Signatures._entries", "Signatures._generation", "Signatures._label_version"),
    holds="the parts of a signature in configured order, and what PreFilter says",
    key="shape, labels that a selector in use refers to, node name, what plugins add",
    stamps="the table's generation and forgotten statuses: all go; a new label key in use: those whose pod has the label",
    bound="64 to 512, by the number of rows; those asked for once go first",
    twin="`Signatures._make` of the pod",
    held_equal="tests/engine/test_signatures.py",
    is_inline=True,
)


TEMPLATE_SIGNATURES = Kept(
    name="signatures of templates",
    attributes=("Signatures._as_of", "Signatures._versions", "Signatures._changes_seen"),
    holds="the signature that was found for another pod of the template",
    key="template (it keeps a weak reference)",
    stamps="versions of the objects that plugins look at, and label keys in use: then every template asks again",
    bound="one for each template",
    twin="`Signatures._look_up` of the pod",
    held_equal="tests/engine/test_signatures.py",
    is_inline=True,
)


FRAGMENT_TABLES = Kept(
    name="fragments",
    attributes=("Signatures._filter_columns", "Signatures._score_columns"),
    holds="which column answers for a fragment",
    key="plugin, fragment",
    stamps="the table's generation and forgotten statuses: all go",
    bound="those of kept signatures, and 64 spare ones (`SharedTable`)",
    twin="a kernel made anew for the fragment",
    held_equal="tests/equivalence/test_engines_agree.py",
)


def _no_entries(copies: GraphCopy, original: SignatureStore[SignatureEntry]) -> SignatureStore[SignatureEntry]:
    return copies.note(original, SignatureStore(_LEAST_SIGNATURES))


@copied_attributes(_entries=_no_entries, _as_of=fresh_token)
class Signatures:
    """All signatures of one plan on one table."""

    def __init__(self, plan: Plan, table: NodeTable, objects: Objects) -> None:
        self._plan = plan
        self._table = table
        self._objects = objects
        #: While no object of these kinds changes, pods of one template share their signature; None: they never do.
        self._kinds = plan.fragment_kinds()
        self._versions: list[int] = []
        self._changes_seen = -1
        self._entries: SignatureStore[SignatureEntry] = SignatureStore(_LEAST_SIGNATURES)
        #: Stands for the current versions of those kinds and the current label keys: templates keep it with what they found.
        self._as_of = object()
        self._filter_columns: SharedTable[tuple[str, Hashable], FilterColumn] = SharedTable(_SPARE_FRAGMENTS)
        self._score_columns: SharedTable[tuple[str, Hashable], ScoreColumn] = SharedTable(_SPARE_FRAGMENTS)
        self._generation = -1
        self._label_keys: frozenset[str] = frozenset()
        self._label_version = -1
        self._forgotten = StatusTable.forgotten

    def of(self, pod: PodInfo) -> SignatureEntry:
        """The pod's signature. What was found for another pod of its template is used again while nothing has changed."""
        table, template = self._table, pod.template
        if table.generation != self._generation or self._forgotten != StatusTable.forgotten:
            self._start_afresh()
        elif table.label_keys.version != self._label_version:
            self._look_at_label_keys()
        if self._objects.changes != self._changes_seen:
            self._look_at_objects()
        is_known = template.signature_as_of is self._as_of and not pod.node_name
        entry: SignatureEntry | None = template.signature() if is_known else None
        if entry is None:
            entry = self._find(pod)
        else:
            entry.used = True
        return self._personal(entry, pod) if pod.shape.has_claims else entry

    def _find(self, pod: PodInfo) -> SignatureEntry:
        """The signature that the pod shares with others; kept with its template if all pods of that have it."""
        entry = self._look_up(pod)
        if self._kinds is not None and not pod.node_name:
            pod.template.signature, pod.template.signature_as_of = ref(entry), self._as_of
        return entry

    def _look_at_objects(self) -> None:
        """Voids what templates keep if an object has changed that a pod's label part may depend on."""
        self._changes_seen = self._objects.changes
        versions = [self._objects.version(kind) for kind in self._kinds or ()]
        if versions != self._versions:
            self._versions = versions
            self._as_of = object()

    def _personal(self, shared: SignatureEntry, pod: PodInfo) -> SignatureEntry:
        """The shared signature with the kernels that are for this pod alone."""
        filters = [
            (step, self._filter_part(step, pod) if step.is_personal(pod) else part) for step, part in shared.filters
        ]
        scores = [
            (step, self._score_part(step, pod) if step.is_personal(pod) else part) for step, part in shared.scores
        ]
        assert isinstance(shared.signature, Signature)
        signature = ClaimOverlay(
            shared.signature,
            [p for step, p in filters if isinstance(p, ClusterFilterKernel) and step.is_personal(pod)],
            [(step.weight, p) for step, p in scores if isinstance(p, ClusterScoreKernel) and step.is_personal(pod)],
        )
        return SignatureEntry(signature, filters, scores, shared.pre_filter_answers, shared.pinning, self._plan, pod)

    def _look_up(self, pod: PodInfo) -> SignatureEntry:
        identity = self._identity(pod)
        entry = self._entries.get(identity)
        if entry is None:
            generation = self._table.generation
            entry = self._make(pod)
            if self._table.generation != generation:
                self._start_afresh()
                return self._look_up(pod)
            if self._table.label_keys.version != self._label_version:
                self._look_at_label_keys()
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

    def are_void(self) -> bool:
        """Whether columns were replaced, or statuses forgotten, since the last pod asked: the next one starts afresh."""
        return self._table.generation != self._generation or self._forgotten != StatusTable.forgotten

    def entries(self) -> Iterator[SignatureEntry]:
        """All that are kept."""
        return self._entries.values()

    def columns(self) -> Iterator[FilterColumn | ScoreColumn]:
        """The columns of all fragments that a signature refers to, and some spare ones."""
        yield from self._filter_columns.values()
        yield from self._score_columns.values()

    def kept(self) -> dict[str, int]:
        """Number of entries by table."""
        return {
            "signatures": len(self._entries),
            "fragments": len(self._filter_columns) + len(self._score_columns),
            "statuses": sum(len(step.statuses) for step in self._plan.filters),
        }

    def _make_room(self) -> None:
        rows = self._table.capacity
        self._entries.shrink(min(_MOST_SIGNATURES, max(_LEAST_SIGNATURES, _MOST_ROWS // rows)))
        for step in self._plan.filters:
            step.statuses.forget_if_full()

    def _start_afresh(self) -> None:
        """Everything that was kept is void."""
        self._entries.clear()
        self._filter_columns.clear()
        self._score_columns.clear()
        self._as_of = object()
        self._generation = self._table.generation
        self._forgotten = StatusTable.forgotten
        self._label_keys = self._table.label_keys.keys()
        self._label_version = self._table.label_keys.version

    def _look_at_label_keys(self) -> None:
        """Pods that have none of the new labels are told apart by what they were told apart by before."""
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
            (s, None if s.is_personal(pod) else self._filter_part(s, pod))
            for s in self._plan.filters
            if not s.is_live and s.name not in skipped
        ]
        scores = [
            (s, None if s.is_personal(pod) else self._score_part(s, pod)) for s in self._plan.scores if not s.is_live
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
        """PreFilter of columnar plugins looks at the pod alone; where it does not, a cluster kernel answers instead. A
        plugin that the pod does not concern says Skip. The second part names those whose answer is different for each pod
        of the signature, because it is the node that the pod is pinned to."""
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
        return PromisedNormalizedScore(column, step.call, pod, self._table) if step.keeps_raw_scores else column


def _may_refuse(kernel: ClusterFilterKernel) -> bool:
    return kernel.refusal_varies or kernel.refusal() is not None
