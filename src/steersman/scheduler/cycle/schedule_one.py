# SPDX-License-Identifier: Apache-2.0
"""The scheduling cycle of one pod, synchronous and without I/O.

profile ─► skip? ─► PreFilter, Filter ─┬─► Score ─► select ─► assume, Reserve ─► Permit ─► Scheduled
                                       └─► PostFilter ─► Unschedulable
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.base import Rng
from steersman.framework import (
    CLEARED,
    CyclePostponed,
    CycleState,
    Nomination,
    PodInfo,
    PreFilteredMembers,
    Status,
    unresolvable,
)
from steersman.scheduler.cycle import commit, post_filter
from steersman.scheduler.cycle.budget import over_budget
from steersman.scheduler.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.scheduler.cycle.diagnosis import NO_NODES_MESSAGE, Diagnosis, diagnose
from steersman.scheduler.cycle.post_filter import PostFilterOutcome
from steersman.scheduler.cycle.replicas import Digests, place_replicas
from steersman.scheduler.cycle.what_if import ProfileWhatIf
from steersman.scheduler.engine.columnar import ColumnarEngine, one_of
from steersman.scheduler.engine.evaluation import Choice, Evaluation, NodeStatuses, PlacementTrial
from steersman.scheduler.engine.evaluation_plan import make_plan
from steersman.scheduler.engine.phase_clock import PhaseClock
from steersman.scheduler.engine.sampling import NodeSearch, Sampling, share_search
from steersman.scheduler.engine.scalar import ScalarEvaluation
from steersman.scheduler.engine.validation import validate_engine
from steersman.scheduler.runtime.faults import CycleAborted
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.node_sets import NodeSets
from steersman.scheduler.state.nominations import Nominations

#: Receives every evaluation before anything is assumed: explanations, decision records,
#: conformance.
Observer = Callable[[PodInfo, Evaluation], None]


class SchedulingCycle:
    """The scheduler's decision function with the state it works on."""

    def __init__(
        self,
        cache: Cache,
        profiles: Mapping[str, Profile],
        nominations: Callable[[], Nominations],
        rng: Rng,
        percentage_of_nodes_to_score: int | None = None,
        scalar: bool = False,
        *,
        has_extenders: bool = False,
    ) -> None:
        """`has_extenders` says whether any extender filters or scores nodes."""
        self._cache = cache
        self._table = cache.nodes
        #: Sets of nodes by name, for placements of groups.
        self.node_sets = NodeSets(cache.nodes)
        self.profiles = profiles
        self._nominations = nominations
        self.rng = rng
        self._scalar = scalar
        self._search = search = NodeSearch(cache.nodes)
        samplings = {
            name: Sampling(
                _percentage(profile, percentage_of_nodes_to_score),
                search,
                has_scoring=bool(profile.score) or has_extenders,
            )
            for name, profile in profiles.items()
        }
        share_search(samplings.values())
        self._engines = {
            name: ColumnarEngine(make_plan(profile), cache.nodes, cache.objects, samplings[name])
            for name, profile in profiles.items()
        }
        #: Engines whose signatures alone may determine the node.
        self._signature_engines = {
            name: engine for name, engine in self._engines.items() if engine.sampling.is_off and not scalar
        }
        self._what_ifs = {
            name: ProfileWhatIf(profile, self._engines[name], cache, nominations) for name, profile in profiles.items()
        }

    def measure(self, clock: PhaseClock) -> None:
        """Measure the evaluations of all profiles from now on."""
        for engine in self._engines.values():
            engine.clock = clock

    def schedule_one(
        self,
        pod: PodInfo,
        observer: Observer | None = None,
        node: str = "",
        *,
        post_filter: bool = True,
        nodes: Iterable[str] | None = None,
    ) -> Decision:
        """Return the decision on one pod.

        `node` is chosen instead of the best feasible node; everything else, including random
        numbers, is unaffected. `post_filter` disables PostFilter, and `nodes` restricts the
        candidates.
        """
        try:
            if observer is None and not node and nodes is None:
                simply = self.schedule_by_signature(pod)
                if simply is not None:
                    return simply
            profile = self.admit(pod)
            if not isinstance(profile, Profile):
                return profile
            evaluation = self.evaluate(profile, pod)
            if observer is not None:
                observer(pod, evaluation)
            if nodes is not None and evaluation.feasible_count:
                evaluation.restrict(nodes)
            if evaluation.feasible_count == 0:
                return self._unschedulable(profile, pod, evaluation, post_filter)
            choice = evaluation.choose(self.rng)
            if node and node != choice.node:
                choice = Choice(node, ties=1)
        except CycleAborted as abort:
            return Failed(pod, pod.scheduler_name, abort.status)
        except CyclePostponed as postponed:
            return Postponed(pod, pod.scheduler_name, postponed.work)
        return self.commit(profile, pod, choice, evaluation.feasible_count, evaluation.state)

    def schedule_by_signature(self, pod: PodInfo, *, require_no_reserve: bool = False) -> Decision | None:
        """Fast path of `schedule_one` if the pod's signature is complete, as in `place_replicas`
        for many pods. Returns None if the pod must be admitted and evaluated.

        `require_no_reserve` returns None also if a Reserve or Permit plugin applies to the pod.
        Raises CycleAborted for an internal error of a plugin.
        """
        name = pod.scheduler_name
        engine = self._signature_engines.get(name)
        if (
            engine is None
            or pod.is_terminating
            or pod.nominated_node
            or self._cache.knows(pod.uid)
            or (pod.shape.is_large and self._over_budget(pod))
            or self._nominations().by_node
            or not self._table.node_count  # then no plugin is called
        ):
            return None
        entry = engine.signatures.get(pod)
        if not (entry.needs_no_reserve_or_permit if require_no_reserve else entry.is_complete):
            return None
        best, feasible = entry.signature.best_rows_by_group()
        if not feasible:
            return None
        choice = one_of(best, self._table.names, self.rng)
        if not entry.needs_no_reserve_or_permit:
            return self.commit(self.profiles[name], pod, choice, feasible, CycleState())
        self._cache.assume(pod, choice.node)
        return Scheduled(pod, name, choice, feasible, CycleState())

    def schedule_replicas(
        self,
        pods: Sequence[PodInfo],
        digests: Digests | None = None,
        *,
        without_permit: bool = False,
        rows: NDArray[np.intp] | None = None,
    ) -> list[Scheduled]:
        """Schedule pods of one template one after the other, with the same decisions as
        `schedule_one` but without repeating common work.

        Stops before the first pod whose signature is not complete. For `digests` see
        `place_replicas`. `without_permit` says that the caller runs the Permit plugins. `rows`
        restricts the nodes, in ascending order.
        """
        profile = self.profiles.get(pods[0].scheduler_name)
        if (
            profile is None
            or (profile.permit.for_pod(pods[0]) and not without_permit)
            or (pods[0].shape.is_large and self._over_budget(pods[0]))
            or profile.reserve.for_pod(pods[0])
            or self._scalar
            or self._nominations().by_node
        ):
            return []
        return place_replicas(pods, profile.name, self._engines[profile.name], self._cache, self.rng, digests, rows)

    def is_alike(self, refused: PodInfo, pod: PodInfo) -> bool:
        """Return whether a pod fits no node because another one of its template, which was
        evaluated last, does not: the signature alone determines the result."""
        engine = self._signature_engines.get(pod.scheduler_name)
        if engine is None or refused.nominated_node or pod.nominated_node or self._nominations().by_node:
            return False
        return not pod.shape.is_large and engine.signatures.get(pod).is_complete

    def has_cached_totals(self, pod: PodInfo) -> bool:
        """Return whether nodes are ranked for the pod by cached totals, so that `digests` of its
        replicas are available."""
        engine = self._engines.get(pod.scheduler_name)
        try:
            return engine is not None and engine.signatures.get(pod).signature.has_cached_totals
        except CycleAborted:
            return False  # `schedule_one` reports the error

    def admit(self, pod: PodInfo) -> Profile | Decision:
        """Return the profile of the pod, or the decision if there is nothing to evaluate."""
        profile = self.profiles.get(pod.scheduler_name)
        if profile is None:
            return Dropped(pod, f'profile not found for scheduler name "{pod.scheduler_name}"')
        if pod.is_terminating:
            return Dropped(pod, f"skip schedule deleting pod: {pod.key}")
        if self._cache.knows(pod.uid) and self._cache.is_assumed(pod.uid):
            return Dropped(pod, f"pod {pod.key} is assumed already")
        return profile if self._table.node_count else self._no_nodes(pod, profile)

    def what_if(self, profile: str) -> ProfileWhatIf:
        """Return the what-if evaluator of a profile, for hypothetical nodes."""
        return self._what_ifs[profile]

    def cache_sizes(self) -> dict[str, int]:
        """Return the number of entries by cache, summed over the profiles."""
        total: Counter[str] = Counter()
        for engine in self._engines.values():
            total.update(engine.signatures.cache_sizes())
        return dict(total)

    def validate_state(self) -> None:
        """Recompute the caches of the engines; raise StateInvariantError for a difference."""
        for engine in self._engines.values():
            validate_engine(engine)

    @property
    def search(self) -> NodeSearch:
        """Where the next search for nodes begins."""
        return self._search

    def evaluates_all_nodes(self, profile: Profile) -> bool:
        """Return whether all nodes are evaluated instead of a sample."""
        return self._engines[profile.name].sampling.evaluates_all_nodes

    def find_node(
        self, profile: Profile, pod: PodInfo, trial: PlacementTrial, observer: Observer | None = None
    ) -> Scheduled | Unschedulable | Failed:
        """Return the node for the member of a group, or why there is none. Nothing is assumed, and
        PostFilter does not run. Raises CyclePostponed."""
        all_nodes = self._table.node_count if trial.node_names is None else len(trial.node_names)
        if not all_nodes:
            return self._no_nodes(pod, profile)
        try:
            evaluation = self.evaluate(profile, pod, trial)
            if observer is not None:
                observer(pod, evaluation)
            members = PreFilteredMembers.of_cycle(trial.group_cycle)
            if evaluation.feasible_count == 0:
                members.skipped[pod.key] = evaluation.pre_filter.skipped
                diagnosis = diagnose(evaluation, all_nodes)
                return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), None)
            members.skipped[pod.key] = None
            choice = evaluation.choose(self.rng)
        except CycleAborted as abort:
            return Failed(pod, profile.name, abort.status)
        return Scheduled(pod, profile.name, choice, evaluation.feasible_count, evaluation.state)

    def evaluate(self, profile: Profile, pod: PodInfo, trial: PlacementTrial | None = None) -> Evaluation:
        """Evaluate the pod against all nodes, or those of the placement that is tried for its
        group. Raises CycleAborted for an internal error of a plugin or an exceeded budget."""
        refused = self._over_budget(pod)
        if refused is not None:
            raise CycleAborted(refused)
        if self._scalar:
            return self._evaluate_with_scalar_engine(profile, pod, trial)
        engine = self._engines[profile.name]
        if not engine.sampling.is_off:
            self._search.begin_cycle()
        return engine.evaluate(pod, self._nominations(), trial)

    def _over_budget(self, pod: PodInfo) -> Status | None:
        return over_budget(pod, self._table.node_count, len(self._table.counts.classes))

    def preview(self, profile: Profile, pod: PodInfo) -> Evaluation:
        """Evaluate the pod without advancing the start of the next node search. Raises CycleAborted
        for an internal error of a plugin."""
        with self._search.unchanged():
            return self.evaluate(profile, pod)

    def preview_all_nodes(self, profile: Profile, pod: PodInfo) -> Evaluation:
        """Return the `preview` of a pod against every node, even if scheduling samples."""
        return (
            self.preview(profile, pod)
            if self.evaluates_all_nodes(profile)
            else self._evaluate_with_scalar_engine(profile, pod)
        )

    def _evaluate_with_scalar_engine(
        self, profile: Profile, pod: PodInfo, trial: PlacementTrial | None = None
    ) -> Evaluation:
        """Evaluate the pod against every node with the scalar engine."""
        nodes = {self._table.names[row]: self._table.info(row) for row in self._table.live_rows()}
        return ScalarEvaluation(profile, pod, nodes, self._nominations().by_node, trial)

    def repeat_evaluation(self, profile: Profile, pod: PodInfo, refused_nomination: str = "") -> Evaluation:
        """Repeat the latest evaluation of the pod; the node search counts once.
        `refused_nomination` is a nominated node that was rejected since and counts as visited.
        Raises CycleAborted for an internal error of a plugin."""
        self._search.rewind()
        evaluation = self.evaluate(profile, pod)
        row = self._table.row_of(refused_nomination)
        if row is not None:
            self._search.count_nominated(row)
        return evaluation

    def _unschedulable(
        self, profile: Profile, pod: PodInfo, evaluation: Evaluation, runs_post_filter: bool
    ) -> Unschedulable:
        diagnosis = diagnose(evaluation, self._table.node_count)
        if not profile.post_filter or not runs_post_filter:
            return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), CLEARED)
        outcome = post_filter.run(profile, evaluation.deferred_state(), pod, diagnosis.statuses)
        return post_filtered(profile, pod, diagnosis, outcome)

    def commit(self, profile: Profile, pod: PodInfo, choice: Choice, feasible: int, state: CycleState) -> Decision:
        """Assume the pod on the chosen node, then run Reserve and Permit. An exception leaves
        nothing assumed or reserved."""
        scheduled = Scheduled(pod, profile.name, choice, feasible, state)
        if not profile.permit.for_pod(pod) and not profile.reserve.for_pod(pod):
            self._cache.assume(pod, choice.node)
            return scheduled
        reserved = self.assume_and_reserve(profile, scheduled)
        return self.permit(profile, reserved) if isinstance(reserved, Scheduled) else reserved

    def assume_and_reserve(self, profile: Profile, scheduled: Scheduled) -> Scheduled | Unschedulable | Failed:
        """Assume the pod on its node and run the Reserve plugins. After a rejection or an exception
        nothing is assumed or reserved."""
        pod, node, state = scheduled.pod, scheduled.node, scheduled.state
        self._cache.assume(pod, node)
        try:
            status = commit.reserve(profile, state, pod, node)
        except Exception:
            commit.unreserve_and_forget(self._cache, profile, state, pod, node)
            raise
        return scheduled if status is None else self._refused(profile, scheduled, status)

    def permit(self, profile: Profile, reserved: Scheduled) -> Scheduled | Unschedulable | Failed:
        """Run the Permit plugins for an assumed and reserved pod. After a rejection or an exception
        nothing is assumed or reserved."""
        pod, node, state = reserved.pod, reserved.node, reserved.state
        try:
            status, waits = commit.permit(profile, state, pod, node)
        except Exception:
            commit.unreserve_and_forget(self._cache, profile, state, pod, node)
            raise
        if status is not None:
            return self._refused(profile, reserved, status)
        return msgspec.structs.replace(reserved, waits=waits) if waits else reserved

    def _refused(self, profile: Profile, reserved: Scheduled, status: Status) -> Unschedulable | Failed:
        pod, node = reserved.pod, reserved.node
        commit.unreserve_and_forget(self._cache, profile, reserved.state, pod, node)
        if not status.is_rejected:
            return Failed(pod, profile.name, status)
        diagnosis = commit.rejection(pod, node, status)
        return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), CLEARED)

    def _no_nodes(self, pod: PodInfo, profile: Profile) -> Unschedulable:
        self._search.begin_cycle()
        statuses = NodeStatuses(absent=unresolvable(NO_NODES_MESSAGE))
        diagnosis = Diagnosis(0, statuses, frozenset(), frozenset())
        return Unschedulable(pod, profile.name, diagnosis, NO_NODES_MESSAGE, CLEARED)


def post_filtered(profile: Profile, pod: PodInfo, diagnosis: Diagnosis, outcome: PostFilterOutcome) -> Unschedulable:
    """Return the decision on an unschedulable pod after PostFilter."""
    diagnosis.post_filter_message = outcome.status.message
    nominated = outcome.result.nominated_node if outcome.result is not None else None
    nomination = None if nominated is None else Nomination(nominated)
    return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), nomination, outcome)


def _percentage(profile: Profile, for_all_profiles: int | None) -> int | None:
    """Return the profile's percentage, also if it is 0, else that of the configuration."""
    own = profile.percentage_of_nodes_to_score
    return for_all_profiles if own is None else own
