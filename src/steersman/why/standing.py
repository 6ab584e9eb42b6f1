# SPDX-License-Identifier: Apache-2.0
"""A pod that has a node: does the node still win, by how much, which plugin makes the difference, and what would move the pod.

The explanation that comes in is of the pod without a node, on a cluster that is otherwise as it is. What would have to change
is tried on copies before it is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

import msgspec

from steersman import api
from steersman.errors import InputError
from steersman.explain import Explanation, NodeExplanation
from steersman.sim import Simulation
from steersman.sim.node_pools import HOSTNAME_LABEL
from steersman.sim.pod_probe import PodProbe
from steersman.why.answer import NodeComparison, ScoreDifference, Standing

_GREATEST_WEIGHT: Final = 100
"""The greatest weight of a preferred term that Kubernetes allows."""

_replace = msgspec.structs.replace


def placed_summary(explanation: Explanation, node: str) -> str:
    """How the pod's node does against the others, in a sentence."""
    found = _of(explanation, node)
    if found is None:
        return f"{node} is gone"
    if not found.fits:
        why = "; ".join(map(str, found.verdicts)) or "not examined"
        return f"{node} would not be chosen now: {why}"
    best = max((one.total for one in explanation.nodes if one.total is not None), default=None)
    if best is None or found.total is None:
        return f"{node} is the only node that fits now"
    if found.total == best:
        return f"{node} would win again, with a score of {best}"
    return f"{node} would lose now: its score is {found.total}, that of {explanation.node} is {best}"


def standing(
    simulation: Simulation, pod: api.Pod, now: Explanation, then: Explanation | None = None, target: str = ""
) -> Standing:
    """The node of the pod against the best of the others, `now` and `then`; `target`: what would bring it to this one."""
    node = pod.spec.node_name
    return Standing(
        then=None if then is None else _comparison(then, node),
        now=_comparison(now, node),
        goes_to=now.node,
        would_stay=now.node == node,
        if_cordoned=_if_cordoned(simulation, pod),
        changes=tuple(_changes_for(simulation, pod, now, target)) if target else (),
    )


def _comparison(explanation: Explanation, node: str) -> NodeComparison:
    own, other = _of(explanation, node), _runner_up(explanation, node)
    return NodeComparison(
        total=None if own is None else own.total,
        ties=explanation.ties,
        runner_up="" if other is None else other.node,
        runner_up_total=None if other is None else other.total,
        differences=_differences(own, other),
    )


def _of(explanation: Explanation, node: str) -> NodeExplanation | None:
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
    """Where the pod would go if its node took no new pods."""
    node = simulation.cluster.find(api.Node, pod.spec.node_name)
    if node is None:
        return ""
    cordoned = _replace(node, spec=_replace(node.spec, unschedulable=True))
    with PodProbe(simulation, pod, changed=[cordoned]) as probe:
        return probe.cycle().explanation.node


def _changes_for(simulation: Simulation, pod: api.Pod, explanation: Explanation, target: str) -> Iterator[str]:
    """The changes that would have the pod go to the target. Raises `InputError` for a node that there is not."""
    found, node = _of(explanation, target), simulation.cluster.find(api.Node, target)
    if found is None or node is None:
        similar = get_close_matches(target, simulation.cluster.objects(api.Node), n=3)
        raise InputError(f"there is no node {target}", hint=f"similar names: {', '.join(similar)}" if similar else None)
    if explanation.node == target:
        yield f"It would go to {target} anyway."
        return
    if not found.fits:
        for verdict in found.verdicts:
            yield f"{target} rejects it: {verdict}."
        return
    best = _of(explanation, explanation.node)
    if best is not None and best.total is not None and found.total is not None:
        yield f"{target} needs {best.total - found.total + 1} points more than its {found.total} to beat {best.node}."
    hostname = node.metadata.labels.get(HOSTNAME_LABEL, "")
    if hostname and _goes_there(simulation, _preferring(pod, hostname), target):
        yield f"A preferred node affinity for {HOSTNAME_LABEL}={hostname} would bring it there (tried on a copy)."


def _goes_there(simulation: Simulation, pod: api.Pod, target: str) -> bool:
    with PodProbe(simulation, pod) as probe:
        return probe.cycle(target).explanation.node == target


def _preferring(pod: api.Pod, hostname: str) -> api.Pod:
    """The pod with a preference for one node, as strong as can be, beside those that it has."""
    expression = api.NodeSelectorRequirement(key=HOSTNAME_LABEL, operator="In", values=(hostname,))
    term = api.PreferredSchedulingTerm(
        weight=_GREATEST_WEIGHT, preference=api.NodeSelectorTerm(match_expressions=(expression,))
    )
    affinity = pod.spec.affinity or api.Affinity()
    of_nodes = affinity.node_affinity or api.NodeAffinity()
    preferred = (*of_nodes.preferred_during_scheduling_ignored_during_execution, term)
    of_nodes = _replace(of_nodes, preferred_during_scheduling_ignored_during_execution=preferred)
    return _replace(pod, spec=_replace(pod.spec, affinity=_replace(affinity, node_affinity=of_nodes)))
