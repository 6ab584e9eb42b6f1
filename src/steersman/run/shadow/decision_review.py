# SPDX-License-Identifier: Apache-2.0
"""Review of one decision of the other scheduler on the current model of the cluster.

First checks whether the node is one of the best, or the best in a sampled search; otherwise
`follower` repeats the review on the cluster a little earlier or later.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman import api
from steersman.run.shadow.cluster_model import ClusterModel
from steersman.run.shadow.comparison import ComparedScores, ComparisonClass, SearchEvidence
from steersman.run.shadow.node_search import (
    SearchCourse,
    SearchMatch,
    SearchTracker,
    chance_of_missing_chunks,
    feasible_nodes_to_find,
)
from steersman.run.shadow.placement import PlacementScores
from steersman.run.shadow.search_odds import MIN_CHANCE, SearchOdds, chance_of_missing
from steersman.scheduler.engine import ColumnarEvaluation
from steersman.scheduler.preemption import PreemptionReport

#: Minimum number of candidates of a preemption (DefaultPreemptionArgs).
_MIN_CANDIDATES: Final = 100


class DecisionFinding(msgspec.Struct, frozen=True):
    """The explanation of a decision; class DISAGREEMENT if there is none."""

    comparison_class: ComparisonClass
    evidence: str
    our_node: str = ""
    ties: int = 0
    feasible_nodes: int = 0
    scores: ComparedScores | None = None
    search: SearchEvidence | None = None
    our_message: str = ""
    events: tuple[str, ...] = ()
    #: Search that explains the decision, from which the next start index follows.
    match: SearchMatch | None = None


class DecisionReview:
    """Reviews decisions on one model."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self.tracker = SearchTracker()
        self.odds = SearchOdds()
        #: Whether the search order is known: it is not for nodes from before the start.
        self.knows_order = False

    # -- bindings ----------------------------------------------------------------------------------------------------

    def by_all_nodes(self, placement: PlacementScores) -> DecisionFinding | None:
        """Return the finding that the node is one of the best; None if it is not."""
        if not placement.is_best:
            return None
        ties, fitting = placement.ties, placement.feasible_count
        if ties > 1:
            evidence = f"one of {ties:,} best nodes of {fitting:,} that fit; chance decides among them"
            return _placed(ComparisonClass.TIE, evidence, placement)
        if placement.evaluation.nominated_path:
            evidence = "the node that the pod was nominated to, and it fits there"
        else:
            evidence = "the only node that fits" if fitting == 1 else f"the best of {fitting:,} nodes that fit"
        return _placed(ComparisonClass.SAME, evidence, placement)

    def by_search(self, pod: api.Pod, placement: PlacementScores) -> DecisionFinding | None:
        """Return the finding that the node is a best one in a sampled search, or None."""
        if placement.total is None or placement.is_best or not self._is_sampled(pod, placement.evaluation):
            return None
        if not self.knows_order:
            return self._by_odds(pod, placement)
        match = self._match(pod, placement)
        # Each decision alone may be explained by a delayed worker, but not all of them together.
        if match is None or self.odds.are_off:
            return None
        search = self._evidence(match, len(placement.better_rows))
        return msgspec.structs.replace(
            _placed(ComparisonClass.SAMPLING, _search_sentence(search), placement),
            search=search,
            scores=placement.difference(),
            match=match,
        )

    def _by_odds(self, pod: api.Pod, placement: PlacementScores) -> DecisionFinding | None:
        """Return the finding for an unknown search order: better nodes may be missed by chance."""
        chance = self._chance_of_missing(pod, placement)
        if chance < MIN_CHANCE or self.odds.are_off:
            return None
        better = len(placement.better_rows)
        evidence = (
            f"a search for {self._wanted(pod):,} of {placement.feasible_count:,} nodes that fit misses {better:,} better "
            f"ones with a chance of {chance:.2g}; {self.odds}"
        )
        found = _placed(ComparisonClass.SAMPLING, evidence, placement)
        search = msgspec.structs.replace(self._no_search(pod, better), chance=chance)
        return msgspec.structs.replace(found, scores=placement.difference(), search=search)

    def _chance_of_missing(self, pod: api.Pod, placement: PlacementScores) -> float:
        if self.knows_order:
            return chance_of_missing_chunks(placement, self._model.search_order(), self._wanted(pod))
        return chance_of_missing(placement.feasible_count, self._wanted(pod), len(placement.better_rows))

    def with_search(self, pod: api.Pod, placement: PlacementScores, found: DecisionFinding) -> DecisionFinding:
        """Return the finding with the searches that match it on the current model, for `follow`."""
        if found.match is not None or not self.knows_order or not self._is_sampled(pod, placement.evaluation):
            return found
        return msgspec.structs.replace(found, match=self._match(pod, placement))

    def unexplained(self, pod: api.Pod, placement: PlacementScores) -> DecisionFinding:
        """Return the finding for a binding that neither chance nor timing explains."""
        scores = placement.difference()
        found = _placed(ComparisonClass.DISAGREEMENT, _difference_sentence(placement, scores), placement)
        is_sampled = placement.total is not None and self._is_sampled(pod, placement.evaluation)
        if is_sampled and self._chance_of_missing(pod, placement) >= MIN_CHANCE:
            known = (
                str(self.odds) if self.odds.are_off else "no search that is possible after the decisions before it does"
            )
            evidence = f"{found.evidence}; a search could have missed the better nodes, but {known}"
            found = msgspec.structs.replace(found, comparison_class=ComparisonClass.UNPROVEN, evidence=evidence)
        message = "" if placement.feasible_count else self._model.message(pod)
        search = self._no_search(pod, len(placement.better_rows)) if is_sampled else None
        return msgspec.structs.replace(found, scores=scores, our_message=message, search=search)

    def follow(self, pod: api.Pod, placement: PlacementScores, found: DecisionFinding) -> None:
        """Record the search for the pod: the next one begins where it ended."""
        evaluation = placement.evaluation
        if evaluation.nominated_path:
            return
        names = evaluation.pre_filter.node_names
        if names is not None:
            looked_at = sum(self._model.cache.nodes.row_of(name) is not None for name in names)
            self.tracker.moved_on(self._model.node_count, looked_at)
            return
        if not self._is_sampled(pod, evaluation):
            return
        if not self.knows_order:
            missed = chance_of_missing(placement.feasible_count, self._wanted(pod), placement.groups_of_best())
            lap = max(1.0, placement.feasible_count / self._wanted(pod))
            self.odds.add(placement.is_best, 1.0 - missed, lap)
            return
        match = found.match
        if match is None and placement.is_best:
            match = self._match(pod, placement)
        if match is None:
            self.tracker.lose()
        else:
            self.odds.add(placement.is_best, match.chance_of_any(placement.best_positions(match.windows.order)))
            self.tracker.follow(match)

    def _is_sampled(self, pod: api.Pod, evaluation: ColumnarEvaluation) -> bool:
        """Return whether the other scheduler may have evaluated only some of the nodes."""
        if evaluation.nominated_path or evaluation.pre_filter.node_names is not None:
            return False
        return self._wanted(pod) < self._model.node_count

    def _wanted(self, pod: api.Pod) -> int:
        return feasible_nodes_to_find(self._model.percentage_of_nodes_to_score(pod), self._model.node_count)

    def _match(self, pod: api.Pod, placement: PlacementScores) -> SearchMatch | None:
        return self.tracker.match(placement, self._model.search_order(), self._wanted(pod))

    def _no_search(self, pod: api.Pod, better: int) -> SearchEvidence:
        """Return the evidence if no search explains the decision."""
        nodes, possible = self._model.node_count, self.tracker.possible
        return SearchEvidence(
            nodes=nodes,
            wanted=self._wanted(pod),
            start_index=-1,
            possible_before=nodes if possible is None else possible,
            possible_after=0,
            confirmed=self.tracker.confirmed,
            better_outside=better,
        )

    def _evidence(self, match: SearchMatch, better: int) -> SearchEvidence:
        return SearchEvidence(
            nodes=match.windows.size,
            wanted=match.windows.wanted,
            start_index=match.start_index,
            possible_before=int(match.before.sum()),
            possible_after=int(match.starts.sum()),
            confirmed=self.tracker.confirmed,
            better_outside=better,
            course=match.course,
        )

    # -- pods without a node -----------------------------------------------------------------------------------------

    def nowhere(self, pod: api.Pod, nominated: str, message: str) -> DecisionFinding | None:
        """Return the finding that the pod fits nowhere here either; None if it fits."""
        evaluation = self._model.evaluate_columns(pod)
        if evaluation.feasible_count:
            return None
        before = pod.status.nominated_node_name
        report = self._model.preemption(pod, evaluation) if nominated != before or not nominated else None
        if nominated != before or (report is not None and report.choice is not None):
            found = _nomination(nominated, report)
            if found.comparison_class is ComparisonClass.DISAGREEMENT and report is not None:
                found = _nomination(nominated, self._model.preemption(pod, evaluation, detailed=True))
            return found
        ours = self._model.message(pod)
        evidence = "fits nowhere, with the same message" if ours == message else "fits nowhere, with another message"
        return DecisionFinding(ComparisonClass.SAME, evidence, our_message=ours)

    def fits(self, pod: api.Pod) -> DecisionFinding:
        """Return the finding for a pod that fits here, but not for the other scheduler."""
        placement = self._model.placement(pod, "")
        evidence = (
            f"held unschedulable there; fits on {placement.feasible_count:,} nodes here, best on {placement.best_node}"
        )
        return _placed(ComparisonClass.DISAGREEMENT, evidence, placement)


