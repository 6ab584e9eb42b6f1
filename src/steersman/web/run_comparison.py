# SPDX-License-Identifier: Apache-2.0
"""This run beside another one: where the last pods went in each, and the plugin that made the difference.

    this run's cluster ─► a second scheduler, pods put where this run put them         ─► why not where the other has them
                      └─► a third, with the other's configuration, as the other put them ─► why not where this run has them

Each scheduler is asked about a pod right before it is put on its node, so that it sees what was on the nodes then. A plugin
makes the difference if it objects to a node in one of the runs, or if it prefers the one node here and the other there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.clock import ManualClock
from steersman.cycle.decision import Scheduled
from steersman.embedded import Store
from steersman.engine.evaluation import Evaluation
from steersman.sim.driver import Driver
from steersman.web.trial import (
    ClusterMoment,
    ClusterNumbers,
    ComparedDecision,
    ConfigurationComparison,
    DifferenceReason,
    ScorePair,
    counted,
    numbers_of,
    unversioned,
)

BY_LOT: Final = "both nodes were as good as any: drawn by lot"
ELSEWHERE: Final = (
    "{} of these pods could not be put where the other run has them, so that nodes are less full than there"
)


class NodeView(NamedTuple):
    """A scheduler's verdict on one node for a pod. `objection`: the plugin and its words, None where the node fits."""

    is_known: bool
    objection: tuple[str, str] | None = None
    #: Weighted, by plugin.
    scores: Mapping[str, int] = {}


class PodView(NamedTuple):
    """The verdicts of one run's scheduler for a pod: on the node of this run, and on that of the other."""

    here: NodeView
    there: NodeView
    weights: Mapping[str, int]


class RunSide(NamedTuple):
    """The views of one run on the pods that are on different nodes, by pod, and numbers of the end."""

    views: Mapping[str, PodView]
    numbers: ClusterNumbers
    #: Pods that did not fit on the node that they have in that run.
    unplaced: int


def seen_again(
    moment: ClusterMoment, options: SchedulerOptions, here: Sequence[str], there: Sequence[str], *, is_other: bool
) -> Iterator[RunSide | None]:
    """One run again, pod by pod: None after every step, then what came of it. `here` and `there` are the nodes of the pods in
    this run and in the other; `is_other` puts pods where the other has them."""
    clock = ManualClock()
    store = Store(clock)
    driver = Driver(store, clock, 0, options)
    for obj in moment.objects:
        store.create(unversioned(obj))
        yield None
    driver.refresh_plugins_once()
    views, unplaced = dict[str, PodView](), 0
    for past, one, other in zip(moment.decisions, here, there, strict=True):
        store.create(unversioned(past.pod))
        if one != other:
            views[api.key(past.pod)] = _view(driver.scheduler, one, other)
        unplaced += not _place(driver.scheduler, store, past.pod, other if is_other else one)
        yield None
    numbers = numbers_of(driver.scheduler)
    driver.close()
    yield RunSide(views, numbers, unplaced)


def _view(scheduler: Scheduler, here: str, there: str) -> PodView:
    preview = scheduler.preview()
    evaluation = None if preview is None else preview.evaluation
    if evaluation is None:
        refused = "", "" if preview is None else preview.message
        return PodView(NodeView(bool(here), refused), NodeView(bool(there), refused), {})
    table = evaluation.scores()
    weights = {} if table is None else {column.name: column.weight for column in table.plugins}
    return PodView(_node_view(scheduler, evaluation, here), _node_view(scheduler, evaluation, there), weights)


def _node_view(scheduler: Scheduler, evaluation: Evaluation, node: str) -> NodeView:
    if not node or scheduler.cache.nodes.row_of(node) is None:
        return NodeView(False)
    if node not in evaluation.feasible():
        status = evaluation.statuses().of(node)
        return NodeView(True, ("", "") if status is None else (status.plugin, ", ".join(status.reasons)))
    table = evaluation.scores()
    if table is None:
        return NodeView(True)
    place = table.nodes.index(node)
    return NodeView(
        True, None, {column.name: column.weight * int(column.normalised[place]) for column in table.plugins}
    )


def _place(scheduler: Scheduler, store: Store, pod: api.Pod, node: str) -> bool:
    """Puts the next pod on the node, or takes it away again; false where it does not fit there."""
    if node:
        preview = scheduler.preview()
        if preview is not None and preview.evaluation is not None and node in preview.evaluation.feasible():
            return isinstance(scheduler.schedule_one((pod.metadata.uid, node)), Scheduled)
    store.delete(type(pod), api.key(pod))
    return not node


def compared_runs(
    moment: ClusterMoment, here: Sequence[str], there: Sequence[str], sides: tuple[RunSide, RunSide]
) -> ConfigurationComparison:
    """`sides` are this run and the other one."""
    decisions = []
    for past, a, b in zip(moment.decisions, here, there, strict=True):
        key = api.key(past.pod)
        reason = DifferenceReason() if a == b else _reason(a, b, sides[0].views[key], sides[1].views[key])
        decisions.append(ComparedDecision(key, past.at, a, b, a == b, *reason))
    notes = [ELSEWHERE.format(sides[1].unplaced)] if sides[1].unplaced else []
    return counted(decisions, sides[0].numbers, sides[1].numbers, notes)


def _reason(a: str, b: str, this_run: PodView, other_run: PodView) -> DifferenceReason:
    """`a` and `b` are the nodes of the pod in this run and in the other, "" where it has none."""
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
    """The plugin whose preference differs most between the runs; a tie leaves the choice to the lot."""
    leads = {
        name: (_lead(this_run, name), _lead(other_run, name)) for name in {**this_run.weights, **other_run.weights}
    }
    pairs = tuple(
        ScorePair(name, weight, other_run.here.scores.get(name), other_run.there.scores.get(name))
        for name, weight in other_run.weights.items()
    )
    plugin = max(leads, key=lambda name: leads[name][0] - leads[name][1], default="")
    if not plugin or leads[plugin][0] <= leads[plugin][1]:
        return DifferenceReason(why=BY_LOT, scores=pairs)
    here, there = leads[plugin]
    why = f"it puts {a} {_ahead(here)} in this run, and {_ahead(there)} in the other, than {b}"
    return DifferenceReason(plugin, why, pairs)


def _lead(view: PodView, plugin: str) -> int:
    """How much more the plugin gives to the node of this run."""
    return view.here.scores.get(plugin, 0) - view.there.scores.get(plugin, 0)


def _ahead(points: int) -> str:
    return "as high" if points == 0 else f"{abs(points)} {'higher' if points > 0 else 'lower'}"
