# SPDX-License-Identifier: Apache-2.0
"""One pod, from the queue to a decision. Plain synchronous code over the state: no I/O, no clock but the injected one.

profile ─► skip? ─► PreFilter, Filter ─┬─► Score ─► select ─► assume, Reserve ─► Permit ─► Scheduled
                                       └─► PostFilter ─► Unschedulable
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from steersman.cycle import commit, post_filter
from steersman.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.cycle.diagnosis import NO_NODES_MESSAGE, Diagnosis, diagnose
from steersman.cycle.post_filter import PostFilterOutcome
from steersman.cycle.replicas import Digests, place_replicas
from steersman.cycle.what_if import ProfileWhatIf
from steersman.engine.columnar import ColumnarEngine, one_of
from steersman.engine.evaluation import Choice, Evaluation, NodeStatuses
from steersman.engine.plan import make_plan
from steersman.engine.sampling import NodeSearch, Sampling, share_search
from steersman.engine.scalar import ScalarEvaluation
from steersman.engine.validation import validate_engine
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import CLEARED, Nomination
from steersman.framework.postponement import CyclePostponed
from steersman.framework.status import Status, unresolvable
from steersman.rng import Rng
from steersman.runtime.faults import CycleAborted
from steersman.runtime.profile import Profile
from steersman.state.cache import Cache
from steersman.state.nominations import Nominations

#: Sees every evaluation before anything is assumed: explanations, decision records, conformance.
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
        asks_extenders: bool = False,
    ) -> None:
        """`asks_extenders`: some of them filter or score nodes."""
        self._cache = cache
        self._table = cache.nodes
        self.profiles = profiles
        self._nominations = nominations
        self.rng = rng
        self._scalar = scalar
        self._search = search = NodeSearch(cache.nodes)
        samplings = {
            name: Sampling(
                _percentage(profile, percentage_of_nodes_to_score),
                search,
                has_scoring=bool(profile.score) or asks_extenders,
            )
            for name, profile in profiles.items()
        }
        share_search(samplings.values())
        self._engines = {
            name: ColumnarEngine(make_plan(profile), cache.nodes, cache.objects, samplings[name])
            for name, profile in profiles.items()
        }
        #: Those whose signatures may decide alone.
        self._simple_engines = {
            name: engine for name, engine in self._engines.items() if engine.sampling.is_off and not scalar
        }
        self._what_ifs = {
            name: ProfileWhatIf(profile, self._engines[name], nominations) for name, profile in profiles.items()
        }

    def schedule_one(self, pod: PodInfo, observer: Observer | None = None, node: str = "") -> Decision:
        """The decision on one pod. `node`, one of the feasible ones, is taken instead of the best; everything else, random
        numbers included, goes as if it had been the best."""
        try:
            if observer is None and not node:
                simply = self.place_simply(pod)
                if simply is not None:
                    return simply
            profile = self.admit(pod)
            if not isinstance(profile, Profile):
                return profile
            evaluation = self.evaluate(profile, pod)
            if observer is not None:
                observer(pod, evaluation)
            if evaluation.feasible_count == 0:
                return self._unschedulable(profile, pod, evaluation)
            choice = evaluation.choose(self.rng)
            if node and node != choice.node:
                choice = Choice(node, ties=1)
        except CycleAborted as abort:
            return Failed(pod, pod.scheduler_name, abort.status)
        except CyclePostponed as postponed:
            return Postponed(pod, pod.scheduler_name, postponed.work)
        return self.commit(profile, pod, choice, evaluation.feasible_count, evaluation.state)

    def place_simply(self, pod: PodInfo, *, alone: bool = False) -> Decision | None:
        """The decision where the pod's signature says all there is to say, and nobody wants to see an evaluation: what
        `place_replicas` does for many. `alone`: only if no plugin has anything to do for the pod after the choice either. None:
        the pod is to be admitted and evaluated. CycleAborted when a plugin is broken."""
        name = pod.scheduler_name
        engine = self._simple_engines.get(name)
        if (
            engine is None
            or pod.is_terminating
            or pod.nominated_node
            or self._cache.knows(pod.uid)
            or self._nominations().by_node
            or not self._table.node_count  # no plugin is asked then
        ):
            return None
        entry = engine.signatures.of(pod)
        if not (entry.commits_simply if alone else entry.is_complete):
            return None
        best, feasible = entry.signature.best_in_run()
        if not feasible:
            return None
        choice = one_of(best, self._table.names, self.rng)
        if not entry.commits_simply:
            return self.commit(self.profiles[name], pod, choice, feasible, CycleState())
        self._cache.assume(pod, choice.node)
        return Scheduled(pod, name, choice, feasible, CycleState())

    def schedule_replicas(self, pods: Sequence[PodInfo], digests: Digests | None = None) -> list[Scheduled]:
        """Pods of one template, one after the other; the same decisions, without asking anew what is the same for all of
        them. Ends before the first pod that cannot simply be placed: it is left to `schedule_one`. `digests`: see
        `place_replicas`."""
        profile = self.profiles.get(pods[0].scheduler_name)
        if (
            profile is None
            or profile.permit
            or profile.reserve.of(pods[0])
            or self._scalar
            or self._nominations().by_node
        ):
            return []
        return place_replicas(pods, profile.name, self._engines[profile.name], self._cache, self.rng, digests)

    def keeps_totals_of(self, pod: PodInfo) -> bool:
        """Whether the totals are kept by which nodes are ranked for the pod, so that `digests` of its replicas can be given."""
        engine = self._engines.get(pod.scheduler_name)
        try:
            return engine is not None and engine.signatures.of(pod).signature.has_totals_in_run
        except CycleAborted:
            return False  # a plugin is broken, which `schedule_one` tells

    def admit(self, pod: PodInfo) -> Profile | Decision:
        """The profile that the pod is to be scheduled with; a decision where there is nothing to evaluate."""
        profile = self.profiles.get(pod.scheduler_name)
        if profile is None:
            return Dropped(pod, f'profile not found for scheduler name "{pod.scheduler_name}"')
        if pod.is_terminating:
            return Dropped(pod, f"skip schedule deleting pod: {pod.key}")
        if self._cache.knows(pod.uid) and self._cache.is_assumed(pod.uid):
            return Dropped(pod, f"pod {pod.key} is assumed already")
        return profile if self._table.node_count else self._no_nodes(pod, profile)

    def what_if(self, profile: str) -> ProfileWhatIf:
        """For questions about nodes that are not as they are now."""
        return self._what_ifs[profile]

    def kept(self) -> dict[str, int]:
        """Number of entries by table, of all profiles together."""
        total: Counter[str] = Counter()
        for engine in self._engines.values():
            total.update(engine.signatures.kept())
        return dict(total)

    def validate_state(self) -> None:
        """Computes again what the engines keep; StateInvariantError where it differs."""
        for engine in self._engines.values():
            validate_engine(engine)

    def looks_at_all_nodes(self, profile: Profile) -> bool:
        """Whether every node is examined, rather than a sample."""
        return self._engines[profile.name].sampling.looks_at_all

    def evaluate(self, profile: Profile, pod: PodInfo) -> Evaluation:
        """The pod against all nodes as they are now. CycleAborted when a plugin is broken."""
        if self._scalar:
            return self._evaluate_plainly(profile, pod)
        engine = self._engines[profile.name]
        if not engine.sampling.is_off:
            self._search.begin_cycle()
        return engine.evaluate(pod, self._nominations())

    def preview(self, profile: Profile, pod: PodInfo) -> Evaluation:
        """The evaluation of a pod that is not decided on: the next search begins where it would have begun. CycleAborted when
        a plugin is broken."""
        with self._search.unchanged():
            return self.evaluate(profile, pod)

    def preview_all_nodes(self, profile: Profile, pod: PodInfo) -> Evaluation:
        """The `preview` of a pod against every node, even where scheduling samples."""
        return self.preview(profile, pod) if self.looks_at_all_nodes(profile) else self._evaluate_plainly(profile, pod)

    def _evaluate_plainly(self, profile: Profile, pod: PodInfo) -> Evaluation:
        """The pod against every node, by the plain engine."""
        nodes = {self._table.names[row]: self._table.info(row) for row in self._table.live_rows()}
        return ScalarEvaluation(profile, pod, nodes, self._nominations().by_node)

    def evaluate_again(self, profile: Profile, pod: PodInfo, refused_nomination: str = "") -> Evaluation:
        """Evaluates a pod once more for which the latest search was made: that is made again, and counts once. A nominated
        node that was refused since then counts as looked at. CycleAborted when a plugin is broken."""
        self._search.take_back()
        evaluation = self.evaluate(profile, pod)
        row = self._table.row_of(refused_nomination)
        if row is not None:
            self._search.count_nominated(row)
        return evaluation

    def _unschedulable(self, profile: Profile, pod: PodInfo, evaluation: Evaluation) -> Unschedulable:
        diagnosis = diagnose(evaluation, self._table.node_count)
        if not profile.post_filter:
            return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), CLEARED)
        outcome = post_filter.run(profile, evaluation.deferred_state(), pod, diagnosis.statuses)
        return post_filtered(profile, pod, diagnosis, outcome)

    def commit(self, profile: Profile, pod: PodInfo, choice: Choice, feasible: int, state: CycleState) -> Decision:
        """Assume, Reserve, Permit on the chosen one of the feasible nodes. An exception leaves nothing assumed or reserved."""
        self._cache.assume(pod, choice.node)
        scheduled = Scheduled(pod, profile.name, choice, feasible, state)
        return self._reserve_and_permit(scheduled, profile) if profile.permit or profile.reserve.of(pod) else scheduled

    def _reserve_and_permit(self, scheduled: Scheduled, profile: Profile) -> Decision:
        pod, node, state = scheduled.pod, scheduled.node, scheduled.state
        waits: dict[str, float] = {}
        try:
            status = commit.reserve(profile, state, pod, node)
            if status is None:
                status, waits = commit.permit(profile, state, pod, node)
        except Exception:
            commit.unreserve_and_forget(self._cache, profile, state, pod, node)
            raise
        if status is not None:
            commit.unreserve_and_forget(self._cache, profile, state, pod, node)
            return self._refused(profile, pod, node, status)
        return msgspec.structs.replace(scheduled, waits=waits) if waits else scheduled

    def _refused(self, profile: Profile, pod: PodInfo, node: str, status: Status) -> Decision:
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
    """The decision on a pod that fits nowhere, after the plugins that may make room."""
    diagnosis.post_filter_message = outcome.status.message
    nominated = outcome.result.nominated_node if outcome.result is not None else None
    nomination = None if nominated is None else Nomination(nominated)
    return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), nomination, outcome)


def _percentage(profile: Profile, for_all_profiles: int | None) -> int | None:
    """The percentage of the profile, even if it is 0, else that of the configuration."""
    own = profile.percentage_of_nodes_to_score
    return for_all_profiles if own is None else own
