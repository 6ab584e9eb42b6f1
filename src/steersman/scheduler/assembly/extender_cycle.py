# SPDX-License-Identifier: Apache-2.0
"""The scheduling cycle of a pod with extenders.

    PreFilter, Filter ─► extenders filter ─► Score ─► extenders prioritize ─► select ─► assume, Reserve, Permit

The phases are those of `schedule_one`; the extenders are awaited between them. The cluster may
change while waiting, so after a response the remaining nodes are evaluated again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from steersman import api
from steersman.framework import (
    CLEARED,
    EXTENDER_PLUGIN,
    MAX_EXTENDER_PRIORITY,
    MAX_NODE_SCORE,
    CyclePostponed,
    Extender,
    ExtenderError,
    PodInfo,
    PodShapes,
    Status,
    error,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.cycle import post_filter
from steersman.scheduler.cycle.decision import Decision, Failed, Postponed, Unschedulable
from steersman.scheduler.cycle.diagnosis import diagnose
from steersman.scheduler.cycle.schedule_one import Observer, SchedulingCycle, post_filtered
from steersman.scheduler.engine import scalar
from steersman.scheduler.engine.evaluation import Choice, Evaluation, NodeStatuses, ScoreTable
from steersman.scheduler.runtime.faults import CycleAborted
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.cache import Cache

logger = logging.getLogger(__name__)

#: The pod was bound by another client.
IN_CACHE = "pod {}({}) is in the cache, so can't be assumed"
_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


class Refusals(msgspec.Struct):
    """Nodes rejected by extenders."""

    #: Reason by node; nodes rejected without a reason are missing.
    statuses: dict[str, Status] = msgspec.field(default_factory=dict)
    #: Whether the latest filter pass returned a different number of nodes.
    took_some: bool = False
    #: Whether an extender returned Node objects in the latest filter pass.
    has_node_objects: bool = False


class Selection(msgspec.Struct, frozen=True):
    """The nodes that passed filters and extenders, with their scores."""

    nodes: Sequence[str]
    #: Scores of the plugins; None if a single node needs none.
    table: ScoreTable | None = None
    #: Totals including the extenders' priorities, aligned with the table.
    totals: Sequence[int] = ()


class ExtenderCycle:
    """A `SchedulingCycle` with extenders; schedules one pod at a time."""

    def __init__(self, cycle: SchedulingCycle, cache: Cache, extenders: Sequence[Extender]) -> None:
        self._cycle = cycle
        self._cache = cache
        self._extenders = extenders
        #: Called with every selection before a node is chosen.
        self.on_selection: Callable[[Selection], None] | None = None

    def interested_in(self, pod: PodInfo) -> list[Extender]:
        return [extender for extender in self._extenders if extender.is_interested(pod)]

    async def schedule_one(
        self, pod: PodInfo, extenders: Sequence[Extender], observer: Observer | None = None
    ) -> Decision:
        """Return the decision on a pod; `extenders` are those interested in it."""
        profile = self._cycle.admit(pod)
        if not isinstance(profile, Profile):
            return profile
        try:
            return await self._decide(profile, pod, extenders, observer)
        except CycleAborted as abort:
            return Failed(pod, profile.name, abort.status)
        except CyclePostponed as postponed:
            return Postponed(pod, profile.name, postponed.work)
        except ExtenderError as cause:
            return Failed(pod, profile.name, error(str(cause)))

    async def _decide(
        self, profile: Profile, pod: PodInfo, extenders: Sequence[Extender], observer: Observer | None
    ) -> Decision:
        evaluation = self._cycle.evaluate(profile, pod)
        if observer is not None:
            observer(pod, evaluation)
        refusals = Refusals()
        nominated_path = evaluation.nominated_path
        if nominated_path:
            left = await self._filter_nominated(pod, evaluation.feasible(), extenders, refusals)
        else:
            left = await self._filter(pod, evaluation.feasible(), extenders, refusals)
        if nominated_path and not left:
            # Only the nominated node was evaluated; evaluate the others now.
            pod_elsewhere = _without_nomination(pod, self._cache.shapes)
            evaluation = self._cycle.evaluate(profile, pod_elsewhere)
            if observer is not None:
                observer(pod, evaluation)
            refused = pod.nominated_node if pod.nominated_node in refusals.statuses else ""
            left = await self._filter(pod, evaluation.feasible(), extenders, refusals)
            evaluation = self._cycle.repeat_evaluation(profile, pod_elsewhere, refused)
        elif nominated_path:
            evaluation = self._cycle.evaluate(profile, pod)
        else:
            evaluation = self._cycle.repeat_evaluation(profile, pod)
        if left:
            evaluation.restrict(frozenset(left))
        if not left or evaluation.feasible_count == 0:
            return await self._unschedulable(profile, pod, evaluation, refusals, extenders)
        choice = await self._choose(profile, pod, evaluation, extenders, refusals.has_node_objects)
        if self._cache.get(pod.uid) is not None:
            raise CycleAborted(error(IN_CACHE.format(pod.uid, pod.key)))
        return self._cycle.commit(profile, pod, choice, evaluation.feasible_count, evaluation.state)

    # -- Filter -----------------------------------------------------------------------------------

    async def _filter_nominated(
        self, pod: PodInfo, names: Sequence[str], extenders: Sequence[Extender], refusals: Refusals
    ) -> Sequence[str]:
        """Filter the nominated node. As in upstream, after a failure all nodes are tried."""
        try:
            return await self._filter(pod, names, extenders, refusals)
        except ExtenderError as cause:
            logger.info("the nominated node of pod %s cannot be evaluated: %s", pod.key, cause)
            return ()

    async def _filter(
        self, pod: PodInfo, names: Sequence[str], extenders: Sequence[Extender], refusals: Refusals
    ) -> Sequence[str]:
        """Call the extenders in order, each with the nodes left by the previous one."""
        shown = len(names)
        refusals.has_node_objects = False
        for extender in extenders:
            if not names:
                break
            if not extender.is_filter:
                continue
            try:
                outcome = await extender.filter(pod, self._nodes(names))
            except ExtenderError as cause:
                if not extender.is_ignorable:
                    raise
                logger.info("extender %s cannot filter for pod %s and is skipped: %s", extender.name, pod.key, cause)
                continue
            refusals.statuses.update((node, unschedulable(text)) for node, text in outcome.failed.items())
            refusals.statuses.update(
                (node, unresolvable(text)) for node, text in outcome.failed_and_unresolvable.items()
            )
            names = outcome.nodes
            refusals.has_node_objects |= outcome.has_node_objects
        refusals.took_some = len(names) != shown
        return names

    def _nodes(self, names: Sequence[str]) -> list[api.Node]:
        """Return the nodes with these names, except those deleted since."""
        table = self._cache.nodes
        rows = (table.row_of(name) for name in names)
        nodes = (table.node(row) for row in rows if row is not None)
        return [node for node in nodes if node is not None]

    async def _unschedulable(
        self,
        profile: Profile,
        pod: PodInfo,
        evaluation: Evaluation,
        refusals: Refusals,
        extenders: Sequence[Extender],
    ) -> Unschedulable:
        diagnosis = diagnose(evaluation, self._cache.nodes.node_count)
        diagnosis.statuses = _merged(diagnosis.statuses, refusals.statuses)
        if refusals.took_some:
            diagnosis.unschedulable_plugins |= {EXTENDER_PLUGIN}
        if not profile.post_filter:
            return Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), CLEARED)
        state = evaluation.deferred_state()
        outcome = await post_filter.run_with_extenders(profile, state, pod, diagnosis.statuses, extenders)
        return post_filtered(profile, pod, diagnosis, outcome)

    # -- Score ------------------------------------------------------------------------------------

    async def _choose(
        self,
        profile: Profile,
        pod: PodInfo,
        evaluation: Evaluation,
        extenders: Sequence[Extender],
        has_node_objects: bool,
    ) -> Choice:
        table = self._scores(profile, pod, evaluation, has_node_objects)
        if table is None:
            self._report(Selection(evaluation.feasible()))
            return evaluation.choose(self._cycle.rng)
        added = await self._priorities(pod, table.nodes, extenders)
        totals = [_wrapped(total + added.get(name, 0)) for name, total in zip(table.nodes, table.total, strict=True)]
        self._report(Selection(table.nodes, table, totals))
        best = ScoreTable(table.nodes, table.plugins, table.skipped, totals).best()
        chosen = best[self._cycle.rng.randrange(len(best))] if len(best) > 1 else best[0]
        return Choice(chosen, len(best))

    def _scores(
        self, profile: Profile, pod: PodInfo, evaluation: Evaluation, has_node_objects: bool
    ) -> ScoreTable | None:
        """Return the plugins' scores; nodes that an extender returned as objects have no pods."""
        if not has_node_objects or evaluation.feasible_count < 2:
            return evaluation.scores()
        table = self._cache.nodes
        rows = (table.row_of(name) for name in evaluation.feasible())
        nodes = [table.info(row) for row in rows if row is not None]
        return scalar.score_without_pods(profile, evaluation.scalar_state(), pod, nodes)

    def _report(self, selection: Selection) -> None:
        if self.on_selection is not None:
            self.on_selection(selection)

    async def _priorities(self, pod: PodInfo, names: Sequence[str], extenders: Sequence[Extender]) -> Mapping[str, int]:
        """Return the sum of priorities of all extenders, called concurrently; failures are
        ignored."""
        nodes = self._nodes(names)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_priorities_of(extender, pod, nodes))
                for extender in extenders
                if extender.is_prioritizer
            ]
        added: dict[str, int] = {}
        for task in tasks:
            for name, score in task.result().items():
                added[name] = added.get(name, 0) + score
        return added


async def _priorities_of(extender: Extender, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
    try:
        priorities = await extender.prioritize(pod, nodes)
    except ExtenderError as cause:
        logger.info("extender %s cannot prioritize for pod %s: %s", extender.name, pod.key, cause)
        return {}
    return {name: _wrapped(priority * extender.weight * _SCALE) for name, priority in priorities.items()}


def _wrapped(score: int) -> int:
    """Return the score wrapped to 64 bits, which can overflow upstream with scores from
    extenders."""
    return (score + 2**63) % 2**64 - 2**63


def _merged(statuses: NodeStatuses, refused: Mapping[str, Status]) -> NodeStatuses:
    """Return the plugins' statuses, replaced by those of extenders as in upstream."""
    groups = {status: [name for name in names if name not in refused] for status, names in statuses.groups.items()}
    for name, status in refused.items():
        groups.setdefault(status, []).append(name)
    return NodeStatuses({status: names for status, names in groups.items() if names}, statuses.absent)


def _without_nomination(pod: PodInfo, shapes: PodShapes) -> PodInfo:
    status = msgspec.structs.replace(pod.pod.status, nominated_node_name="")
    return shapes.info(msgspec.structs.replace(pod.pod, status=status))
