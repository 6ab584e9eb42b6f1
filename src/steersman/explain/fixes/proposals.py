# SPDX-License-Identifier: Apache-2.0
"""Proposes changes that may answer each objection to a node, or to the pod as a whole.

The input is a `Situation`, the output alternatives, nearest nodes first. `search` tries them; a
wrong proposal costs only a trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Final

from steersman import api
from steersman.explain.fixes import container_changes, device_changes, node_changes, pod_changes, volume_changes
from steersman.explain.fixes.changes import Change
from steersman.explain.fixes.container_changes import lower_request
from steersman.explain.fixes.moves import MovablePods, PodSet
from steersman.explain.fixes.pod_changes import Alternative
from steersman.explain.fixes.verification import Situation, Verifier
from steersman.scheduler.diagnosis import NodeExplanation, Verdict
from steersman.simulation import REASON_GATED, REASON_NO_PROFILE

_MAX_NODES_WITH_SAME_OBJECTIONS: Final = 3
"""Maximum number of nodes with the same objections that are examined."""
_MAX_NODES: Final = 500
"""Maximum number of nodes that are searched for a free host port."""
_VOLUME_PLUGINS: Final = frozenset({"VolumeBinding", "VolumeZone"})


class Proposals:
    """Alternatives for one situation of the pod."""

    def __init__(self, verifier: Verifier, situation: Situation) -> None:
        self._verifier = verifier
        self._situation = situation
        self._pod = situation.pod

    @cached_property
    def _pods(self) -> MovablePods:
        return MovablePods(self._verifier, self._situation)

    @cached_property
    def _nodes(self) -> list[NodeExplanation]:
        """Rejecting nodes, nearest first."""
        return sorted((node for node in self._situation.explanation.nodes if node.verdicts), key=_lack)

    # -- what no node can make up for --------------------------------------------------------------------------------

    def needed(self) -> Iterator[Change]:
        """Yield the changes without which the pod fits on no node."""
        place, pod, reason = self._verifier.place, self._pod, self._situation.placement.reason
        simulation = self._verifier.simulation
        if reason == REASON_NO_PROFILE and place is not None:
            yield pod_changes.set_scheduler(place, pod.spec, next(iter(simulation.scheduler.profiles)))
        elif reason == REASON_GATED and pod.spec.scheduling_gates and place is not None:
            yield pod_changes.remove_gates(place, pod.spec)
        elif self._situation.explanation.pre_filter.rejection is not None:
            missing = list(volume_changes.missing_claims(simulation, pod))
            missing = missing or list(device_changes.missing_device_classes(simulation, self._device_claims()))
            yield from missing or volume_changes.missing_volumes(simulation, pod)

    def instead(self) -> Iterator[Alternative]:
        """Yield alternatives to the needed changes."""
        rejection = self._situation.explanation.pre_filter.rejection
        if rejection is not None:
            yield from self._claim_changes(rejection)

    # -- objections of nodes -----------------------------------------------------------------------------------------

    def of_nodes(self, objections: int, *, may_evict: bool = False) -> Iterator[Alternative]:
        """Yield one change per objection, for nodes with this number of objections. If the pod may
        preempt others, objections without an answer are left to preemption."""
        same: Counter[tuple[tuple[str, ...], ...]] = Counter()
        for node in self._nodes:
            verdicts = objections_of(node)
            signature = tuple(map(_signature, verdicts))
            if len(verdicts) != objections or same[signature] == _MAX_NODES_WITH_SAME_OBJECTIONS:
                continue
            same[signature] += 1
            found = self._situation.simulation.cluster.get(api.Node, node.node)
            answers = [list(self._answers(verdict, found, objections)) for verdict in verdicts]
            if may_evict:
                answers = list(filter(None, answers))
            yield from (tuple(part for parts in chosen for part in parts) for chosen in product(*answers))

    def moves(self) -> list[PodSet]:
        """Return sets of pods whose move off a node makes room."""
        return self._pods.sets(self._nodes)

    def _answers(self, verdict: Verdict, node: api.Node, objections: int) -> Iterator[Alternative]:
        """Yield the alternatives that answer the objection to this node."""
        match verdict.plugin:
            case "NodeUnschedulable":
                yield (node_changes.uncordon(node),)
            case "TaintToleration":
                yield from node_changes.remove_taints(self._pod.spec, node)
            case "NodeAffinity":
                yield from node_changes.add_labels(self._pod.spec, node)
            case "VolumeBinding" | "VolumeZone" | "DynamicResources":
                yield from self._claim_changes(verdict, node)
        yield from self._changes_of_pod(verdict, node, objections)

    def _changes_of_pod(self, verdict: Verdict, node: api.Node, objections: int) -> Iterator[Alternative]:
        place, spec = self._verifier.place, self._pod.spec
        if place is None:
            return
        match verdict.plugin:
            case "NodeResourcesFit":
                mine = self._verifier.changeable(spec)
                lowered = [lower_request(place, mine, shortage) for shortage in verdict.shortages]
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
            case "NodePorts":
                nodes = [self._pods.pods_on(name) for name in self._without_port(objections)]
                yield from container_changes.change_host_ports(place, spec, nodes)

    def _without_port(self, objections: int) -> list[str]:
        """Return the nodes with a used host port and this number of objections."""
        found = [
            node.node
            for node in self._nodes
            if any(verdict.plugin == "NodePorts" for verdict in node.verdicts)
            and len(objections_of(node)) == objections
        ]
        return found[:_MAX_NODES]

    def _claim_changes(self, verdict: Verdict, node: api.Node | None = None) -> Iterator[Alternative]:
        """Yield alternatives that answer an objection about the pod's claims."""
        verifier, pod = self._verifier, self._pod
        simulation = verifier.simulation
        if verdict.plugin == "DynamicResources":
            yield from device_changes.relax_device_claims(simulation, self._device_claims())
        elif verdict.plugin in _VOLUME_PLUGINS:
            cluster = self._situation.simulation
            for claim in volume_changes.unbound_claims(cluster, pod, verifier.workload, verifier.documents):
                yield from volume_changes.change_claim(simulation, claim)
            created = tuple(volume_changes.missing_volumes(cluster, pod, node))
            if created:
                yield created

    def _device_claims(self) -> list[device_changes.DeviceClaimPlace]:
        verifier, cluster = self._verifier, self._situation.simulation
        return list(device_changes.device_claims(cluster, self._pod, verifier.workload, verifier.documents))


def objections_of(node: NodeExplanation) -> tuple[Verdict, ...]:
    """Return the objections to a node; being cordoned and its taint count as one."""
    plugins = {verdict.plugin: verdict for verdict in node.verdicts}
    taint = plugins.get("TaintToleration")
    if "NodeUnschedulable" in plugins and taint is not None and taint.detail.startswith(f"{node_changes.CORDONED}:"):
        return tuple(verdict for verdict in node.verdicts if verdict is not taint)
    return node.verdicts


def _signature(verdict: Verdict) -> tuple[str, ...]:
    """Return a key that objections share if the same changes of the pod answer them."""
    if verdict.shortages:
        return verdict.plugin, *(shortage.resource for shortage in verdict.shortages)
    return (verdict.plugin, verdict.detail.rpartition(", has ")[0] or verdict.detail)


def _lack(node: NodeExplanation) -> tuple[int, float]:
    """Return how far a node is from fitting: the number of reasons, and the missing share of the
    requests."""
    shortages = [shortage for verdict in node.verdicts for shortage in verdict.shortages]
    missing = sum((shortage.asks - shortage.free) / max(1, shortage.asks) for shortage in shortages)
    return sum(max(1, len(verdict.reasons)) for verdict in node.verdicts), missing
