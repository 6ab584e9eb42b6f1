# SPDX-License-Identifier: Apache-2.0
"""Searches fixes: changes for each objection are proposed, tried, made smaller, and ranked.

    needed in any case (gates, missing claims) ─► objections of the nodes ─► proposals ─► trials ─► fixes

Nodes with one objection come first. Only if no single change helps, nodes with two or three
objections follow, with one change per objection. Every result has passed `verification` as a whole,
has no unneeded part, and the next smaller step of its numbers does not pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from steersman import api
from steersman.explain.fixes import group_changes, new_node, object_changes
from steersman.explain.fixes.changes import AnyChange, Change, NumberedChange
from steersman.explain.fixes.fix import Fix, FixKind
from steersman.explain.fixes.fix_writer import DocumentSource, FixDraft, against_cluster, against_input
from steersman.explain.fixes.moves import try_moves
from steersman.explain.fixes.proposals import Proposals
from steersman.explain.fixes.verification import Scheduled, Situation, TrialsExhausted, Verifier
from steersman.explain.groups import explain_group
from steersman.framework import pod_requests
from steersman.simulation import Simulation, pod_key

MAX_OBJECTIONS: Final = 3
"""Nodes with more objections are not considered."""
_MAX_FIXES_OF_ONE_KIND: Final = 3
"""Maximum number of tried fixes of the same kinds."""
_MAX_FIXES_OF_SEVERAL_PARTS: Final = 6
"""Maximum number of fixes with several parts."""
_MAX_COMBINATIONS: Final = 40
_MAX_PREPARATIONS: Final = 3
_MAX_SETS_TO_MOVE: Final = 4
"""Maximum number of sets of pods whose move is tried."""
_EXTRA_TRIALS_FACTOR: Final = 1.5
"""Factor by which the limit of trials is raised if nothing was found."""


def find_fixes(simulation: Simulation, pod: str, served: DocumentSource | None = None) -> tuple[Fix, ...]:
    """Return the smallest changes that make the pod `namespace/name` schedule, smallest first;
    empty if the pod is scheduled anyway.

    The simulation must be loaded and must not have run; it is not changed. Each fix was tried on a
    fork that ran to rest. For a live cluster, `served` returns the objects that fixes change, with
    all fields. Raises `InputError` if the pod never exists.
    """
    verifier = Verifier(simulation, pod_key(pod))
    drafts = FixSearch(verifier).drafts()
    if served is not None and not verifier.is_refused:
        return tuple(against_cluster(drafts, verifier.documents, served))
    return tuple(against_input(draft, verifier, creates_nodes=served is None) for draft in drafts)


class FixSearch:
    """Search for the fixes of one pod."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._found: dict[str, FixDraft] = {}

    def drafts(self) -> tuple[FixDraft, ...]:
        """Return all fixes, smallest first."""
        placement = self._verifier.placement
        is_absent = self._verifier.is_refused or self._verifier.suspended is not None
        if not is_absent and (placement is None or not placement.is_pending):
            return ()
        prepared = None
        with suppress(TrialsExhausted):
            prepared = self._prepared()
        if prepared is not None:
            for share, look in self._methods:
                self._verifier.allow(share)
                with suppress(TrialsExhausted):
                    look(*prepared)
            if not self._found:
                self._verifier.allow(_EXTRA_TRIALS_FACTOR)
                with suppress(TrialsExhausted):
                    self._by_combination(*prepared)
        return tuple(sorted(self._found.values(), key=lambda draft: draft.rank))

    @property
    def _methods(self) -> tuple[tuple[float, Callable[[Situation, tuple[Change, ...]], None]], ...]:
        """Search methods, and the share of all trials that may be used up after each."""
        group = () if self._verifier.pod.spec.scheduling_group is None else ((0.5, self._by_group_changes),)
        return (
            *group,
            (0.55, self._by_node_objections),
            (0.7, self._by_moves),
            (0.85, self._by_priority),
            (1.0, self._by_one_more_node),
        )

    # -- what no node can make up for --------------------------------------------------------------------------------

    def _prepared(self) -> tuple[Situation, tuple[Change, ...]] | None:
        """Return the changes without which the pod fits on no node, and the situation after them;
        None if the search is complete."""
        done: tuple[Change, ...] = self._admission_changes()
        for _ in range(_MAX_PREPARATIONS):
            situation = self._verifier.situation(self._with_recreation(done))
            if situation is None:
                self._try(done)
                return None
            proposals = Proposals(self._verifier, situation)
            for alternative in proposals.instead():
                self._try_all((*alternative, *done))
            known = {change.key for change in done}
            needed = tuple(change for change in proposals.needed() if change.key not in known)
            if not needed:
                return situation, done
            done += needed
        return None

    def _with_recreation(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Return the changes, and the recreation of the pod if they change its template."""
        place = self._verifier.place
        is_made_again = place is not None and any(
            change.target == place.target and change.kind is not FixKind.RESUME_JOB for change in changes
        )
        return (*changes, *(self._verifier.recreation() if is_made_again else ()))

    def _passes(self, changes: Sequence[Change]) -> Scheduled | None:
        return self._verifier.passes(self._with_recreation(changes))

    def _admission_changes(self) -> tuple[Change, ...]:
        """Return the raised quotas for a pod that was refused, after trying lower requests, or the
        resumed Job for a pod that was deleted."""
        if self._verifier.suspended is not None:
            return (object_changes.resume_job(self._verifier.suspended),)
        excesses, place = self._verifier.quota_excesses(), self._verifier.place
        lowered = (
            object_changes.lower_to_quotas(place, self._verifier.pod.spec, excesses) if place and excesses else None
        )
        if lowered:
            self._try_all(lowered)
        return object_changes.raise_quotas(excesses)

    # -- objections of nodes -----------------------------------------------------------------------------------------

    def _by_node_objections(self, situation: Situation, preparation: tuple[AnyChange, ...]) -> None:
        proposals = Proposals(self._verifier, situation)
        may_evict = any(change.kind is FixKind.PRIORITY for change in preparation)
        for objections in range(1, MAX_OBJECTIONS + 1):
            if self._found:
                return
            tried: Counter[tuple[FixKind, ...]] = Counter()
            seen: set[tuple[str, ...]] = set()
            for alternative in proposals.of_nodes(objections, may_evict=may_evict):
                kinds, keys = tuple(each.kind for each in alternative), tuple(sorted(each.key for each in alternative))
                if keys in seen or tried[kinds] >= _MAX_FIXES_OF_ONE_KIND:
                    continue
                if sum(tried.values()) >= _MAX_COMBINATIONS or (
                    objections > 1 and len(self._found) >= _MAX_FIXES_OF_SEVERAL_PARTS
                ):
                    return
                seen.add(keys)
                tried[kinds] += 1
                self._try_all((*alternative, *preparation))

    def _by_group_changes(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """Search a smaller gang, a larger domain, and the fewest additional nodes for the pod's
        group."""
        group = explain_group(situation.simulation, situation.pod)
        if group is None or not group.exists:
            return
        smaller = group_changes.lower_min_count(group)
        if smaller is not None:
            self._try_all((smaller, *preparation))
        if group.missing:
            return
        for change in group_changes.other_levels(self._verifier.simulation, group):
            if self._try((change, *preparation)) is not None:
                break
        for nodes in group_changes.more_nodes(self._verifier.simulation, situation.pod, group):
            if self._try_all((nodes, *preparation)):
                break

    def _by_moves(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """Search the fewest pods whose move makes room."""
        for pods in Proposals(self._verifier, situation).moves()[:_MAX_SETS_TO_MOVE]:
            changes = try_moves(self._verifier, situation, pods)
            if changes is not None and self._try((*changes, *preparation)) is not None:
                return

    # -- everything else ---------------------------------------------------------------------------------------------

    def _by_combination(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """Combine a higher priority or one more node with changes for other objections."""
        simulation, pod = self._verifier.simulation, situation.pod
        priority = self._priority(pod)
        ways: list[AnyChange] = [new_node.exact_node(simulation, pod, pod_requests(pod))]
        ways += [] if priority is None else [priority]
        for way in ways:
            change = way.make(way.furthest) if isinstance(way, NumberedChange) else way
            faced = self._verifier.situation(self._with_recreation((change, *preparation)))
            if faced is not None:
                self._by_node_objections(faced, (way, *preparation))

    def _priority(self, pod: api.Pod) -> NumberedChange | None:
        """Return the priorities that make a difference, each with a new class; None if there are
        none."""
        place = self._verifier.place
        levels = object_changes.priorities(self._verifier.base, pod)
        if place is None or not levels:
            return None

        def at(step: int) -> Change:
            manifest = object_changes.new_class(pod, levels[step - 1])
            return object_changes.raise_priority_with(place, pod, manifest)

        return NumberedChange("priority", FixKind.PRIORITY, len(levels), len(levels), at)

    def _by_priority(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """Search the lowest priority that helps, with an existing and with a new class."""
        place, pod, numbered = self._verifier.place, situation.pod, self._priority(situation.pod)
        if place is None or numbered is None:
            return
        lowest = self._least_step(preparation, numbered)
        if lowest is None:
            return
        known = object_changes.existing_class(self._verifier.simulation, lowest.create[0]["value"])
        by_known = (
            None if known is None else self._try((object_changes.raise_priority(place, pod, known), *preparation))
        )
        if by_known is None:
            self._try((lowest, *preparation))

    def _by_one_more_node(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """Search a copy of the smallest sufficient node, else a node with exactly what the pod and
        its companions need."""
        simulation, pod = self._verifier.simulation, situation.pod
        for change in new_node.copied_nodes(simulation, pod):
            if self._try((change, *preparation)) is not None:
                return
        if self._try((new_node.exact_node(simulation, pod, pod_requests(pod)), *preparation)) is not None:
            return
        name = new_node.free_name(simulation.cluster.objects(api.Node))
        large = new_node.large_node(simulation, pod)
        found = self._verifier.requests_on(name, self._with_recreation((large, *preparation)))
        if found is None:
            return
        own, everything, others = found
        if self._try((new_node.exact_node(simulation, pod, own), *preparation)) is None:
            self._try((new_node.exact_node(simulation, pod, everything, own, others), *preparation))

    # -- trying ------------------------------------------------------------------------------------------------------

    def _try_all(self, changes: Sequence[AnyChange]) -> bool:
        """Try changes after making each numbered one as small as the others allow; return whether
        they pass."""
        chosen = [each.make(each.guess) if isinstance(each, NumberedChange) else each for each in changes]
        for position, each in enumerate(changes):
            if isinstance(each, NumberedChange):
                others = [*chosen[:position], *chosen[position + 1 :]]
                least = self._least_step(others, each)
                if least is None:
                    return False
                chosen[position] = least
        return self._try(chosen) is not None

    def _least_step(self, others: Sequence[Change], numbered: NumberedChange) -> Change | None:
        """Return the smallest step that passes together with the others; larger steps are assumed
        to pass."""

        def passes(step: int) -> bool:
            return self._passes((*others, numbered.make(step))) is not None

        failed, passed = 0, numbered.guess
        if passes(passed):
            if passed == 1 or not passes(passed - 1):
                return numbered.make(passed)
            passed -= 1
        elif numbered.furthest == passed or not passes(numbered.furthest):
            return None
        else:
            failed, passed, width = passed, numbered.furthest, 1
            while failed + width < passed:  # the guess is seldom far off
                if passes(failed + width):
                    passed = failed + width
                else:
                    failed, width = failed + width, 2 * width
        while passed - failed > 1:
            middle = (failed + passed) // 2
            if passes(middle):
                passed = middle
            else:
                failed = middle
        return numbered.make(passed)

    def _try(self, changes: Sequence[Change]) -> Scheduled | None:
        """Store the changes as a fix if they pass, without unneeded ones."""
        scheduled = self._passes(changes)
        if scheduled is None:
            return None
        for change in tuple(changes):
            fewer = [each for each in changes if each is not change]
            without = self._passes(fewer)
            if without is not None:
                changes, scheduled = fewer, without
        draft = FixDraft(self._with_recreation(changes), scheduled)
        self._found.setdefault(draft.summary, draft)
        return scheduled
