# SPDX-License-Identifier: Apache-2.0
"""Follower of the watch: repeats every decision at the time at which it was made, and compares. Has
no I/O and no clock of its own.

    watch ─► held changes ─(after a moment)─► in order of decisions: review, assume ─► in order of arrival: apply ─► Comparison

A binding is reviewed twice: when it was decided (on the model, with the earlier decisions only) and
when it was seen (on the cluster that the watch showed). No explanation is needed if the pod's node
is a best one in the latter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.base import Clock
from steersman.framework import ApiReader, CycleAborted, PodInfo
from steersman.run.app import EffectiveSettings
from steersman.run.shadow.cluster_model import ClusterModel, WatchChange
from steersman.run.shadow.comparison import AGREEING, ComparisonClass, DecisionComparison, DecisionKind
from steersman.run.shadow.decision_review import DecisionFinding, DecisionReview
from steersman.run.shadow.held_changes import (
    BufferedChanges,
    failure_message,
    shows_binding,
    shows_expectation,
    shows_failure,
)
from steersman.run.shadow.placement import PlacementScores
from steersman.run.shadow.timing import MAX_REMEMBERED, MAX_SECONDS, counts, shifted

_replace = msgspec.structs.replace

#: Period after a relist of pods, whose changes happened at unknown times.
GAP_SECONDS: Final = 2.0
DECIDED_BEFORE: Final = "decided before it and bound after it: {}"
DECIDED_AFTER: Final = "decided after it and bound before it: {}"
_MAX_NAMED: Final = 8
_MAX_ARRIVALS: Final = 512
#: Maximum number of nodes in question for which past events are examined.
_MAX_NODES: Final = 16


class ReviewedBinding(msgspec.Struct, eq=False):
    """A binding whose decision has been reviewed, but whose arrival has not."""

    change: WatchChange
    info: PodInfo
    node: str
    #: Ordinal number of the decision.
    number: int
    #: None if the decision was already compared.
    found: DecisionFinding | None
    #: Number of bindings that had arrived before the review.
    arrivals: int
    snapshot: DecisionMoment | None


class DecisionMoment(msgspec.Struct, frozen=True):
    """The cluster at the time of a decision."""

    #: The pod before the decision.
    pod: api.Pod
    #: All other objects; pods have their nodes.
    objects: tuple[api.Object, ...]


#: Callback for every comparison, with a snapshot of disagreements if enabled.
OnCompared = Callable[[DecisionComparison, DecisionMoment | None], None]


class ShadowFollower:
    """Event sink that compares decisions. Objects before `begin` are the initial cluster."""

    def __init__(
        self,
        settings: EffectiveSettings,
        clock: Clock,
        on_compared: OnCompared,
        wants_snapshot: Callable[[], bool] = lambda: False,
        reader: ApiReader | None = None,
    ) -> None:
        self.model = ClusterModel(settings, clock, reader)
        self.review = DecisionReview(self.model)
        self.held = BufferedChanges(clock, self.model.profiles)
        self._clock = clock
        self._on_compared = on_compared
        self._wants_snapshot = wants_snapshot
        self._has_begun = False
        self._in_flight: dict[str, ReviewedBinding] = {}
        #: UIDs of pods that were compared when they were nominated and are not bound yet.
        self._expected: set[str] = set()
        self._decisions = 0
        self._arrivals = 0
        #: Numbers and names of the latest bindings that arrived.
        self._arrived: deque[tuple[int, str]] = deque(maxlen=_MAX_ARRIVALS)
        self._recent: deque[WatchChange] = deque(maxlen=MAX_REMEMBERED)
        self._gap_ends = -1.0

    # -- the watch ---------------------------------------------------------------------------------------------------

    def expect(self, kind: type[api.Object], count: int) -> None:
        """Record a list. After `begin`, a list means that the watch was interrupted."""
        if not self._has_begun:
            self.model.sink.expect(kind, count)
        elif kind is api.Pod:
            self._gap_ends = self._clock.monotonic() + GAP_SECONDS
        elif kind is api.Node:
            self.review.knows_order = False

    def changed(self, obj: api.Object) -> None:
        """Process an added or modified object."""
        if not self._has_begun:
            self.model.sink.changed(obj)
        self.held.changed(obj)

    def deleted(self, obj: api.Object) -> None:
        """Process a deleted object."""
        if not self._has_begun:
            self.model.sink.deleted(obj)
        self.held.deleted(obj)

    def begin(self) -> None:
        """Start comparing decisions; the cluster is known."""
        self.held.clear()
        self.review.knows_order = self.model.node_count == 0
        self._has_begun = True

    # -- settling ----------------------------------------------------------------------------------------------------

    def settle(self, until: float) -> Iterator[None]:
        """Process the changes up to a time in monotonic seconds, yielding after each."""
        while (change := self.held.oldest()) is not None and change.moment <= until:
            if shows_binding(change) and self._is_ours(change):
                self._binding(change)
            elif shows_failure(change) and self._is_ours(change):
                self._failure(change)
            elif shows_expectation(change) and self._is_ours(change):
                self._expectation(change)
            else:
                self._apply(self.held.take())
            yield

    def _is_ours(self, change: WatchChange) -> bool:
        pod = change.object
        return isinstance(pod, api.Pod) and self.held.has_in_queue(pod)

    def _apply(self, change: WatchChange) -> None:
        self.model.apply(change)
        if change.new is None:
            self._expected.discard(change.object.metadata.uid)
        if counts(change):
            self._recent.append(change)

    # -- bindings ----------------------------------------------------------------------------------------------------

    def _binding(self, change: WatchChange) -> None:
        uid = change.object.metadata.uid
        for earlier in self.held.decided_before(change):
            self._decide(earlier)
        is_new = uid not in self._in_flight
        if is_new:
            self._decide(change)
        self._arrive(self._in_flight[uid], is_new)

    def _decide(self, change: WatchChange) -> None:
        """Review a decision on the model, then assume the pod on its node."""
        pod, node = _pod_before(change), _node_of(change)
        found = None if pod.metadata.uid in self._expected else self._found_or_broken(change, pod, node)
        snapshot = self._snapshot(pod, found)
        info = self.model.info(pod)
        self.model.assume(info, node)
        self._decisions += 1
        self._in_flight[info.uid] = ReviewedBinding(
            change, info, node, self._decisions, found, self._arrivals, snapshot
        )

    def _found_or_broken(self, change: WatchChange, pod: api.Pod, node: str) -> DecisionFinding:
        try:
            return self._found(change, pod, node)
        except CycleAborted as abort:
            return DecisionFinding(ComparisonClass.UNPROVEN, f"cannot be decided here: {abort.status.message}")

    def _expectation(self, change: WatchChange) -> None:
        """Compare the decision of a pod that has a node but whose binding is slow."""
        for earlier in self.held.decided_before(change):
            self._decide(earlier)
        pod, expected = _pod_before(change), change.new
        assert isinstance(expected, api.Pod)
        found = self._found_or_broken(change, pod, expected.status.nominated_node_name)
        self._report(change, pod, DecisionKind.BINDING, found, self._snapshot(pod, found))
        self._expected.add(pod.metadata.uid)
        self._apply(self.held.take())

    def _snapshot(self, pod: api.Pod, found: DecisionFinding | None) -> DecisionMoment | None:
        if found is None or found.comparison_class is not ComparisonClass.DISAGREEMENT or not self._wants_snapshot():
            return None
        return DecisionMoment(pod, (*self.model.scheduler.known_objects(), *self.model.pods()))

    def _found(self, change: WatchChange, pod: api.Pod, node: str) -> DecisionFinding:
        placement = self.model.placement(pod, node)
        found = self._by_chance(pod, placement)
        if found is None:
            nodes = {node, *placement.names_of_better(_MAX_NODES)}
            found = self._by_timing(change, nodes, lambda: self._on_shifted_cluster(pod, node))
            placement = self.model.placement(pod, node)
        if found is None:
            found = self.review.unexplained(pod, placement)
        self.review.follow(pod, placement, found)
        return found

    def _on_shifted_cluster(self, pod: api.Pod, node: str) -> DecisionFinding | None:
        placement = self.model.placement(pod, node)
        found = self._by_chance(pod, placement)
        return None if found is None else self.review.with_search(pod, placement, found)

    def _by_chance(self, pod: api.Pod, placement: PlacementScores) -> DecisionFinding | None:
        return self.review.by_all_nodes(placement) or self.review.by_search(pod, placement)

    def _by_timing(
        self, change: WatchChange, nodes: Collection[str], look: Callable[[], DecisionFinding | None]
    ) -> DecisionFinding | None:
        uid, oldest = change.object.metadata.uid, change.moment - MAX_SECONDS
        recent = [other for other in self._recent if other.moment >= oldest and self._may_shift(other, uid)]
        upcoming = (other for other in self.held if counts(other) and self._may_shift(other, uid))
        found = shifted(self.model, recent, upcoming, nodes, look)
        if found is None:
            return None
        evidence = f"{found.found.evidence}, with events {'; '.join(found.events)}"
        return _replace(found.found, comparison_class=ComparisonClass.TIMING, evidence=evidence, events=found.events)

    def _may_shift(self, change: WatchChange, uid: str) -> bool:
        """Return whether the other scheduler may have seen the change at another time. The order of
        bindings with a queue position is known."""
        its = change.object.metadata.uid
        return its != uid and its not in self._in_flight and not (shows_binding(change) and change.place is not None)

    # -- arrival of bindings -----------------------------------------------------------------------------------------

    def _arrive(self, decided: ReviewedBinding, is_new: bool) -> None:
        change, pod = decided.change, _pod_before(decided.change)
        found = decided.found
        if found is not None and (not is_new or len(self._in_flight) > 1):
            found = self._as_seen(decided, pod, found)
        if found is not None:
            self._report(change, pod, DecisionKind.BINDING, found, decided.snapshot)
        self._expected.discard(decided.info.uid)
        del self._in_flight[decided.info.uid]
        self._arrivals += 1
        self._arrived.append((decided.number, api.key(pod)))
        self._apply(self.held.take())

    def _as_seen(self, decided: ReviewedBinding, pod: api.Pod, found: DecisionFinding) -> DecisionFinding:
        """Return the finding on the cluster of the watch, or the one on the model if None."""
        with self.model.without((other.info, other.node) for other in self._in_flight.values()):
            seen = self._best_of_all(pod, decided.node)
        if seen is not None:
            return seen
        events = self._overtaken(decided)
        if found.comparison_class in AGREEING and events:
            evidence = f"{found.evidence}; {'; '.join(events)}"
            return _replace(found, comparison_class=ComparisonClass.TIMING, evidence=evidence, events=events)
        return _replace(found, events=(*found.events, *events)) if events else found

    def _best_of_all(self, pod: api.Pod, node: str) -> DecisionFinding | None:
        try:
            return self.review.by_all_nodes(self.model.placement(pod, node))
        except CycleAborted:
            return None

    def _overtaken(self, decided: ReviewedBinding) -> tuple[str, ...]:
        """Describe the pods that were bound before or after this one, but decided after or
        before."""
        before = [api.key(one.info.pod) for one in self._in_flight.values() if one.number < decided.number]
        since = self._arrivals - decided.arrivals
        latest = list(self._arrived)[-since:] if since else []
        after = [name for number, name in latest if number > decided.number]
        lines = ((DECIDED_BEFORE, before), (DECIDED_AFTER, after))
        return tuple(text.format(_names(names)) for text, names in lines if names)

    # -- pods without a node -----------------------------------------------------------------------------------------

    def _failure(self, change: WatchChange) -> None:
        for earlier in self.held.decided_before(change):
            self._decide(earlier)
        pod, failed = _pod_before(change), change.new
        assert isinstance(failed, api.Pod)
        nominated = failed.status.nominated_node_name
        message = failure_message(failed) or ""

        def look() -> DecisionFinding | None:
            return self.review.nowhere(pod, nominated, message)

        try:
            found = look()
            if found is None or found.comparison_class is ComparisonClass.DISAGREEMENT:
                fitting = self.model.placement(pod, "").names_of_better(_MAX_NODES)
                nodes = {nominated, *fitting} - {""}
                found = self._by_timing(change, nodes, lambda: _unless_disagreement(look())) or found
            if found is None:
                found = self.review.fits(pod)
        except CycleAborted as abort:
            found = DecisionFinding(ComparisonClass.UNPROVEN, f"cannot be decided here: {abort.status.message}")
        kind = DecisionKind.NOMINATION if nominated != pod.status.nominated_node_name else DecisionKind.UNSCHEDULABLE
        self._report(change, pod, kind, found, self._snapshot(pod, found))
        self._apply(self.held.take())

    # -- reports -----------------------------------------------------------------------------------------------------

    def _report(
        self,
        change: WatchChange,
        pod: api.Pod,
        kind: DecisionKind,
        found: DecisionFinding,
        snapshot: DecisionMoment | None,
    ) -> None:
        profile, after = self.model.profile_of(pod), change.new
        assert profile is not None
        assert isinstance(after, api.Pod)
        comparison = DecisionComparison(
            pod=api.key(pod),
            uid=pod.metadata.uid,
            profile=profile.name,
            decision=kind,
            comparison_class=self._reclassified_by_gap(change, found.comparison_class),
            evidence=found.evidence,
            seen=change.time,
            their_node=after.spec.node_name or after.status.nominated_node_name,
            our_node=found.our_node,
            ties=found.ties,
            feasible_nodes=found.feasible_nodes,
            their_message=failure_message(after) or "" if kind is not DecisionKind.BINDING else "",
            our_message=found.our_message,
            scores=found.scores,
            search=found.search,
            events=found.events,
        )
        is_real = comparison.comparison_class is ComparisonClass.DISAGREEMENT
        self._on_compared(comparison, snapshot if is_real else None)

    def _reclassified_by_gap(self, change: WatchChange, found: ComparisonClass) -> ComparisonClass:
        is_disagreement = found is ComparisonClass.DISAGREEMENT
        return ComparisonClass.UNPROVEN if is_disagreement and change.moment <= self._gap_ends else found


def _unless_disagreement(found: DecisionFinding | None) -> DecisionFinding | None:
    return None if found is None or found.comparison_class is ComparisonClass.DISAGREEMENT else found


def _pod_before(change: WatchChange) -> api.Pod:
    assert isinstance(change.old, api.Pod)
    return change.old


def _node_of(change: WatchChange) -> str:
    assert isinstance(change.new, api.Pod)
    return change.new.spec.node_name


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more
