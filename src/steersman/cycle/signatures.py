"""Finds or makes the signature of a pod.

Fragment columns are shared between signatures and between profiles' plugins of one instance; signatures that nobody asks
for again make room for others. Both are dropped when the table's generation changes, signatures also when a label key
becomes relevant. What was found for a pod serves the others of its template.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator

from steersman.cycle.adapters import PromisedFilter, PromisedScore
from steersman.cycle.plan import FilterStep, Plan, ScoreStep
from steersman.cycle.pre_filter import Answer
from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    FilterKernel,
    ScoreKernel,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo, PodTemplate
from steersman.framework.status import SKIP, is_skip
from steersman.runtime.concerned import concerns
from steersman.state.fragment_columns import FragmentColumn
from steersman.state.node_table import NodeTable
from steersman.state.personal_signature import PersonalSignature
from steersman.state.relative_scores import ScoreColumn, WeightedColumn
from steersman.state.signature import FilterColumn, Signature

_MOST_SIGNATURES = 4096
#: Rows of all signatures together; each takes some thirty bytes.
_MOST_ROWS = 1 << 23
#: However many nodes there are.
_LEAST_SIGNATURES = 64
_MOST_FRAGMENTS = 8192
_MOST_TEMPLATES = 1 << 15

FilterPart = FilterColumn | ClusterFilterKernel | None
ScorePart = ScoreColumn | ClusterScoreKernel | None


class SignatureEntry:
    """A signature with its parts in configured order, for diagnosis and reports."""

    __slots__ = (
        "filters",
        "is_complete",
        "is_pinned",
        "is_plain",
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
        signature: Signature | PersonalSignature,
        filters: list[tuple[FilterStep, FilterPart]],
        scores: list[tuple[ScoreStep, ScorePart]],
        pre_filter_answers: dict[str, Answer],
        pinning: frozenset[str],
        plan: Plan,
    ) -> None:
        self.signature = signature
        #: Asked for again since it was made, or last spared.
        self.used = False
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
        self.promised_scores = [k for k in _kernels(scores) if isinstance(k, PromisedScore)]
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


def _kernels(parts: Iterable[tuple[object, FilterPart | ScorePart]]) -> Iterator[FilterKernel | ScoreKernel]:
    return (part.kernel for _, part in parts if isinstance(part, FragmentColumn))


class Signatures:
    """All signatures of one plan on one table."""

    def __init__(self, plan: Plan, table: NodeTable) -> None:
        self._plan = plan
        self._fragment_epoch = plan.fragment_epoch()
        self._table = table
        self._entries: OrderedDict[Hashable, SignatureEntry] = OrderedDict()
        #: What has been found for the pods of a template, in the current epoch of the plan.
        self._of_template: dict[PodTemplate, SignatureEntry] = {}
        self._epoch = -1
        self._filter_columns: dict[tuple[str, Hashable], FilterColumn] = {}
        self._score_columns: dict[tuple[str, Hashable], ScoreColumn] = {}
        self._generation = -1
        self._label_keys: set[str] = set()
        self._label_key_count = -1

    def of(self, pod: PodInfo) -> SignatureEntry:
        table = self._table
        if table.generation != self._generation or table.label_key_count() != self._label_key_count:
            self._start_afresh()
        entry = self._shared(pod)
        return self._personal(entry, pod) if pod.shape.has_claims else entry

    def _shared(self, pod: PodInfo) -> SignatureEntry:
        """What the pod has in common with others: the same for all pods of its template, most of the time."""
        epoch = self._fragment_epoch()
        if epoch is None or pod.node_name:
            return self._look_up(pod)
        if epoch != self._epoch:
            self._epoch = epoch
            self._of_template.clear()
        known = self._of_template.get(pod.template)
        if known is not None:
            known.used = True
            return known
        entry = self._look_up(pod)
        if epoch == self._fragment_epoch():
            if len(self._of_template) >= _MOST_TEMPLATES:
                self._of_template.clear()
            self._of_template[pod.template] = entry
        return entry

    def _personal(self, shared: SignatureEntry, pod: PodInfo) -> SignatureEntry:
        """With the kernels that are for this pod alone."""
        filters = [
            (step, self._filter_part(step, pod) if step.is_personal(pod) else part) for step, part in shared.filters
        ]
        scores = [
            (step, self._score_part(step, pod) if step.is_personal(pod) else part) for step, part in shared.scores
        ]
        assert isinstance(shared.signature, Signature)
        signature = PersonalSignature(
            shared.signature,
            [p for step, p in filters if isinstance(p, ClusterFilterKernel) and step.is_personal(pod)],
            [(step.weight, p) for step, p in scores if isinstance(p, ClusterScoreKernel) and step.is_personal(pod)],
        )
        return SignatureEntry(signature, filters, scores, shared.pre_filter_answers, shared.pinning, self._plan)

    def _look_up(self, pod: PodInfo) -> SignatureEntry:
        table = self._table
        keys = self._label_keys
        labels = tuple([item for item in pod.labels.items() if item[0] in keys]) if keys else ()
        identity = (pod.shape, labels, pod.node_name, self._plan.label_part(pod))
        entry = self._entries.get(identity)
        if entry is None:
            entry = self._make(pod)
            if table.generation != self._generation or table.label_key_count() != self._label_key_count:
                self._start_afresh()
                return self._look_up(pod)
            self._entries[identity] = entry
            self._make_room()
        else:
            entry.used = True
        return entry

    def __len__(self) -> int:
        return len(self._entries)

    def _make_room(self) -> None:
        if len(self._entries) > min(_MOST_SIGNATURES, max(_LEAST_SIGNATURES, _MOST_ROWS // self._table.capacity)):
            self._drop_unused()
        if len(self._filter_columns) + len(self._score_columns) > _MOST_FRAGMENTS:
            self._forget_columns()

    def _drop_unused(self) -> None:
        """The oldest that has not been asked for since its turn last came."""
        while self._entries[oldest := next(iter(self._entries))].used:
            self._entries[oldest].used = False
            self._entries.move_to_end(oldest)
        del self._entries[oldest]
        self._of_template.clear()

    def _forget_columns(self) -> None:
        """Signatures keep the columns that they have."""
        self._filter_columns.clear()
        self._score_columns.clear()

    def _start_afresh(self) -> None:
        table = self._table
        self._entries.clear()
        self._of_template.clear()
        if table.generation != self._generation:
            self._forget_columns()
        self._generation = table.generation
        self._label_keys = table.referenced_label_keys()
        self._label_key_count = table.label_key_count()

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
        signature = Signature(
            self._table,
            [part for _, part in filters if isinstance(part, FragmentColumn)],
            [part for _, part in filters if isinstance(part, ClusterFilterKernel)],
            [WeightedColumn(part, s.weight) for s, part in scores if isinstance(part, FragmentColumn)],
            [(s.weight, part) for s, part in scores if isinstance(part, ClusterScoreKernel)],
            self._plan.wide,
        )
        return SignatureEntry(signature, filters, scores, answers, pinning, self._plan)

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
            self._filter_columns[step.name, fragment] = column
        return column

    def _score_part(self, step: ScoreStep, pod: PodInfo) -> ScorePart:
        fragment = step.fragment(pod)
        column = self._score_columns.get((step.name, fragment))
        if column is not None:
            return column
        kernel = step.kernel(pod, self._table)
        if not isinstance(kernel, ScoreKernel):
            return kernel
        column = FragmentColumn(kernel, self._table)
        if fragment is not None:
            self._score_columns[step.name, fragment] = column
        return column


def _may_refuse(kernel: ClusterFilterKernel) -> bool:
    return kernel.refusal_varies or kernel.refusal() is not None
