# SPDX-License-Identifier: Apache-2.0
"""Room for a pending pod by moving named pods: which ones, and where they go.

In comes what the pod faces, out go sets of pods of one node, the fewest and smallest first. A set is carried out on a copy of
the cluster as an operator would: the node is cordoned, the pods are evicted one after the other, which their disruption
budgets have to allow, their controllers make others, and the scheduler places them; then the node is uncordoned and the pod
goes there. Pods that nobody would make again stay, and so do those of DaemonSets and static ones. `plan.compaction` moves
pods for whole clusters.
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final

from steersman import api
from steersman.api import codec
from steersman.api.selectors import from_label_selector
from steersman.controllers.controller import controller_of
from steersman.errors import InputError
from steersman.explain import NodeExplanation, Verdict
from steersman.fixes.changes import Change, Document
from steersman.fixes.fix import FixKind, ObjectName, PodMove
from steersman.fixes.host_ports import holders
from steersman.fixes.injected_fields import InjectedFields
from steersman.fixes.trial_edits import replace_pod
from steersman.fixes.verification import Situation, Verifier
from steersman.framework.pod_resources import pod_requests
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.kubelets.drain import MIRROR_POD
from steersman.plugins.inter_pod_affinity.filtering import ERR_AFFINITY_RULES_NOT_MATCH
from steersman.sim import Simulation
from steersman.sim.tasks import SimulationError

MOST_MOVES: Final = 4
MOST_NODES: Final = 200
"""So many nodes, those that lack least, are looked at."""
_ROOM: Final = "NodeResourcesFit"
_PORTS: Final = "NodePorts"
_OF_ONE_POD: Final = frozenset({"NodeVolumeLimits", "InterPodAffinity", "DynamicResources", "VolumeRestrictions"})
"""Plugins whose objection may go with a single pod of the node."""
_MOVABLE: Final = frozenset({_ROOM, _PORTS}) | _OF_ONE_POD

PodSet = tuple[api.Pod, ...]


class MovablePods:
    """The pods of a situation by node, and which of them may be moved."""

    def __init__(self, verifier: Verifier, situation: Situation) -> None:
        self._verifier = verifier
        self._situation = situation
        self._by_node: defaultdict[str, list[api.Pod]] = defaultdict(list)
        for pod in situation.simulation.cluster.objects(api.Pod).values():
            if pod.spec.node_name and pod.status.phase not in FINISHED_PHASES:
                self._by_node[pod.spec.node_name].append(pod)

    def on(self, node: str) -> Sequence[api.Pod]:
        """All pods on the node."""
        return self._by_node.get(node, ())

    def sets(self, nodes: Sequence[NodeExplanation]) -> list[PodSet]:
        """Sets of pods that could be moved off one of the nodes, which are given by how much they lack; few and small pods come
        first."""
        near = [node for node in nodes if {verdict.plugin for verdict in node.verdicts} <= _MOVABLE][:MOST_NODES]
        found = [pods for node in near for pods in self._sets_of(node) if 0 < len(pods) <= MOST_MOVES]
        return sorted(found, key=lambda pods: (len(pods), sum(map(_size, pods))))

    def _sets_of(self, node: NodeExplanation) -> Iterator[PodSet]:
        movable = [pod for pod in self.on(node.node) if self._is_movable(pod)]
        plugins = {verdict.plugin: verdict for verdict in node.verdicts}
        blocking: list[api.Pod] = []
        if _PORTS in plugins:
            blocking = holders(self._situation.pod.spec, self.on(node.node))
            if any(pod not in movable for pod in blocking):
                return
        others = [plugins[name] for name in plugins if name in _OF_ONE_POD]
        singles = [pod for pod in movable if _is_in_the_way(self._situation.pod, pod, others)]
        for first in [[pod] for pod in singles] if others else [[]]:
            pods = _fewest([*blocking, *first], movable, plugins.get(_ROOM))
            if pods is not None:
                yield tuple(pods)

    def _is_movable(self, pod: api.Pod) -> bool:
        """Whether the pod came with its node, its controller would make it again, and it does not belong to the node."""
        owner = controller_of(pod)
        if owner is None or owner.kind == api.DaemonSet.KIND or MIRROR_POD in pod.metadata.annotations:
            return False
        given = self._verifier.simulation.cluster.find(api.Pod, api.key(pod))
        kind = api.KINDS.get(owner.kind)
        if kind is None or given is None or given.spec.node_name != pod.spec.node_name:
            return False
        found = self._situation.simulation.cluster.find(kind, f"{pod.metadata.namespace}/{owner.name}")
        return found is not None and found.metadata.uid == owner.uid


def _is_in_the_way(pod: api.Pod, other: api.Pod, verdicts: Sequence[Verdict]) -> bool:
    """Whether an objection may be about the other pod, as far as can be told without asking the plugin."""
    for verdict in verdicts:
        if verdict.plugin == "DynamicResources" and not other.spec.resource_claims:
            return False
        if verdict.plugin == "InterPodAffinity" and not _are_averse(pod, other, verdict):
            return False
        if verdict.plugin in ("NodeVolumeLimits", "VolumeRestrictions") and not other.spec.volumes:
            return False
    return True


def _are_averse(pod: api.Pod, other: api.Pod, verdict: Verdict) -> bool:
    if ERR_AFFINITY_RULES_NOT_MATCH in verdict.reasons:
        return False
    return _rejects(pod, other) or _rejects(other, pod)


def _rejects(pod: api.Pod, other: api.Pod) -> bool:
    anti = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None
    terms = anti.required_during_scheduling_ignored_during_execution if anti is not None else ()
    return any(from_label_selector(term.label_selector).matches(other.metadata.labels) for term in terms)


def _fewest(chosen: list[api.Pod], movable: Sequence[api.Pod], room: Verdict | None) -> list[api.Pod] | None:
    """The chosen pods, and as few others as the room takes: one that is just large enough, else the largest; None: all of
    them are not enough, or something is missing that pods do not ask for."""
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
    """The amounts that are still missing without these pods."""
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


def moved(verifier: Verifier, situation: Situation, pods: PodSet) -> tuple[Change, ...] | None:
    """The changes that moving the pods, which are on one node, comes to; None: a budget forbids it, one of them finds no other
    place, or the pending pod does not fit afterwards."""
    verifier.count_trial()
    with situation.simulation.fork() as trial:
        try:
            places = _evicted(trial, pods)
        except (InputError, SimulationError):
            return None
        if places is None or verifier.judged(trial, ()) is None:
            return None
    return tuple(_move(pod, node) for pod, node in zip(pods, places, strict=True))


def _evicted(trial: Simulation, pods: PodSet) -> list[str] | None:
    """Evicts the pods, and lets the cluster come to rest: where their successors are; None: one has no node, or was placed
    without containers that a webhook would have put into it."""
    node, places = pods[0].spec.node_name, list[str]()
    trial.cordon(node)
    for pod in pods:
        before = _uids(trial, pod)
        trial.evict(api.key(pod))
        trial.settle(places=False)
        for successor in _came(trial, pod, before):
            _inject(trial, pod, successor)
        trial.advance()
        came = _came(trial, pod, before)
        if len(came) != 1 or not came[0].spec.node_name or _names(pod) - _names(came[0]):
            return None
        places.append(came[0].spec.node_name)
    trial.uncordon(node)
    trial.advance()
    return places


def _inject(trial: Simulation, pod: api.Pod, successor: api.Pod) -> None:
    """Gives the successor of a pod, which has no node yet, what webhooks have put into the pod: they would do so again."""
    document = codec.to_dict(successor)
    injected = InjectedFields(pod, document["spec"])
    if injected and not successor.spec.node_name:
        injected.add_to(document["spec"])
        replace_pod(trial, codec.convert(document, api.Pod))


def _came(trial: Simulation, pod: api.Pod, before: Container[str]) -> list[api.Pod]:
    """The pods with the controller of this one that were not there before, by uid."""
    return [each for uid, each in _uids(trial, pod).items() if uid not in before]


def _names(pod: api.Pod) -> set[str]:
    """The names of the pod's containers."""
    return {container.name for container in (*pod.spec.containers, *pod.spec.init_containers)}


def _uids(trial: Simulation, pod: api.Pod) -> dict[str, api.Pod]:
    """The pods with the controller of this one, by uid."""
    owner = controller_of(pod)
    wanted = "" if owner is None else owner.uid
    return {
        other.metadata.uid: other
        for other in trial.cluster.objects(api.Pod).values()
        if any(reference.uid == wanted and reference.controller for reference in other.metadata.owner_references)
    }


def _move(pod: api.Pod, node: str) -> Change:
    def edit(document: Document) -> None:
        document["spec"]["nodeName"] = node

    namespace, name = pod.metadata.namespace, pod.metadata.name
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    body = shlex.quote(json.dumps(eviction, separators=(",", ":")))
    return Change(
        FixKind.MOVE,
        f"move pod {api.key(pod)} from {pod.spec.node_name} to {node}",
        ObjectName("Pod", namespace, name),
        edit,
        command=f"echo {body} | kubectl create --raw /api/v1/namespaces/{namespace}/pods/{name}/eviction -f -",
        moves=PodMove(namespace, name, pod.spec.node_name, node),
    )