def _placed(comparison_class: ComparisonClass, evidence: str, placement: PlacementScores) -> DecisionFinding:
    return DecisionFinding(comparison_class, evidence, placement.best_node, placement.ties, placement.feasible_count)


def _search_sentence(search: SearchEvidence) -> str:
    which = f"a search for {search.wanted:,} of {search.nodes:,} nodes"
    if search.possible_before < search.nodes:
        known = f"{search.possible_before:,} start indexes are possible after the decisions before it"
    else:
        known = "nothing is known yet of where searches begin"
    text = f"{which} from index {search.start_index} finds nothing better ({known}"
    text += f", {search.confirmed:,} of them in a row predicted)" if search.confirmed else ")"
    text += f"; {search.better_outside:,} better nodes are outside of it"
    return text if search.course == SearchCourse.USUAL else f"{text}; the search was a rare one: {search.course}"


def _difference_sentence(placement: PlacementScores, scores: ComparedScores) -> str:
    if scores.theirs is None:
        by = f" ({scores.plugin}: {scores.objection})" if scores.plugin else f" ({scores.objection})"
        here = f"{placement.best_node} is best here" if placement.feasible_count else "it fits nowhere here"
        return f"{placement.node} does not fit here{by}; {here}"
    return (
        f"{placement.node} has a total of {scores.theirs} here, {placement.best_node} {scores.ours}; "
        f"{scores.plugin or 'no single plugin'} makes the difference"
    )


