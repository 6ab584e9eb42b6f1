# SPDX-License-Identifier: Apache-2.0
"""The last decisions again under another configuration: on a scheduler of its own, with copies of references to what there is.

    loop that schedules: objects, pods and decisions at one moment ─► a second scheduler, fed in slices ─► pods decided again

The pods of the last decisions are taken off their nodes and decided in the same order. Where the node that a pod had is as good
as any other, it stays there: chance makes no differences.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from steersman import api
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.clock import ManualClock
from steersman.cycle.decision import Scheduled
from steersman.embedded import Store
from steersman.engine.evaluation import Evaluation
from steersman.explain import Outcome
from steersman.observe import DecisionLog
from steersman.sim.driver import Driver
from steersman.web.answers import WebPart

MOST_DECISIONS: Final = 1000
FEW_DECISIONS: Final = 100
GONE: Final = "{} of the last decisions are left out: their pods are gone, or have moved since"
_replace = msgspec.structs.replace


class ScorePair(WebPart, frozen=True):
    """The weighted scores that a plugin gives both nodes, as the second side sees them; None: the node is not scored."""

    plugin: str
    weight: int
    a: int | None
    b: int | None


class ComparedDecision(WebPart, frozen=True, omit_defaults=True):
    pod: str
    at: float
    a: str = msgspec.field()
    b: str = msgspec.field()
    same: bool = msgspec.field()
    plugin: str = ""
    why: str = ""
    scores: tuple[ScorePair, ...] = ()


class SummaryLine(WebPart, frozen=True, omit_defaults=True):
    label: str
    a: float
    b: float = msgspec.field()
    unit: str = ""


class ConfigurationComparison(WebPart, frozen=True):
    """Decisions of two sides on the same pods, in order."""

    pods: int
    moved: int
    only_a: int
    only_b: int
    decisions: list[ComparedDecision]
    summary: list[SummaryLine]
    notes: list[str]


class PastDecision(NamedTuple):
    """A decision to be made again: the pod without its node, and the node that it got."""

    pod: api.Pod
    at: float
    node: str


class ClusterNumbers(NamedTuple):
    """Nodes that have pods, and by resource the standard deviation of the requested share over nodes, in percent."""

    nodes_in_use: int
    deviations: dict[str, float]


class ClusterMoment(NamedTuple):
    """Everything that a second scheduler is told, at one moment."""

    objects: list[api.Object]
    decisions: list[PastDecision]
    left_out: int
    numbers: ClusterNumbers


class DifferenceReason(NamedTuple):
    """Why a pod does not go where it was expected: the plugin, a sentence, and scores of both nodes."""

    plugin: str = ""
    why: str = ""
    scores: tuple[ScorePair, ...] = ()


class TrialSide(NamedTuple):
    """The outcome of one side: a node per decision, why it differs from what was preferred, and numbers of the end."""

    nodes: list[str]
    reasons: list[DifferenceReason]
    numbers: ClusterNumbers


def moment_of(scheduler: Scheduler, decisions: DecisionLog, last: int, waiting: Container[str] = ()) -> ClusterMoment:
    """In the loop that schedules; everything is frozen and shared. Those of the named pods that wait come after the decisions,
    without a node."""
    past: dict[str, PastDecision] = {}
    left_out = 0
    for record in reversed(decisions.recent(last)):
        if record.outcome is not Outcome.SCHEDULED:
            continue
        pod = scheduler.pods.get(record.pod)
        if pod is None or pod.metadata.uid != record.uid or pod.spec.node_name != record.node:
            left_out += 1
            continue
        past[record.pod] = PastDecision(_without_node(pod), record.at, record.node)
    table = scheduler.cache.nodes
    objects: list[api.Object] = [table.node(row) for row in table.live_rows()]
    for kind in scheduler.known_kinds:
        if kind not in (api.Node, api.Pod):
            objects.extend(scheduler.objects.list(kind))
    objects.extend(pod for key, pod in scheduler.pods.items() if key not in past and pod.spec.node_name)
    now = scheduler.clock.now()
    for key, pod in scheduler.pods.items():
        if key in waiting and not pod.spec.node_name and key not in past:
            past[key] = PastDecision(_without_node(pod), now, "")
    return ClusterMoment(objects, list(past.values()), left_out, numbers_of(scheduler))


def _without_node(pod: api.Pod) -> api.Pod:
    status = _replace(pod.status, nominated_node_name="", conditions=(), phase="Pending")
    return _replace(pod, spec=_replace(pod.spec, node_name=""), status=status)


def decided_again(
    moment: ClusterMoment, options: SchedulerOptions, preferred: Sequence[str]
) -> Iterator[TrialSide | None]:
    """None after every step, then what came of it: whoever asks may do something else in between."""
    clock = ManualClock()
    store = Store(clock)
    driver = Driver(store, clock, 0, options)
    for obj in moment.objects:
        store.create(unversioned(obj))
        yield None
    driver.refresh_plugins_once()
    nodes, reasons = list[str](), list[DifferenceReason]()
    for past, wanted in zip(moment.decisions, preferred, strict=True):
        store.create(unversioned(past.pod))
        node, reason = _decide(driver.scheduler, past.pod.metadata.uid, wanted)
        nodes.append(node)
        reasons.append(reason)
        yield None
    driver.close()
    yield TrialSide(nodes, reasons, numbers_of(driver.scheduler))


def unversioned(obj: api.Object) -> api.Object:
    """The object for another store, which numbers its versions itself."""
    return _replace(obj, metadata=_replace(obj.metadata, resource_version=""))


def _decide(scheduler: Scheduler, uid: str, wanted: str) -> tuple[str, DifferenceReason]:
    """The node of the next pod, "" without one, and why it is not the one that was wanted."""
    preview = scheduler.preview()
    if preview is None or preview.evaluation is None:
        scheduler.schedule_one()
        return "", DifferenceReason(why="" if preview is None else preview.message)
    evaluation = preview.evaluation
    best = _best(evaluation)
    if wanted in best:
        decision = scheduler.schedule_one((uid, wanted))
        return (decision.node if isinstance(decision, Scheduled) else ""), DifferenceReason()
    chosen = next(iter(best), "")
    reason = _reason(evaluation, wanted, chosen)
    decision = scheduler.schedule_one((uid, chosen) if chosen else None)
    return (decision.node if isinstance(decision, Scheduled) else ""), reason


def _best(evaluation: Evaluation) -> Sequence[str]:
    """The nodes that may be chosen, by name; none: none fits."""
    table = evaluation.scores()
    return evaluation.feasible() if table is None else table.best()


def _reason(evaluation: Evaluation, wanted: str, chosen: str) -> DifferenceReason:
    """The plugin that speaks most for the chosen node, or against the wanted one."""
    if not wanted:
        return DifferenceReason(why=f"fits on {chosen}" if chosen else "")
    if wanted not in evaluation.feasible():
        status = evaluation.statuses().of(wanted)
        if status is None:
            return DifferenceReason(why=f"{wanted} is gone")
        return DifferenceReason(status.plugin, f"{wanted} does not fit: {', '.join(status.reasons)}")
    table = evaluation.scores()
    if table is None:
        return DifferenceReason()
    places = {name: place for place, name in enumerate(table.nodes)}
    pairs = [
        ScorePair(
            one.name,
            one.weight,
            one.weight * int(one.normalised[places[wanted]]),
            one.weight * int(one.normalised[places[chosen]]),
        )
        for one in table.plugins
    ]
    gains = {pair.plugin: (pair.b or 0) - (pair.a or 0) for pair in pairs}
    plugin = max(gains, key=lambda name: gains[name])
    ahead = int(table.total[places[chosen]]) - int(table.total[places[wanted]])
    why = f"{chosen} is ahead by {ahead}; {plugin} gives it {gains[plugin]} more"
    return DifferenceReason(plugin, why, tuple(pairs))


def numbers_of(scheduler: Scheduler) -> ClusterNumbers:
    """How full the nodes of a scheduler are."""
    table = scheduler.cache.nodes
    alive = table.alive
    in_use = int((table.pod_count.values[alive] > 0).sum())
    deviations = {}
    for resource in ("cpu", "memory"):
        offered = table.allocatable(resource).values[alive]
        requested = table.requested(resource).values[alive][offered > 0]
        shares = requested / offered[offered > 0]
        deviations[resource] = round(100 * float(np.std(shares)), 2) if len(shares) else 0.0
    return ClusterNumbers(in_use, deviations)


def compared(
    moment: ClusterMoment, first: Sequence[str], numbers: ClusterNumbers, second: TrialSide
) -> ConfigurationComparison:
    """`first` are the nodes of one side, what really happened or a trial, with the numbers of its end."""
    decisions = []
    for past, a, b, reason in zip(moment.decisions, first, second.nodes, second.reasons, strict=True):
        parts = DifferenceReason() if a == b else reason
        decisions.append(ComparedDecision(api.key(past.pod), past.at, a, b, a == b, *parts))
    return counted(decisions, numbers, second.numbers, [GONE.format(moment.left_out)] if moment.left_out else [])


def counted(
    decisions: list[ComparedDecision], first: ClusterNumbers, second: ClusterNumbers, notes: list[str]
) -> ConfigurationComparison:
    """Decisions of two sides with how many of them differ, and the numbers of both ends."""
    return ConfigurationComparison(
        len(decisions),
        sum(bool(one.a and one.b and not one.same) for one in decisions),
        sum(bool(one.a and not one.b) for one in decisions),
        sum(bool(one.b and not one.a) for one in decisions),
        decisions,
        list(_summary(first, second)),
        notes,
    )


def _summary(first: ClusterNumbers, second: ClusterNumbers) -> Iterator[SummaryLine]:
    yield SummaryLine("nodes in use", float(first.nodes_in_use), float(second.nodes_in_use))
    for resource, deviation in second.deviations.items():
        label = f"standard deviation of requested {resource}"
        yield SummaryLine(label, first.deviations[resource], deviation, "%")
