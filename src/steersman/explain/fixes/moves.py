# SPDX-License-Identifier: Apache-2.0
"""Moves of other pods that make room for a pending pod: which pods, and where they go.

The input is the situation of the pod, the output sets of pods of one node, fewest and smallest
first. A set is tried on a fork as an operator would do it: the node is cordoned, the pods are
evicted in turn as their disruption budgets allow, their controllers replace them, and the scheduler
places the replacements; then the node is uncordoned and the pod goes there. Bare pods, static pods
and pods of DaemonSets stay. `simulation.probes.pod_moves` evicts and matches replacements.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from steersman import api
from steersman.api import codec, from_label_selector
from steersman.base import InputError
from steersman.explain.fixes.changes import Change, set_field
from steersman.explain.fixes.commands import piped
from steersman.explain.fixes.container_changes import holders
from steersman.explain.fixes.fix import FixKind, PodMove, object_name
from steersman.explain.fixes.injected_fields import InjectedFields
from steersman.explain.fixes.trial_edits import replace_pod
from steersman.explain.fixes.verification import Situation, Verifier
from steersman.framework import pod_requests
from steersman.scheduler.diagnosis import NodeExplanation, Verdict
from steersman.scheduler.plugins import ERR_AFFINITY_RULES_NOT_MATCH
from steersman.simulation import PodEviction, Simulation, SimulationError, Trial, belongs_to_node, is_recreated

MAX_MOVES: Final = 4
MAX_NODES: Final = 200
"""Maximum number of nodes that are examined, nearest first."""
_ROOM: Final = "NodeResourcesFit"
_PORTS: Final = "NodePorts"
_OF_ONE_POD: Final = frozenset({"NodeVolumeLimits", "InterPodAffinity", "DynamicResources", "VolumeRestrictions"})
"""Plugins whose objection a single pod on the node may cause."""
_MOVABLE: Final = frozenset({_ROOM, _PORTS}) | _OF_ONE_POD

PodSet = tuple[api.Pod, ...]


class MovablePods:
    """Movable pods of a situation by node."""

    def __init__(self, verifier: Verifier, situation: Situation) -> None:
        self._verifier = verifier
        self._situation = situation
        self._by_node: defaultdict[str, list[api.Pod]] = defaultdict(list)
        for pod in situation.simulation.cluster.objects(api.Pod).values():
            if pod.spec.node_name and pod.status.phase not in api.FINISHED_PHASES:
                self._by_node[pod.spec.node_name].append(pod)

    def pods_on(self, node: str) -> Sequence[api.Pod]:
        """Return all pods on the node."""
        return self._by_node.get(node, ())

    def sets(self, nodes: Sequence[NodeExplanation]) -> list[PodSet]:
        """Return sets of pods that could be moved off one of the nodes, which are sorted by
        distance from fitting; sets of few and small pods come first."""
        near = [node for node in nodes if {verdict.plugin for verdict in node.verdicts} <= _MOVABLE][:MAX_NODES]
        found = [pods for node in near for pods in self._sets_of(node) if 0 < len(pods) <= MAX_MOVES]
        return sorted(found, key=lambda pods: (len(pods), sum(map(_size, pods))))

    def _sets_of(self, node: NodeExplanation) -> Iterator[PodSet]:
        movable = [pod for pod in self.pods_on(node.node) if self._is_movable(pod)]
        plugins = {verdict.plugin: verdict for verdict in node.verdicts}
        blocking: list[api.Pod] = []
        if _PORTS in plugins:
            blocking = holders(self._situation.pod.spec, self.pods_on(node.node))
            if any(pod not in movable for pod in blocking):
                return
        others = [plugins[name] for name in plugins if name in _OF_ONE_POD]
        singles = [pod for pod in movable if _may_cause(self._situation.pod, pod, others)]
        for first in [[pod] for pod in singles] if others else [[]]:
            pods = _fewest([*blocking, *first], movable, plugins.get(_ROOM))
            if pods is not None:
                yield tuple(pods)

    def _is_movable(self, pod: api.Pod) -> bool:
        """Return whether the pod had its node in the input, is recreated by a controller, and does
        not belong to the node."""
        given = self._verifier.simulation.cluster.find(api.Pod, api.key(pod))
        if given is None or given.spec.node_name != pod.spec.node_name or belongs_to_node(pod):
            return False
        return is_recreated(self._situation.simulation.cluster, pod)


def _may_cause(pod: api.Pod, other: api.Pod, verdicts: Sequence[Verdict]) -> bool:
    """Return whether the other pod may cause the objection, without calling the plugin."""
    for verdict in verdicts:
        if verdict.plugin == "DynamicResources" and not other.spec.resource_claims:
            return False
        if verdict.plugin == "InterPodAffinity" and not _exclude_each_other(pod, other, verdict):
            return False
        if verdict.plugin in ("NodeVolumeLimits", "VolumeRestrictions") and not other.spec.volumes:
            return False
    return True


def _exclude_each_other(pod: api.Pod, other: api.Pod, verdict: Verdict) -> bool:
    if ERR_AFFINITY_RULES_NOT_MATCH in verdict.reasons:
        return False
    return _rejects(pod, other) or _rejects(other, pod)


def _rejects(pod: api.Pod, other: api.Pod) -> bool:
    anti = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None
    terms = anti.required_during_scheduling_ignored_during_execution if anti is not None else ()
    return any(from_label_selector(term.label_selector).matches(other.metadata.labels) for term in terms)


def _fewest(chosen: list[api.Pod], movable: Sequence[api.Pod], room: Verdict | None) -> list[api.Pod] | None:
    """Return the chosen pods and as few others as free enough room: the smallest sufficient pod, or
    else the largest ones; None if all pods are not enough, or if pods do not request the missing
    resource."""
    shortages = room.shortages if room is not None else ()
    if room is not None and not shortages:
        return None
    missing = {each.resource: each.asks - each.free for each in shortages}
    missing = _left(missing, chosen)
    if not missing:
        return chosen
    rest = [pod for pod in movable if pod not in chosen]
    enough = [pod for pod in rest if not _left(missing, [pod])]
    if enough:
        return [*chosen, min(enough, key=_size)]
    added: list[api.Pod] = []
    for pod in sorted(rest, key=lambda pod: -_share(pod, missing)):
        if not _left(missing, added):
            break
        added.append(pod)
    if _left(missing, added):
        return None
    for pod in tuple(added):
        fewer = [each for each in added if each is not pod]
        if not _left(missing, fewer):
            added = fewer
    return [*chosen, *added]


def _left(missing: Mapping[str, int], pods: Sequence[api.Pod]) -> dict[str, int]:
    """Return the amounts that are still missing without these pods."""
    left = dict(missing)
    for pod in pods:
        for resource, number in {**pod_requests(pod), "pods": 1}.items():
            if resource in left:
                left[resource] -= number
    return {resource: number for resource, number in left.items() if number > 0}


def _share(pod: api.Pod, missing: Mapping[str, int]) -> float:
    requests = {**pod_requests(pod), "pods": 1}
    return sum(min(1.0, requests.get(resource, 0) / number) for resource, number in missing.items())


def _size(pod: api.Pod) -> float:
    requests = pod_requests(pod)
    return requests.get("cpu", 0) / 1000 + requests.get("memory", 0) / 2**32


# -- carrying out ------------------------------------------------------------------------------------------------------


def try_moves(verifier: Verifier, situation: Situation, pods: PodSet) -> tuple[Change, ...] | None:
    """Try to move the pods, which are on one node, and return the changes. None if a budget forbids
    it, if a pod fits on no other node, or if the pending pod does not fit afterwards."""
    verifier.count_trial()
    with situation.simulation.fork() as trial:
        try:
            places = _evicted(trial, pods)
        except (InputError, SimulationError):
            return None
        if places is None or verifier.outcome_at_rest(trial, ()) is None:
            return None
    return tuple(_move(pod, node) for pod, node in zip(pods, places, strict=True))


def _evicted(trial: Trial, pods: PodSet) -> list[str] | None:
    """Evict the pods, run the cluster to rest and return the nodes of their replacements. None if
    one has no node, or lacks containers that a webhook would have added."""
    node, places = pods[0].spec.node_name, list[str]()
    trial.cordon(node)
    for pod in pods:
        eviction = PodEviction(trial, api.key(pod))
        trial.settle(places=False)
        for created in eviction.created():
            _inject(trial, pod, created)
        trial.advance()
        new = eviction.replacement()
        if new is None or not new.spec.node_name or _names(pod) - _names(new):
            return None
        places.append(new.spec.node_name)
    trial.uncordon(node)
    trial.advance()
    return places


def _inject(trial: Simulation, pod: api.Pod, successor: api.Pod) -> None:
    """Add to the unplaced replacement of a pod the fields that webhooks have added to the pod."""
    document = codec.to_dict(successor)
    injected = InjectedFields(pod, document["spec"])
    if injected and not successor.spec.node_name:
        injected.add_to(document["spec"])
        replace_pod(trial, codec.convert(document, api.Pod))


def _names(pod: api.Pod) -> set[str]:
    """Return the names of the pod's containers."""
    return {container.name for container in (*pod.spec.containers, *pod.spec.init_containers)}


def _move(pod: api.Pod, node: str) -> Change:
    namespace, name = pod.metadata.namespace, pod.metadata.name
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    path = shlex.quote(f"/api/v1/namespaces/{namespace}/pods/{name}/eviction")
    return Change(
        FixKind.MOVE,
        f"move pod {api.key(pod)} from {pod.spec.node_name} to {node}",
        object_name(pod),
        set_field(node, "spec", "nodeName"),
        command=piped(eviction, f"kubectl create --raw {path} -f -"),
        moves=PodMove(namespace, name, pod.spec.node_name, node),
    )
