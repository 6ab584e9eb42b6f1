# SPDX-License-Identifier: Apache-2.0
"""The pods of a DaemonSet and their nodes: which nodes are to have one, how pods are pinned to them, how they are counted.

Only nodes where something changed are looked at (`DaemonCount`); a set on thousands of nodes is not gone through for each of
its pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import (
    Affinity,
    DaemonSet,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Toleration,
    key,
    node_selectors,
)
from steersman.api.node_selectors import NAME_FIELD
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, find_untolerated_taint
from steersman.controllers.pod_states import TERMINAL_PHASES, available_at, is_ready
from steersman.controllers.revisions import REVISION_LABEL
from steersman.embedded.admission.workloads import TEMPLATE_GENERATION

TEMPLATE_GENERATION_LABEL: Final = "pod-template-generation"
_TAINT: Final = "node.kubernetes.io/"
_TOLERATED: Final = (
    (f"{_TAINT}not-ready", NO_EXECUTE),
    (f"{_TAINT}unreachable", NO_EXECUTE),
    (f"{_TAINT}disk-pressure", NO_SCHEDULE),
    (f"{_TAINT}memory-pressure", NO_SCHEDULE),
    (f"{_TAINT}pid-pressure", NO_SCHEDULE),
    (f"{_TAINT}unschedulable", NO_SCHEDULE),
)
_TOLERATED_ON_THE_HOST: Final = (f"{_TAINT}network-unavailable", NO_SCHEDULE)

_replace = msgspec.structs.replace


# -- the pod of a node -------------------------------------------------------------------------------------------------


def with_daemon_tolerations(spec: PodSpec) -> PodSpec:
    """The spec with the tolerations that every daemon's pod has: it runs on nodes that are not well, or cordoned."""
    wanted = (*_TOLERATED, _TOLERATED_ON_THE_HOST) if spec.host_network else _TOLERATED
    tolerations = list(spec.tolerations)
    for taint, effect in wanted:
        added = Toleration(key=taint, operator="Exists", effect=effect)
        same = (i for i, t in enumerate(tolerations) if (t.key, t.effect, t.operator, t.value) == _identity(added))
        place = next(same, None)
        if place is None:
            tolerations.append(added)
        else:
            tolerations[place] = added
    return _replace(spec, tolerations=tuple(tolerations))


def _identity(toleration: Toleration) -> tuple[str, str, str, str]:
    return (toleration.key, toleration.effect, toleration.operator, toleration.value)


def pinned(affinity: Affinity | None, node: str) -> Affinity:
    """The affinity with no required node but this one; preferences stay."""
    requirement = NodeSelectorRequirement(key=NAME_FIELD, operator="In", values=(node,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))
    node_affinity = (affinity and affinity.node_affinity) or NodeAffinity()
    node_affinity = _replace(node_affinity, required_during_scheduling_ignored_during_execution=selector)
    return _replace(affinity or Affinity(), node_affinity=node_affinity)


def pinned_document(affinity: Any, node: str) -> dict[str, Any]:
    """The affinity, as JSON, with no required node but this one; preferences stay."""
    known = affinity if isinstance(affinity, dict) else {}
    term = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**known, "nodeAffinity": {**(known.get("nodeAffinity") or {}), **required}}


def target_node(pod: Pod) -> str:
    """The node that the pod is on, or pinned to; "" if neither."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return ""
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.operator == "In":
                return field.values[0] if len(field.values) == 1 else ""
    return ""


# -- which nodes -------------------------------------------------------------------------------------------------------


class DaemonFit(NamedTuple):
    """Whether a node is to have a pod, and whether a pod that it has may stay."""

    should_run: bool
    may_stay: bool


_NEVER: Final = DaemonFit(False, False)


class DaemonEligibility:
    """Which nodes suit the pods of one template."""

    def __init__(self, spec: PodSpec) -> None:
        self._node_name = spec.node_name
        self._required = node_selectors.required(Pod(spec=spec))
        self._tolerations = with_daemon_tolerations(spec).tolerations

    def fit(self, node: Node) -> DaemonFit:
        name, taints = node.metadata.name, node.spec.taints
        if self._node_name not in ("", name) or not self._required.matches(node.metadata.labels, name):
            return _NEVER
        if find_untolerated_taint(taints, self._tolerations, (NO_EXECUTE, NO_SCHEDULE)) is None:
            return DaemonFit(True, True)
        return DaemonFit(False, find_untolerated_taint(taints, self._tolerations, (NO_EXECUTE,)) is None)


# -- counting ----------------------------------------------------------------------------------------------------------


class NodeCount(NamedTuple):
    """The share of one node in the status of a DaemonSet, and in its rolling update."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    #: For updates without surge: the node does without its daemon. For those with: one of its pods is available.
    is_without: int = 0
    is_served: int = 0


class DaemonPodsOfNode(NamedTuple):
    """The pods of one node that are to stay: of the latest template and of others. `is_clear` unless one of these is double."""

    new: Pod | None
    old: Pod | None
    is_clear: bool


