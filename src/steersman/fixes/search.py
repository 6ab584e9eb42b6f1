# SPDX-License-Identifier: Apache-2.0
"""Finds fixes: what every objection could be answered with is proposed, tried, made smaller, and ranked.

    what has to change in any case (gates, missing claims) ─► objections of the nodes ─► proposals ─► trials ─► fixes

Nodes with one objection are looked at first. Only if no single change helps, those with two or three are, and one change is
proposed for each objection. Everything that is returned has passed `verification`: as a whole, without parts that it can do
without, and with numbers of which the next smaller step does not pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from steersman import api
from steersman.fixes import new_node, object_changes
from steersman.fixes.changes import AnyChange, Change, NumberedChange
from steersman.fixes.fix import Fix, FixKind
from steersman.fixes.fix_writer import DocumentSource, FixDraft, against_cluster, against_input
from steersman.fixes.moves import moved
from steersman.fixes.proposals import Proposals
from steersman.fixes.verification import Scheduled, Situation, TrialsExhausted, Verifier
from steersman.framework.pod_resources import pod_requests
from steersman.sim import Simulation
from steersman.sim.object_names import pod_key

MOST_OBJECTIONS: Final = 3
"""Nodes with more objections are too far away."""
_OF_ONE_KIND: Final = 3
"""So many fixes of the same kinds are proposed, and tried."""
_OF_SEVERAL_PARTS: Final = 6
"""So many fixes of several parts are enough: for each node there are many ways."""
_COMBINATIONS: Final = 40
_PREPARATIONS: Final = 3
_MOVES: Final = 4
"""So many sets of pods are tried to be moved."""
_LAST_RESORT: Final = 1.5
"""Where nothing was found, by how much more trials may be made."""


def find_fixes(simulation: Simulation, pod: str, served: DocumentSource | None = None) -> tuple[Fix, ...]:
    """The smallest changes that make the pod `namespace/name` schedule, those that change least first; none for a pod that is
    scheduled anyway. The simulation is one that has been loaded and has not run; it stays as it is.

    Each fix was tried on a fork, from the beginning to rest. Of a live cluster, `served` gives the objects that fixes are to
    change, whole, as its API server has them. Raises `InputError` for a pod that does not come to be.
    """
    verifier = Verifier(simulation, pod_key(pod))
    drafts = FixSearch(verifier).drafts()
    if served is not None and not verifier.is_refused:
        return tuple(against_cluster(drafts, verifier.documents, served))
    return tuple(against_input(draft, verifier, creates_nodes=served is None) for draft in drafts)


class FixSearch:
    """The search for the fixes of one pod."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._found: dict[str, FixDraft] = {}

    def drafts(self) -> tuple[FixDraft, ...]:
        """All fixes, the smallest first."""
        placement = self._verifier.placement
        is_absent = self._verifier.is_refused or self._verifier.suspended is not None
        if not is_absent and (placement is None or not placement.is_pending):
            return ()
        prepared = None
        with suppress(TrialsExhausted):
            prepared = self._prepared()
        if prepared is not None:
            for share, look in self._ways:
                self._verifier.allow(share)
                with suppress(TrialsExhausted):
                    look(*prepared)
            if not self._found:
                self._verifier.allow(_LAST_RESORT)
                with suppress(TrialsExhausted):
                    self._by_both(*prepared)
        return tuple(sorted(self._found.values(), key=lambda draft: draft.rank))

    @property
    def _ways(self) -> tuple[tuple[float, Callable[[Situation, tuple[Change, ...]], None]], ...]:
        """The ways to a fix, and how many of all trials may have been made before each is left for the next."""
        return (0.55, self._of_nodes), (0.7, self._by_moves), (0.85, self._by_priority), (1.0, self._by_one_more_node)

    # -- what no node can make up for --------------------------------------------------------------------------------

    def _prepared(self) -> tuple[Situation, tuple[Change, ...]] | None:
        """The changes without which no node helps, and what the pod faces after them; None: nothing more to look for."""
        done: tuple[Change, ...] = self._let_in()
        for _ in range(_PREPARATIONS):
            situation = self._verifier.situation(self._carried_out(done))
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

    def _carried_out(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """The changes, and what has the pod made again if they change the template that its workload has made it from."""
        place = self._verifier.place
        is_made_again = place is not None and any(
            change.target == place.target and change.kind is not FixKind.RESUME_JOB for change in changes
        )
        return (*changes, *(self._verifier.recreation() if is_made_again else ()))

    def _passes(self, changes: Sequence[Change]) -> Scheduled | None:
        return self._verifier.passes(self._carried_out(changes))

    def _let_in(self) -> tuple[Change, ...]:
        """The quotas that have to be raised for a pod that was refused, beside which lower requests are tried; the Job that has
        to be resumed for one that it has taken away."""
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

    def _of_nodes(self, situation: Situation, preparation: tuple[AnyChange, ...]) -> None:
        proposals = Proposals(self._verifier, situation)
        may_evict = any(change.kind is FixKind.PRIORITY for change in preparation)
        for objections in range(1, MOST_OBJECTIONS + 1):
            if self._found:
                return
            tried: Counter[tuple[FixKind, ...]] = Counter()
            seen: set[tuple[str, ...]] = set()
            for alternative in proposals.of_nodes(objections, may_evict=may_evict):
                kinds, keys = tuple(each.kind for each in alternative), tuple(sorted(each.key for each in alternative))
                if keys in seen or tried[kinds] >= _OF_ONE_KIND:
                    continue
                if sum(tried.values()) >= _COMBINATIONS or (objections > 1 and len(self._found) >= _OF_SEVERAL_PARTS):
                    return
                seen.add(keys)
                tried[kinds] += 1
                self._try_all((*alternative, *preparation))

    def _by_moves(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """The fewest pods whose move makes room."""
        for pods in Proposals(self._verifier, situation).moves()[:_MOVES]:
            changes = moved(self._verifier, situation, pods)
            if changes is not None and self._try((*changes, *preparation)) is not None:
                return

    # -- everything else ---------------------------------------------------------------------------------------------

    def _by_both(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """A higher priority or one more node, and what the pod still faces with it."""
        simulation, pod = self._verifier.simulation, situation.pod
        priority = self._priority(pod)
        ways: list[AnyChange] = [new_node.measured_node(simulation, pod, pod_requests(pod))]
        ways += [] if priority is None else [priority]
        for way in ways:
            change = way.make(way.furthest) if isinstance(way, NumberedChange) else way
            faced = self._verifier.situation(self._carried_out((change, *preparation)))
            if faced is not None:
                self._of_nodes(faced, (way, *preparation))

    def _priority(self, pod: api.Pod) -> NumberedChange | None:
        """The priorities that make a difference, each by a class to create; None: there are none."""
        place = self._verifier.place
        levels = object_changes.priorities(self._verifier.base, pod)
        if place is None or not levels:
            return None

        def at(step: int) -> Change:
            manifest = object_changes.new_class(pod, levels[step - 1])
            return object_changes.raise_priority_with(place, pod, manifest)

        return NumberedChange("priority", FixKind.PRIORITY, len(levels), len(levels), at)

    def _by_priority(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """The lowest priority that helps: by a class that there is, and by one to create."""
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
        """A copy of the smallest node that will do, else one that has just enough for the pod and what comes with it."""
        simulation, pod = self._verifier.simulation, situation.pod
        for change in new_node.copied_nodes(simulation, pod):
            if self._try((change, *preparation)) is not None:
                return
        if self._try((new_node.measured_node(simulation, pod, pod_requests(pod)), *preparation)) is not None:
            return
        name = new_node.free_name(simulation.cluster.objects(api.Node))
        large = new_node.large_node(simulation, pod)
        for amounts in self._verifier.requests_on(name, self._carried_out((large, *preparation))) or ():
            if self._try((new_node.measured_node(simulation, pod, amounts), *preparation)) is not None:
                return

    # -- trying ------------------------------------------------------------------------------------------------------

    def _try_all(self, changes: Sequence[AnyChange]) -> None:
        """Changes of which some are numbers: each is made as small as the others allow, one after the other."""
        chosen = [each.make(each.guess) if isinstance(each, NumberedChange) else each for each in changes]
        for position, each in enumerate(changes):
            if isinstance(each, NumberedChange):
                others = [*chosen[:position], *chosen[position + 1 :]]
                least = self._least_step(others, each)
                if least is None:
                    return
                chosen[position] = least
        self._try(chosen)

    def _least_step(self, others: Sequence[Change], numbered: NumberedChange) -> Change | None:
        """The first step that passes together with the others; all further ones are taken to pass as well."""

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
        """Keeps the changes as a fix if they pass, without those that are not needed."""
        scheduled = self._passes(changes)
        if scheduled is None:
            return None
        for change in tuple(changes):
            fewer = [each for each in changes if each is not change]
            without = self._passes(fewer)
            if without is not None:
                changes, scheduled = fewer, without
        draft = FixDraft(self._carried_out(changes), scheduled)
        self._found.setdefault(draft.summary, draft)
        return scheduled
