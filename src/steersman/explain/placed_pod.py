# SPDX-License-Identifier: Apache-2.0
"""Placed pods: whether their node would be chosen again, by which margin, and what would move them.

The input is the explanation of a cycle in which the pod has no node yet; the output a
`PlacementMargin`. Changes that would move the pod are tried on a fork first.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.explain.document import NodeComparison, PlacementMargin, ScoreDifference
from steersman.scheduler.diagnosis import Explanation, NodeExplanation
from steersman.simulation import PodProbe, Simulation

_MAX_WEIGHT: Final = 100
"""Maximum weight of a preferred term."""

_replace = msgspec.structs.replace


def placed_summary(explanation: Explanation, node: str) -> str:
    """Return how the pod's node compares with the others, as a sentence."""
    found = _node_explanation(explanation, node)
    if found is None:
        return f"{node} no longer exists"
    if not found.fits:
        why = "; ".join(map(str, found.verdicts)) or "not examined"
        return f"{node} would not be chosen now: {why}"
    best = max((one.total for one in explanation.nodes if one.total is not None), default=None)
    if best is None or found.total is None:
        return f"{node} is the only node that fits now"
    if found.total == best:
        return f"{node} would be chosen again, with a score of {best}"
    return f"{node} would not be chosen now: its score is {found.total}, and {explanation.node} has {best}"


def placement_margin(
    simulation: Simulation, pod: api.Pod, now: Explanation, then: Explanation | None = None, target: str = ""
) -> PlacementMargin:
    """Compare the pod's node with the best other node, `now` and `then`, and say what would bring
    the pod to `target`."""
    node = pod.spec.node_name
    return PlacementMargin(
        then=None if then is None else _comparison(then, node),
        now=_comparison(now, node),
        goes_to=now.node,
        would_stay=now.node == node,
        if_cordoned=_if_cordoned(simulation, pod),
        changes=tuple(_changes_for(simulation, pod, now, target)) if target else (),
    )


def _comparison(explanation: Explanation, node: str) -> NodeComparison:
    own, other = _node_explanation(explanation, node), _runner_up(explanation, node)
    return NodeComparison(
        total=None if own is None else own.total,
        ties=explanation.ties,
        runner_up="" if other is None else other.node,
        runner_up_total=None if other is None else other.total,
        differences=_differences(own, other),
    )


def _node_explanation(explanation: Explanation, node: str) -> NodeExplanation | None:
    return next((one for one in explanation.nodes if one.node == node), None)


def _runner_up(explanation: Explanation, node: str) -> NodeExplanation | None:
    fitting = [one for one in explanation.nodes if one.fits and one.node != node]
    return max(fitting, key=lambda one: (one.total or 0, one.node == explanation.node), default=None)


def _differences(own: NodeExplanation | None, other: NodeExplanation | None) -> tuple[ScoreDifference, ...]:
    if own is None or other is None:
        return ()
    theirs = {score.plugin: score.weighted for score in other.scores}
    found = (ScoreDifference(score.plugin, score.weighted, theirs.get(score.plugin, 0)) for score in own.scores)
    return tuple(sorted((each for each in found if each.difference), key=lambda each: -abs(each.difference)))


def _if_cordoned(simulation: Simulation, pod: api.Pod) -> str:
    """Return the node that the pod would get if its own were cordoned."""
    node = simulation.cluster.find(api.Node, pod.spec.node_name)
    if node is None:
        return ""
    cordoned = _replace(node, spec=_replace(node.spec, unschedulable=True))
    with PodProbe(simulation, pod, changed=[cordoned]) as probe:
        return probe.cycle().explanation.node


def _changes_for(simulation: Simulation, pod: api.Pod, explanation: Explanation, target: str) -> Iterator[str]:
    """Yield what would bring the pod to the target, as sentences. Raises `InputError` if there is
    no such node."""
    found, node = _node_explanation(explanation, target), simulation.cluster.find(api.Node, target)
    if found is None or node is None:
        similar = get_close_matches(target, simulation.cluster.objects(api.Node), n=3)
        raise InputError(f"there is no node {target}", hint=f"similar names: {', '.join(similar)}" if similar else None)
    if explanation.node == target:
        yield f"The scheduler would choose {target} anyway."
        return
    if not found.fits:
        for verdict in found.verdicts:
            yield f"{target} rejects the pod: {verdict}."
        return
    best = _node_explanation(explanation, explanation.node)
    if best is not None and best.total is not None and found.total is not None:
        yield f"{target} has {found.total} points and needs {best.total - found.total + 1} more to beat {best.node}."
    hostname = node.metadata.labels.get(api.HOSTNAME_LABEL, "")
    if hostname and _would_choose(simulation, _preferring(pod, hostname), target):
        yield f"A preferred node affinity for {api.HOSTNAME_LABEL}={hostname} would move the pod there (tried on a copy)."


def _would_choose(simulation: Simulation, pod: api.Pod, target: str) -> bool:
    with PodProbe(simulation, pod) as probe:
        return probe.cycle(target).explanation.node == target


def _preferring(pod: api.Pod, hostname: str) -> api.Pod:
    """Return the pod with an additional preference of maximum weight for one node."""
    expression = api.NodeSelectorRequirement(key=api.HOSTNAME_LABEL, operator="In", values=(hostname,))
    term = api.PreferredSchedulingTerm(
        weight=_MAX_WEIGHT, preference=api.NodeSelectorTerm(match_expressions=(expression,))
    )
    affinity = pod.spec.affinity or api.Affinity()
    of_nodes = affinity.node_affinity or api.NodeAffinity()
    preferred = (*of_nodes.preferred_during_scheduling_ignored_during_execution, term)
    of_nodes = _replace(of_nodes, preferred_during_scheduling_ignored_during_execution=preferred)
    return _replace(pod, spec=_replace(pod.spec, affinity=_replace(affinity, node_affinity=of_nodes)))
