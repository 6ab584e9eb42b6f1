# SPDX-License-Identifier: Apache-2.0
"""Repeats the last decisions under another configuration, on a second scheduler that shares the
frozen objects.

    scheduling thread: objects, pods and decisions at one time ─► a second scheduler, fed in slices ─► pods decided again

The pods of the last decisions are taken off their nodes and decided in the same order. A pod stays
if its node is as good as any other, so that random choice makes no difference.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from steersman import api
from steersman.kube.observe import DecisionLog
from steersman.sandbox.web.answers import WebPart, seconds_of
from steersman.sandbox.web.pod_places import BOUND, place_of
from steersman.sandbox.web.second_scheduler import second_scheduler
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.scheduler.cycle import Scheduled, Unschedulable
from steersman.scheduler.diagnosis import Outcome
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.what_if import WhatIfScheduler

MAX_DECISIONS: Final = 1000
DEFAULT_DECISIONS: Final = 100
GONE: Final = "{} of the last decisions are left out: their pods are gone, or have moved since"
_replace = msgspec.structs.replace


class ScorePair(WebPart, frozen=True):
    """A plugin's weighted scores of both nodes on the second side; None if not scored."""

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
    """A decision to repeat: the pod without its node, and the node that it got."""

    pod: api.Pod
    at: float
    node: str


class ClusterNumbers(NamedTuple):
    """Number of nodes with pods, and the standard deviation of the requested share over nodes by
    resource, in percent."""

    nodes_in_use: int
    deviations: dict[str, float]


class ClusterMoment(NamedTuple):
    """The cluster at one time, as input for a second scheduler."""

    objects: list[api.Object]
    decisions: list[PastDecision]
    left_out: int
    numbers: ClusterNumbers


class DifferenceReason(NamedTuple):
    """Why a pod goes to another node than expected: the plugin, a sentence, and scores of both
    nodes."""

    plugin: str = ""
    why: str = ""
    scores: tuple[ScorePair, ...] = ()


class TrialSide(NamedTuple):
    """Outcome of one side: a node per decision, why it differs from the preferred one, and numbers
    of the end."""

    nodes: list[str]
    reasons: list[DifferenceReason]
    numbers: ClusterNumbers


def moment_of(scheduler: Scheduler, decisions: DecisionLog, last: int, waiting: Container[str] = ()) -> ClusterMoment:
    """Collect at most `last` placed pods and the objects of the cluster, which are frozen and
    shared. Call it in the scheduling thread. `waiting` pods without a node come after the placed
    ones."""
    past, left_out = _placed(scheduler, decisions, last)
    objects = list(scheduler.known_objects())
    objects.extend(pod for key, pod in scheduler.pods.items() if key not in past and pod.spec.node_name)
    now = scheduler.clock.now()
    for key, pod in scheduler.pods.items():
        if key in waiting and not pod.spec.node_name and key not in past:
            past[key] = PastDecision(_without_node(pod), now, "")
    return ClusterMoment(objects, list(past.values()), left_out, numbers_of(scheduler))


def _placed(scheduler: Scheduler, decisions: DecisionLog, last: int) -> tuple[dict[str, PastDecision], int]:
    """Return the last placed pods by key, oldest first, and the number of outdated decisions. Pods
    without a known decision come first."""
    found: dict[str, PastDecision] = {}
    left_out = 0
    for record in decisions.recent(len(decisions)):
        if len(found) >= last:
            break
        if record.outcome is not Outcome.SCHEDULED or record.pod in found:
            continue
        pod = scheduler.pods.get(record.pod)
        if pod is None or pod.metadata.uid != record.uid or pod.spec.node_name != record.node:
            left_out += 1
            continue
        found[record.pod] = PastDecision(_without_node(pod), record.at, record.node)
    others = [
        PastDecision(_without_node(pod), _placed_at(pod), pod.spec.node_name)
        for key, pod in scheduler.pods.items()
        if key not in found and place_of(scheduler, key, pod) == BOUND and pod.scheduler_name in scheduler.profiles
    ]
    others.sort(key=lambda one: -one.at)
    for one in others[: last - len(found)]:
        found[api.key(one.pod)] = one
    oldest_first = list(reversed(found.items()))
    return dict(sorted(oldest_first, key=lambda item: item[1].at)), left_out


