# SPDX-License-Identifier: Apache-2.0
"""Finds fixes: what every objection could be answered with is proposed, tried, made smaller, and ranked.

    what has to change in any case (gates, missing claims) ─► objections of the nodes ─► proposals ─► trials ─► fixes

Nodes with one objection are looked at first. Only if no single change helps, those with two or three are, and one change is
proposed for each objection. Everything that is returned has passed `verification`: as a whole, without parts that it can do
without, and with numbers of which the next smaller step does not pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Final

from steersman import api
from steersman.explain import NodeExplanation, Verdict
from steersman.fixes import node_changes, object_changes, pod_changes
from steersman.fixes.changes import AnyChange, Change, NumberedChange, merge_patch
from steersman.fixes.commands import commands
from steersman.fixes.fix import Fix, FixKind, ObjectPatch
from steersman.fixes.pod_changes import Alternative
from steersman.fixes.requests import lower_request
from steersman.fixes.verification import Scheduled, Situation, TrialsExhausted, Verifier
from steersman.sim import Simulation
from steersman.sim.placements import REASON_GATED, REASON_NO_PROFILE
from steersman.sim.result import pod_key

MOST_OBJECTIONS: Final = 3
"""Nodes with more objections are too far away."""
_SAME_OBJECTIONS: Final = 3
"""So many nodes with the same objections are looked at."""
_OF_ONE_KIND: Final = 3
"""So many fixes of the same kinds are proposed, and tried."""
_COMBINATIONS: Final = 40
_PREPARATIONS: Final = 3
_SHARES: Final = (0.6, 0.8, 1.0)
"""How many of all trials may be made before each of the three ways is left for the next."""
_ORDER: Final = {kind: position for position, kind in enumerate(FixKind)}


def find_fixes(simulation: Simulation, pod: str) -> tuple[Fix, ...]:
    """The smallest changes that make the pod `namespace/name` schedule, those that change least first; none for a pod that is
    scheduled anyway. The simulation is one that has been loaded and has not run; it stays as it is.

    Each fix was tried on a fork, from the beginning to rest. Raises `InputError` for a pod that does not come to be.
    """
    return FixSearch(Verifier(simulation, pod_key(pod))).fixes()


class FixSearch:
    """One search; see the module's text."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._found: dict[str, Fix] = {}

    def fixes(self) -> tuple[Fix, ...]:
        """All fixes, the smallest first."""
        placement = self._verifier.placement
        if placement is None or not placement.is_pending:
            return ()
        prepared = None
        with suppress(TrialsExhausted):
            prepared = self._prepared()
        if prepared is not None:
            for share, look in zip(_SHARES, (self._of_nodes, self._by_priority, self._by_one_more_node), strict=True):
                self._verifier.allow(share)
                with suppress(TrialsExhausted):
                    look(*prepared)
        return tuple(sorted(self._found.values(), key=_rank))

    # -- what no node can make up for --------------------------------------------------------------------------------

    def _prepared(self) -> tuple[Situation, tuple[Change, ...]] | None:
        """The changes without which no node helps, and what the pod faces after them; None: nothing more to look for."""
        done: tuple[Change, ...] = ()
        recreation = self._verifier.recreation()
        for _ in range(_PREPARATIONS):
            situation = self._verifier.situation((*recreation, *done) if done else ())
            if situation is None:
                self._try((*done, *recreation))
                return None
            known = {change.key for change in done}
            needed = tuple(change for change in self._needed(situation) if change.key not in known)
            if not needed:
                return situation, (*done, *recreation)
            done += needed
        return None

    def _needed(self, situation: Situation) -> Iterator[Change]:
        place, pod = self._verifier.place, situation.pod
        reason = situation.placement.reason
        if reason == REASON_NO_PROFILE and place is not None:
            profiles = self._verifier.simulation.profiles
            yield pod_changes.set_scheduler(place, pod.spec, profiles[0])
        elif reason == REASON_GATED and pod.spec.scheduling_gates and place is not None:
            yield pod_changes.remove_gates(place, pod.spec)
        elif situation.explanation.pre_filter.rejection is not None:
            missing = list(object_changes.missing_claims(self._verifier.simulation, pod))
            yield from missing or object_changes.missing_volumes(self._verifier.simulation, pod)

    # -- objections of nodes -----------------------------------------------------------------------------------------

    def _of_nodes(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        for objections in range(1, MOST_OBJECTIONS + 1):
            if self._found:
                return
            tried: Counter[tuple[FixKind, ...]] = Counter()
            seen: set[tuple[str, ...]] = set()
            for alternative in self._proposals(situation, objections):
                kinds, keys = tuple(each.kind for each in alternative), tuple(sorted(each.key for each in alternative))
                if keys in seen or tried[kinds] >= _OF_ONE_KIND or sum(tried.values()) >= _COMBINATIONS:
                    continue
                seen.add(keys)
                tried[kinds] += 1
                self._try_all((*alternative, *preparation))

    def _proposals(self, situation: Situation, objections: int) -> Iterator[Alternative]:
        """One change for each objection of a node, nodes that lack least first."""
        same: Counter[tuple[tuple[str, ...], ...]] = Counter()
        nodes = [node for node in situation.explanation.nodes if len(_objections(node)) == objections]
        for node in sorted(nodes, key=_lack):
            verdicts = _objections(node)
            signature = tuple(map(_signature, verdicts))
            same[signature] += 1
            if same[signature] > _SAME_OBJECTIONS:
                continue
            found = self._verifier.simulation.cluster.find(api.Node, node.node)
            if found is not None:
                answers = [list(self._answers(situation.pod, verdict, found)) for verdict in verdicts]
                yield from (tuple(part for parts in chosen for part in parts) for chosen in product(*answers))

    def _answers(self, pod: api.Pod, verdict: Verdict, node: api.Node) -> Iterator[Alternative]:
        """Everything that would answer the objection to this node."""
        place, spec = self._verifier.place, pod.spec
        if verdict.plugin == "NodeUnschedulable":
            yield (node_changes.uncordon(node),)
        elif verdict.plugin == "TaintToleration":
            yield from node_changes.remove_taints(spec, node)
        elif verdict.plugin == "NodeAffinity":
            yield from node_changes.add_labels(spec, node)
        if place is None:
            return
        match verdict.plugin:
            case "NodeResourcesFit":
                lowered = [lower_request(place, spec, shortage) for shortage in verdict.shortages]
                if lowered and None not in lowered:
                    yield tuple(change for change in lowered if change is not None)
            case "TaintToleration":
                yield from pod_changes.tolerate(place, spec, node)
            case "NodeAffinity":
                yield from pod_changes.drop_node_selection(place, spec, node)
            case "PodTopologySpread":
                yield from pod_changes.relax_spread(place, spec)
            case "InterPodAffinity":
                yield from pod_changes.drop_pod_affinity(place, spec)

    # -- everything else ---------------------------------------------------------------------------------------------

    def _by_priority(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        """The lowest priority that helps: by a class that there is, and by one to create."""
        place, pod = self._verifier.place, situation.pod
        levels = object_changes.priorities(self._verifier.base, pod)
        if place is None or not levels:
            return

        def at(step: int) -> Change:
            manifest = object_changes.new_class(pod, levels[step - 1])
            return object_changes.raise_priority_with(place, pod, manifest)

        numbered = NumberedChange("priority", FixKind.PRIORITY, len(levels), len(levels), at)
        lowest = self._least_step(preparation, numbered)
        if lowest is None:
            return
        known = object_changes.existing_class(self._verifier.simulation, lowest.create["value"] if lowest.create else 0)
        by_known = (
            None if known is None else self._try((object_changes.raise_priority(place, pod, known), *preparation))
        )
        if by_known is None:
            self._try((lowest, *preparation))

    def _by_one_more_node(self, situation: Situation, preparation: tuple[Change, ...]) -> None:
        nodes = self._verifier.simulation.cluster.objects(api.Node).values()
        for change in node_changes.add_node(situation.pod, nodes):
            if self._try((change, *preparation)) is not None:
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
            return self._verifier.passes((*others, numbered.make(step))) is not None

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
        scheduled = self._verifier.passes(changes)
        if scheduled is None:
            return None
        for change in tuple(changes):
            fewer = [each for each in changes if each is not change]
            without = self._verifier.passes(fewer)
            if without is not None:
                changes, scheduled = fewer, without
        fix = self._fix(changes, scheduled)
        self._found.setdefault(fix.summary, fix)
        return scheduled

    def _fix(self, changes: Sequence[Change], scheduled: Scheduled) -> Fix:
        edits = self._verifier.patches(changes)
        kinds = {change.kind for change in changes} - {FixKind.RECREATE}
        return Fix(
            kind=kinds.pop() if len(kinds) == 1 else FixKind.SEVERAL,
            summary=_summary(changes, scheduled),
            commands=tuple(commands(changes, edits)),
            patches=tuple(
                ObjectPatch(target.kind, target.namespace, target.name, merge_patch(before, after))
                for target, (before, after) in edits.items()
            ),
            create=tuple(change.create for change in changes if change.create is not None),
            delete=tuple(change.delete for change in changes if change.delete is not None),
            node=scheduled.node,
            evicts=scheduled.evicts,
            parts=tuple(change.kind for change in changes),
        )


def _summary(changes: Sequence[Change], scheduled: Scheduled) -> str:
    what = " and ".join(change.summary for change in changes)
    evicts = f"; evicts {', '.join(scheduled.evicts)}" if scheduled.evicts else ""
    return f"{what[0].upper()}{what[1:]}: it goes to {scheduled.node}{evicts}."


def _rank(fix: Fix) -> tuple[bool, int, int, list[int], str]:
    """What needs no machine comes first, then what evicts nobody, then what has the fewest parts."""
    order = [_ORDER[kind] for kind in fix.parts if kind is not FixKind.RECREATE]
    return FixKind.ADD_NODE in fix.parts, len(fix.evicts), len(order), order, fix.summary


def _objections(node: NodeExplanation) -> tuple[Verdict, ...]:
    """The objections to a node; being cordoned and the taint that says so are one."""
    plugins = {verdict.plugin: verdict for verdict in node.verdicts}
    taint = plugins.get("TaintToleration")
    if "NodeUnschedulable" in plugins and taint is not None and taint.detail.startswith(f"{node_changes.CORDONED}:"):
        return tuple(verdict for verdict in node.verdicts if verdict is not taint)
    return node.verdicts


def _signature(verdict: Verdict) -> tuple[str, ...]:
    """Equal for objections that the same changes of the pod answer."""
    if verdict.shortages:
        return verdict.plugin, *(shortage.resource for shortage in verdict.shortages)
    return (verdict.plugin, verdict.detail.rpartition(", has ")[0] or verdict.detail)


def _lack(node: NodeExplanation) -> tuple[int, float]:
    """How far a node is away: the number of reasons, and how much of what is asked is missing."""
    shortages = [shortage for verdict in node.verdicts for shortage in verdict.shortages]
    missing = sum((shortage.asks - shortage.free) / max(1, shortage.asks) for shortage in shortages)
    return sum(max(1, len(verdict.reasons)) for verdict in node.verdicts), missing
