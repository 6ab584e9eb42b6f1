# SPDX-License-Identifier: Apache-2.0
"""Comparison of this run with another one: placements, and the plugins that make the difference.

    this run's cluster ─► a second scheduler, with this run's placements             ─► why not the other run's nodes
                      └─► a third, with the other's configuration and its placements ─► why not this run's nodes

Each scheduler evaluates a pod right before its placement, and so on the cluster of that time. A
plugin makes the difference if it rejects a node in one run or prefers different nodes in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.sandbox.web.second_scheduler import second_scheduler
from steersman.sandbox.web.trial import (
    ClusterMoment,
    ClusterNumbers,
    ComparedDecision,
    ConfigurationComparison,
    DifferenceReason,
    ScorePair,
    counted,
    numbers_of,
)
from steersman.scheduler.assembly import Preview, SchedulerOptions
from steersman.scheduler.cycle import Scheduled
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.what_if import WhatIfScheduler

RANDOM_TIE: Final = "a random choice among nodes with the same score"
ELSEWHERE: Final = (
    "{} of these pods could not be put where the other run has them, so that nodes are less full than there"
)


class NodeView(NamedTuple):
    """A scheduler's verdict on one node for a pod. `objection` is the plugin and its reasons; None
    if the node fits."""

    is_known: bool
    objection: tuple[str, str] | None = None
    #: Weighted scores by plugin.
    scores: Mapping[str, int] = {}


class PodView(NamedTuple):
    """Verdicts of one run's scheduler for a pod, on its node in this run and in the other one."""

    here: NodeView
    there: NodeView
    weights: Mapping[str, int]


class RunSide(NamedTuple):
    """Verdicts of one run on differently placed pods, by pod, and numbers at its end."""

    views: Mapping[str, PodView]
    numbers: ClusterNumbers
    #: Number of pods that did not fit on their node of that run.
    unplaced: int


def repeat_run(
    moment: ClusterMoment, options: SchedulerOptions, here: Sequence[str], there: Sequence[str], *, is_other: bool
) -> Iterator[RunSide | None]:
    """Repeat one run pod by pod; yield None after every step, then the outcome.

    `here` and `there` are the nodes of the pods in this run and in the other; with `is_other`, pods
    are placed as in the other run.
    """
    what_if = yield from second_scheduler(moment.objects, options)
    views, unplaced = dict[str, PodView](), 0
    for past, one, other in zip(moment.decisions, here, there, strict=True):
        what_if.change(past.pod)
        preview = what_if.preview(what_if.info(past.pod))
        if one != other:
            views[api.key(past.pod)] = _view(what_if, preview, one, other)
        unplaced += not _place(what_if, preview, other if is_other else one)
        yield None
    yield RunSide(views, numbers_of(what_if.scheduler), unplaced)


def _view(what_if: WhatIfScheduler, preview: Preview, here: str, there: str) -> PodView:
    evaluation = preview.evaluation
    if evaluation is None:
        refused = "", preview.message
        return PodView(NodeView(bool(here), refused), NodeView(bool(there), refused), {})
    table = evaluation.scores()
    weights = {} if table is None else {column.name: column.weight for column in table.plugins}
    return PodView(_node_view(what_if, evaluation, here), _node_view(what_if, evaluation, there), weights)


def _node_view(what_if: WhatIfScheduler, evaluation: Evaluation, node: str) -> NodeView:
    if not node or what_if.cache.nodes.row_of(node) is None:
        return NodeView(False)
    if node not in evaluation.feasible():
        status = evaluation.statuses().status_of(node)
        return NodeView(True, ("", "") if status is None else (status.plugin, ", ".join(status.reasons)))
    table = evaluation.scores()
    return NodeView(True) if table is None else NodeView(True, None, table.weighted(node))


def _place(what_if: WhatIfScheduler, preview: Preview, node: str) -> bool:
    """Put the pod on the node, or delete it; False if it does not fit there."""
    if node and preview.evaluation is not None:
        decision = what_if.decide(preview.pod, nodes=(node,), post_filter=False)
        if isinstance(decision, Scheduled):
            return True
    what_if.delete(preview.pod.pod)
    return not node


def compared_runs(
    moment: ClusterMoment, here: Sequence[str], there: Sequence[str], sides: tuple[RunSide, RunSide]
) -> ConfigurationComparison:
    """Return the comparison; `sides` are this run and the other one."""
    decisions = []
    for past, a, b in zip(moment.decisions, here, there, strict=True):
        key = api.key(past.pod)
        reason = DifferenceReason() if a == b else _reason(a, b, sides[0].views[key], sides[1].views[key])
        decisions.append(ComparedDecision(key, past.at, a, b, a == b, *reason))
    notes = [ELSEWHERE.format(sides[1].unplaced)] if sides[1].unplaced else []
    return counted(decisions, sides[0].numbers, sides[1].numbers, notes)


def _reason(a: str, b: str, this_run: PodView, other_run: PodView) -> DifferenceReason:
    """Return the reason of a difference; `a` and `b` are the nodes in this run and in the other, ""
    for none."""
    for node, view, run in ((a, other_run.here, "the other run"), (b, this_run.there, "this run")):
        if node and not view.is_known:
            return DifferenceReason(why=f"{node} is not among the nodes of this cluster")
        if node and view.objection is not None:
            plugin, words = view.objection
            return DifferenceReason(plugin, f"in {run} {node} did not fit: {words}")
    if not (a and b):
        return DifferenceReason(why=f"{a or b} would have taken it in both runs")
    return _preference(a, b, this_run, other_run)


def _preference(a: str, b: str, this_run: PodView, other_run: PodView) -> DifferenceReason:
    """Return the plugin whose preference differs most between the runs; with a tie, the choice was
    random."""
    leads = {
        name: (_lead(this_run, name), _lead(other_run, name)) for name in {**this_run.weights, **other_run.weights}
    }
    pairs = tuple(
        ScorePair(name, weight, other_run.here.scores.get(name), other_run.there.scores.get(name))
        for name, weight in other_run.weights.items()
    )
    plugin = max(leads, key=lambda name: leads[name][0] - leads[name][1], default="")
    if not plugin or leads[plugin][0] <= leads[plugin][1]:
        return DifferenceReason(why=RANDOM_TIE, scores=pairs)
    here, there = leads[plugin]
    why = f"it puts {a} {_ahead(here)} in this run, and {_ahead(there)} in the other, than {b}"
    return DifferenceReason(plugin, why, pairs)


def _lead(view: PodView, plugin: str) -> int:
    """Return the plugin's score of this run's node minus that of the other node."""
    return view.here.scores.get(plugin, 0) - view.there.scores.get(plugin, 0)


def _ahead(points: int) -> str:
    return "as high" if points == 0 else f"{abs(points)} {'higher' if points > 0 else 'lower'}"