def _nomination(nominated: str, report: PreemptionReport | None) -> DecisionFinding:
    """Compare the other scheduler's nomination (`nominated`, "" for none) with our candidates."""
    choice = None if report is None else report.choice
    if not nominated and choice is None:
        return DecisionFinding(ComparisonClass.SAME, "the nomination was taken back; making room helps on no node here")
    if report is None or choice is None:
        return DecisionFinding(
            ComparisonClass.DISAGREEMENT, f"nominated to {nominated}; making room helps on no node here"
        )
    ours, ties = choice.candidate.node, choice.ties
    if not nominated:
        evidence = (
            f"no node was nominated there; here {ours} would be, on {report.candidate_count} nodes room can be made"
        )
        return DecisionFinding(ComparisonClass.DISAGREEMENT, evidence, ours, len(ties))
    if nominated in ties:
        same = len(ties) == 1
        evidence = choice.rule if same else f"one of {len(ties)} equally good nodes to make room on"
        return DecisionFinding(ComparisonClass.SAME if same else ComparisonClass.TIE, evidence, nominated, len(ties))
    candidates = [candidate.node for candidate in report.candidates]
    if nominated in candidates and len(candidates) > _MIN_CANDIDATES:
        evidence = (
            f"room can be made on {len(candidates)} nodes, of which kube-scheduler looks at a part from a random one on; "
            f"{nominated} is one of them"
        )
        return DecisionFinding(ComparisonClass.SAMPLING, evidence, ours, len(ties))
    where = "a worse one here" if nominated in candidates else "none here"
    evidence = f"nominated to {nominated}, which is {where}; ours is {ours}: {choice.rule}"
    return DecisionFinding(ComparisonClass.DISAGREEMENT, evidence, ours, len(ties))