def _placed_at(pod: api.Pod) -> float:
    """Return when the pod got its node, from its condition; else when it was created."""
    times = (one.last_transition_time for one in pod.status.conditions if one.type == api.POD_SCHEDULED)
    return seconds_of(next(times, None) or pod.metadata.creation_timestamp)


def _without_node(pod: api.Pod) -> api.Pod:
    status = _replace(pod.status, nominated_node_name="", conditions=(), phase="Pending")
    return _replace(pod, spec=_replace(pod.spec, node_name=""), status=status)


def decided_again(
    moment: ClusterMoment, options: SchedulerOptions, preferred: Sequence[str]
) -> Iterator[TrialSide | None]:
    """Yield None after every step, so that the caller can do other work, then the outcome."""
    what_if = yield from second_scheduler(moment.objects, options)
    nodes, reasons = list[str](), list[DifferenceReason]()
    for past, wanted in zip(moment.decisions, preferred, strict=True):
        node, reason = _decide(what_if, past.pod, wanted)
        nodes.append(node)
        reasons.append(reason)
        yield None
    yield TrialSide(nodes, reasons, numbers_of(what_if.scheduler))


def _decide(what_if: WhatIfScheduler, pod: api.Pod, wanted: str) -> tuple[str, DifferenceReason]:
    """Return the node of the pod, "" for none, and why it is not the preferred one."""
    what_if.change(pod)
    preview = what_if.preview(what_if.info(pod))
    if preview.evaluation is None:
        return "", DifferenceReason(why=preview.message)
    best = preview.evaluation.best()
    chosen = wanted if wanted in best else next(iter(best), "")
    reason = DifferenceReason() if chosen == wanted else _reason(preview.evaluation, wanted, chosen)
    decision = what_if.decide(preview.pod, nodes=(chosen,) if chosen else None)
    if isinstance(decision, Unschedulable) and decision.nomination is not None:
        what_if.nominate(pod, decision.nomination.node)
    return (decision.node if isinstance(decision, Scheduled) else ""), reason


def _reason(evaluation: Evaluation, wanted: str, chosen: str) -> DifferenceReason:
    """Return the plugin with the largest preference for the chosen node, or that rejects the
    preferred one."""
    if not wanted:
        return DifferenceReason(why=f"fits on {chosen}" if chosen else "")
    if wanted not in evaluation.feasible():
        status = evaluation.statuses().status_of(wanted)
        if status is None:
            return DifferenceReason(why=f"{wanted} is gone")
        return DifferenceReason(status.plugin, f"{wanted} does not fit: {', '.join(status.reasons)}")
    table = evaluation.scores()
    if table is None:
        return DifferenceReason()
    theirs, ours = table.weighted(wanted), table.weighted(chosen)
    pairs = tuple(ScorePair(one.name, one.weight, theirs[one.name], ours[one.name]) for one in table.plugins)
    gains = {name: ours[name] - theirs[name] for name in ours}
    plugin = max(gains, key=lambda name: gains[name])
    why = f"{chosen} is ahead by {sum(gains.values())}; {plugin} gives it {gains[plugin]} more"
    return DifferenceReason(plugin, why, pairs)


def numbers_of(scheduler: Scheduler) -> ClusterNumbers:
    """Return figures about the utilisation of a scheduler's nodes."""
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
    """Compare one side, real or a trial, with the second one; `first` are its nodes, `numbers` the
    figures at its end."""
    decisions = []
    for past, a, b, reason in zip(moment.decisions, first, second.nodes, second.reasons, strict=True):
        parts = DifferenceReason() if a == b else reason
        decisions.append(ComparedDecision(api.key(past.pod), past.at, a, b, a == b, *parts))
    return counted(decisions, numbers, second.numbers, [GONE.format(moment.left_out)] if moment.left_out else [])


def counted(
    decisions: list[ComparedDecision], first: ClusterNumbers, second: ClusterNumbers, notes: list[str]
) -> ConfigurationComparison:
    """Return the decisions of two sides with the number of differences, and the numbers of both
    ends."""
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
