# SPDX-License-Identifier: Apache-2.0
"""The scheduling cycle of a pod in which extenders have a say.

    PreFilter, Filter ─► extenders filter ─► Score ─► extenders prioritize ─► select ─► assume, Reserve, Permit

The phases are those of `schedule_one`; the extenders are awaited between them. Meanwhile the cluster may change, so what
follows an answer is evaluated anew, on the nodes that the extenders left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

import msgspec

from steersman import api
from steersman.cycle import post_filter
from steersman.cycle.decision import Decision, Failed, Postponed, Unschedulable
from steersman.cycle.diagnosis import diagnose
from steersman.cycle.schedule_one import Observer, SchedulingCycle, post_filtered
from steersman.engine.evaluation import Choice, Evaluation, NodeStatuses, ScoreTable
from steersman.framework.extender import EXTENDER_PLUGIN, MAX_EXTENDER_PRIORITY, Extender, ExtenderError
from steersman.framework.plugin import MAX_NODE_SCORE
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.ports import CLEARED
from steersman.framework.postponement import CyclePostponed
from steersman.framework.status import Status, error, unresolvable, unschedulable
from steersman.runtime.faults import CycleAborted
from steersman.runtime.profile import Profile
from steersman.state.cache import Cache

logger = logging.getLogger(__name__)

#: Somebody else has bound the pod meanwhile.
IN_CACHE = "pod {}({}) is in the cache, so can't be assumed"
_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


class Refusals(msgspec.Struct):
    """The nodes that extenders took away."""

    #: By node; a node that was taken away without a word is not here.
    statuses: dict[str, Status] = msgspec.field(default_factory=dict)
    took_some: bool = False


class ExtenderCycle:
    """Wraps a `SchedulingCycle`. One pod at a time, as there."""

    def __init__(self, cycle: SchedulingCycle, cache: Cache, extenders: Sequence[Extender]) -> None:
        self._cycle = cycle
        self._cache = cache
        self._extenders = extenders

    def interested_in(self, pod: PodInfo) -> list[Extender]:
        return [extender for extender in self._extenders if extender.is_interested(pod)]

    async def schedule_one(
        self, pod: PodInfo, extenders: Sequence[Extender], observer: Observer | None = None
    ) -> Decision:
        """`extenders`: those that are interested in the pod."""
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
        left = await self._filter(pod, evaluation.feasible(), extenders, refusals)
        if nominated_path and not left:
            # The nominated node was looked at alone; the others have their chance now.
            pod_elsewhere = _without_nomination(pod, self._cache.shapes)
            feasible = self._cycle.evaluate(profile, pod_elsewhere).feasible()
            refused = pod.nominated_node if pod.nominated_node in refusals.statuses else ""
            left = await self._filter(pod, feasible, extenders, refusals)
            evaluation = self._cycle.evaluate_again(profile, pod_elsewhere, refused)
        elif nominated_path:
            evaluation = self._cycle.evaluate(profile, pod)
        else:
            evaluation = self._cycle.evaluate_again(profile, pod)
        if left:
            evaluation.restrict(frozenset(left))
        if not left or evaluation.feasible_count == 0:
            return await self._unschedulable(profile, pod, evaluation, refusals, extenders)
        choice = await self._choose(pod, evaluation, extenders)
        if self._cache.get(pod.uid) is not None:
            raise CycleAborted(error(IN_CACHE.format(pod.uid, pod.key)))
        return self._cycle.commit(profile, pod, choice, evaluation.feasible_count, evaluation.state)

    # -- Filter ------------------------------------------------------------------------------------------------------

    async def _filter(
        self, pod: PodInfo, names: Sequence[str], extenders: Sequence[Extender], refusals: Refusals
    ) -> Sequence[str]:
        """One after the other, each on what the one before left."""
        shown = len(names)
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
                logger.info("extender %s cannot filter for pod %s and is left out: %s", extender.name, pod.key, cause)
                continue
            refusals.statuses.update((node, unschedulable(text)) for node, text in outcome.failed.items())
            refusals.statuses.update(
                (node, unresolvable(text)) for node, text in outcome.failed_and_unresolvable.items()
            )
            names = outcome.nodes
        refusals.took_some |= len(names) != shown
        return names

    def _nodes(self, names: Sequence[str]) -> list[api.Node]:
        """Nodes that have gone meanwhile are left out."""
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

    # -- Score -------------------------------------------------------------------------------------------------------

    async def _choose(self, pod: PodInfo, evaluation: Evaluation, extenders: Sequence[Extender]) -> Choice:
        table = evaluation.scores()
        if table is None:
            return evaluation.choose(self._cycle.rng)
        added = await self._priorities(pod, table.nodes, extenders)
        totals = [_wrapped(total + added.get(name, 0)) for name, total in zip(table.nodes, table.total, strict=True)]
        best = ScoreTable(table.nodes, table.plugins, table.skipped, totals).best()
        chosen = best[self._cycle.rng.randrange(len(best))] if len(best) > 1 else best[0]
        return Choice(chosen, len(best))

    async def _priorities(self, pod: PodInfo, names: Sequence[str], extenders: Sequence[Extender]) -> Mapping[str, int]:
        """All at once; what fails does not count."""
        nodes = self._nodes(names)
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(_priorities_of(extender, pod, nodes))
                for extender in extenders
                if extender.is_prioritizer
            ]
        added: dict[str, int] = {}
        for task in asked:
            for name, score in task.result().items():
                added[name] = added.get(name, 0) + score
        return added


async def _priorities_of(extender: Extender, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
    try:
        priorities = await extender.prioritize(pod, nodes)
    except ExtenderError as cause:
        logger.info("extender %s gives no priorities for pod %s: %s", extender.name, pod.key, cause)
        return {}
    return {name: _wrapped(priority * extender.weight * _SCALE) for name, priority in priorities.items()}


def _wrapped(score: int) -> int:
    """The score as a 64-bit integer that overflows silently, which scores from outside can do upstream."""
    return (score + 2**63) % 2**64 - 2**63


def _merged(statuses: NodeStatuses, refused: Mapping[str, Status]) -> NodeStatuses:
    """The plugins' statuses, with those that extenders gave to nodes which no plugin rejected."""
    groups = {status: list(names) for status, names in statuses.groups.items()}
    rejected = {name for names in groups.values() for name in names}
    for name, status in refused.items():
        if name not in rejected:
            groups.setdefault(status, []).append(name)
    return NodeStatuses(groups, statuses.absent)


def _without_nomination(pod: PodInfo, shapes: PodShapes) -> PodInfo:
    status = msgspec.structs.replace(pod.pod.status, nominated_node_name="")
    return shapes.info(msgspec.structs.replace(pod.pod, status=status))