class DaemonCount:
    """The pods of one set by node, and the sums of what the nodes count for."""

    def __init__(self, eligibility: DaemonEligibility, digest: str, generation: str, min_ready_seconds: int) -> None:
        self.eligibility = eligibility
        self.digest = digest
        self.generation = generation
        self.min_ready_seconds = min_ready_seconds
        #: Nodes where something may have to be done.
        self.dirty: dict[str, None] = {}
        #: Nodes with a pod of another template that has not been told to go.
        self.outdated: dict[str, None] = {}
        self.total = NodeCount()
        self._pods: dict[str, dict[str, Pod]] = {}
        self._counts: dict[str, NodeCount] = {}
        #: Nodes whose pod is ready and will be available at this moment.
        self._waiting: dict[str, float] = {}

    def change(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None:
            node = target_node(before)
            self._pods.get(node, {}).pop(key(before), None)
            self.dirty[node] = None
        if after is not None:
            node = target_node(after)
            self._pods.setdefault(node, {})[key(after)] = after
            self.dirty[node] = None

    def pods_on(self, node: str) -> list[Pod]:
        """The pods of a node but those that have ended and are on their way out."""
        pods = self._pods.get(node, {}).values()
        return [
            pod for pod in pods if pod.metadata.deletion_timestamp is None or pod.status.phase not in TERMINAL_PHASES
        ]

    def is_updated(self, pod: Pod) -> bool:
        """Whether the pod is of the latest template."""
        labels = pod.metadata.labels
        has_generation = bool(self.generation) and labels.get(TEMPLATE_GENERATION_LABEL) == self.generation
        return has_generation or labels.get(REVISION_LABEL) == self.digest

    def sorted_out(self, node: str) -> DaemonPodsOfNode:
        new = old = None
        for pod in self.pods_on(node):
            if pod.metadata.deletion_timestamp is not None:
                continue
            if self.is_updated(pod):
                if new is not None:
                    return DaemonPodsOfNode(None, None, False)
                new = pod
            else:
                if old is not None:
                    return DaemonPodsOfNode(None, None, False)
                old = pod
        return DaemonPodsOfNode(new, old, True)

    def is_available(self, pod: Pod, now: float) -> bool:
        moment = available_at(pod, self.min_ready_seconds)
        return moment is not None and moment <= now

    def recount(self, node: Node | None, name: str, now: float) -> None:
        """Brings the sums up to date with what is on a node, None is one that does not exist."""
        count = self._count(self.eligibility.fit(node), name, now) if node is not None else NodeCount()
        before = self._counts.pop(name, NodeCount())
        if node is not None:
            self._counts[name] = count
        else:
            self.outdated.pop(name, None)
            self._waiting.pop(name, None)
        self.total = NodeCount(*(sum(parts) for parts in zip(self.total, _negative(before), count, strict=True)))

    def due(self, now: float) -> Iterator[str]:
        """Nodes whose pod has become available by now."""
        for name in [name for name, moment in self._waiting.items() if moment <= now]:
            del self._waiting[name]
            yield name

    def next_due(self) -> float | None:
        return min(self._waiting.values(), default=None)

    def _count(self, fit: DaemonFit, name: str, now: float) -> NodeCount:
        pods, (new, old, is_clear) = self.pods_on(name), self.sorted_out(name)
        self._waiting.pop(name, None)
        if old is not None and is_clear:
            self.outdated[name] = None
        else:
            self.outdated.pop(name, None)
        count = NodeCount(desired=int(fit.should_run))
        if fit.should_run and pods:
            count = self._of_first(oldest_first(pods)[0], count, name, now)
        elif pods:
            count = count._replace(misscheduled=1)
        serving = old or new
        is_served = serving is not None and self.is_available(serving, now)
        is_single = is_clear and (old is None) != (new is None)
        is_without = (bool(pods) or fit.should_run) and not (is_single and is_served)
        return count._replace(is_without=int(is_without), is_served=int(is_served))

    def _of_first(self, pod: Pod, count: NodeCount, name: str, now: float) -> NodeCount:
        is_there = self.is_available(pod, now)
        moment = available_at(pod, self.min_ready_seconds)
        if moment is not None and not is_there:
            self._waiting[name] = moment
        return count._replace(
            current=1, ready=int(is_ready(pod)), available=int(is_there), updated=int(self.is_updated(pod))
        )


def oldest_first(pods: Sequence[Pod]) -> list[Pod]:
    """Pods on a node before others, then by age."""
    return sorted(pods, key=lambda p: (not p.spec.node_name, p.metadata.creation_timestamp or "", p.metadata.name))


def template_generation(daemon_set: DaemonSet) -> str:
    """How often the template has changed, as the API server counts it; "" if that is unknown."""
    text = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION, "")
    return text if text.isdecimal() else ""


def _negative(count: Iterable[int]) -> Iterator[int]:
    return (-part for part in count)
