# SPDX-License-Identifier: Apache-2.0
"""Calls of the extension points of pod groups: PlacementGenerate, PlacementFeasible, PlacementScore
and PodGroupPostFilter.

A status of None is success. Exceptions of plugins become errors with upstream's messages.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steersman.base import FirstByName, Rng
from steersman.framework import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    Code,
    CycleState,
    Placement,
    PlacementProgress,
    PlacementScore,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupPostFilterResult,
    ScheduleGroup,
    Status,
    error,
    unschedulable,
)
from steersman.scheduler.cycle.group_decision import PlacementChoice, PlacementPluginScores
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, CycleAborted, fault
from steersman.scheduler.runtime.profile import PlacementScoreCall, Profile, RawCall

NO_PLACEMENTS = "no feasible placements found"
UNKNOWN_NODE = "node {} in placement is not present in snapshot"
OUT_OF_RANGE = (
    'applying score defaultWeights on PlacementScore plugins: plugin "{}" returns an invalid score {}, it should in the '
    "range of [{}, {}] after normalizing"
)
POST_FILTER_FAILED = 'error in "{}" PodGroupPostFilter plugins: {}'

GroupAnswer = tuple[PodGroupPostFilterResult | None, Status]


# -- PlacementGenerate ----------------------------------------------------------------------------


def generate_placements(
    profile: Profile, state: CycleState, group: PodGroupInfo, parent: Placement
) -> Sequence[Placement] | Status:
    """Return the placements of the first plugin, ordered by name, or why there are none. Without a
    plugin the parent is the only placement."""
    if not profile.placement_generate:
        return (parent,)
    call = profile.placement_generate[0]
    try:
        answer = call.run(state, group, parent)
    except PLUGIN_FAULTS as cause:
        return fault("PlacementGenerate", call.name, cause)
    if isinstance(answer, Status):
        return answer.with_plugin(call.name)
    placements = list(answer)
    if not all(isinstance(placement, Placement) for placement in placements):
        return fault("PlacementGenerate", call.name, f"returned {answer!r}, expected Placements or a Status")
    if not placements:
        return unschedulable(NO_PLACEMENTS).with_plugin(call.name)
    return sorted(placements, key=lambda placement: placement.name)


# -- PlacementFeasible ----------------------------------------------------------------------------


def placement_feasible(
    profile: Profile, state: CycleState, group: PodGroupInfo, progress: PlacementProgress
) -> Status | None:
    """Return the first rejection or error of the plugins, else the last Wait, else None."""
    waits: Status | None = None
    for call in profile.placement_feasible:
        status = call.run(state, group, progress)
        if status is None:
            continue
        if status.code is Code.WAIT:
            waits = status.with_plugin(call.name)
        elif status.code is Code.UNSCHEDULABLE:
            return status.with_plugin(call.name)
        elif status.code is Code.ERROR:
            return error(f"running PlacementFeasible plugin: {status.message}").with_plugin(call.name)
        else:
            return error(f"unexpected status from PlacementFeasible plugin: {status.code.label}").with_plugin(call.name)
    return waits


# -- PlacementScore -------------------------------------------------------------------------------


class TriedPlacement(msgspec.Struct, frozen=True):
    """A placement in which a group can be scheduled."""

    assignments: PodGroupAssignments
    state: CycleState

    @property
    def name(self) -> str:
        assert self.assignments.placement is not None
        return self.assignments.placement.name


def choose_placement(
    profile: Profile, state: CycleState, group: PodGroupInfo, tried: Sequence[TriedPlacement], rng: Rng
) -> PlacementChoice | Status:
    """Score the placements and return the choice, or the error of a plugin."""
    try:
        raw = [[call.run(one.state, group, one.assignments) for one in tried] for call in profile.placement_score]
    except CycleAborted as abort:
        return abort.status
    plugins: list[PlacementPluginScores] = []
    for call, scores in zip(profile.placement_score, raw, strict=True):
        normalised = _normalised(call, state, group, tried, scores)
        if isinstance(normalised, Status):
            return normalised
        names = [one.name for one in tried]
        plugins.append(
            PlacementPluginScores(
                call.name,
                call.weight,
                dict(zip(names, scores, strict=True)),
                dict(zip(names, normalised, strict=True)),
            )
        )
    total = {one.name: sum(plugin.weight * plugin.normalised[one.name] for plugin in plugins) for one in tried}
    return PlacementChoice(group.key, _one_of_best(total, rng), plugins, total)


def _normalised(
    call: PlacementScoreCall,
    state: CycleState,
    group: PodGroupInfo,
    tried: Sequence[TriedPlacement],
    raw: Sequence[int],
) -> list[int] | Status:
    scores = [
        PlacementScore(one.assignments.placement, score)  # type: ignore[arg-type]
        for one, score in zip(tried, raw, strict=True)
    ]
    status = None if call.normalize is None else call.normalize(state, group, scores)
    if status is not None:
        return error(
            "running NormalizePlacementScore on PlacementScore plugins: "
            f'plugin "{call.name}" failed with: {status.message}'
        )
    for score in scores:
        if not MIN_NODE_SCORE <= score.score <= MAX_NODE_SCORE:
            return error(OUT_OF_RANGE.format(call.name, score.score, MIN_NODE_SCORE, MAX_NODE_SCORE))
    return [score.score for score in scores]


def _one_of_best(total: dict[str, int], rng: Rng) -> str:
    greatest = max(total.values())
    best = sorted(name for name, score in total.items() if score == greatest)
    is_drawn = len(best) > 1 and not isinstance(rng, FirstByName)
    return best[rng.randrange(len(best)) if is_drawn else 0]


# -- PodGroupPostFilter ---------------------------------------------------------------------------


def pod_group_post_filter(
    profile: Profile, state: CycleState, group: PodGroupInfo, schedule: ScheduleGroup
) -> GroupAnswer:
    """Return the result of the first plugin that succeeds or rejects finally, or the merged
    rejections of all."""
    reasons: list[str] = []
    rejector = ""
    for call in profile.pod_group_post_filter:
        result, status = _ask(call, state, group, schedule)
        if status.code is Code.SUCCESS:
            return result, status
        if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return result, status.with_plugin(call.name)
        if status.code is not Code.UNSCHEDULABLE:
            return None, error(POST_FILTER_FAILED.format(call.name, status.message)).with_plugin(call.name)
        reasons += status.reasons
        rejector = rejector or call.name
    return None, Status(Code.UNSCHEDULABLE, tuple(reasons), rejector)


def _ask(call: RawCall, state: CycleState, group: PodGroupInfo, schedule: ScheduleGroup) -> GroupAnswer:
    try:
        answer = call.run(state, group, schedule)
    except PLUGIN_FAULTS as cause:
        return None, fault("PodGroupPostFilter", call.name, cause)
    if isinstance(answer, Status):
        return None, answer
    if not isinstance(answer, tuple) or len(answer) != 2:
        expected = "a Status, or a PodGroupPostFilterResult (or None) and a Status"
        return None, fault("PodGroupPostFilter", call.name, f"returned {answer!r}, expected {expected}")
    result, status = answer
    return result, status or Status(Code.SUCCESS)
