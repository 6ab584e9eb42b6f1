# SPDX-License-Identifier: Apache-2.0
"""Pods of a DaemonSet by node: eligible nodes, pinning, and status counts.

Only changed nodes are examined (`DaemonCount`), so the cost of a pod change is independent of the
number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import (
    FINISHED_PHASES,
    NAME_FIELD,
    NO_EXECUTE,
    NO_SCHEDULE,
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
    find_untolerated_taint,
    key,
    node_selectors,
)
from steersman.cluster.controllers.pod_states import available_at, is_ready
from steersman.cluster.controllers.revisions import REVISION_LABEL
from steersman.cluster.store.admission.workloads import TEMPLATE_GENERATION

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


# -- the pod of a node -----------------------------------------------------------------------------


def with_daemon_tolerations(spec: PodSpec) -> PodSpec:
    """Return the spec with the tolerations of all daemon pods, which also run on unhealthy or
    cordoned nodes."""
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
    """Return the affinity with this node as the only required one; preferences are kept."""
    requirement = NodeSelectorRequirement(key=NAME_FIELD, operator="In", values=(node,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))
    node_affinity = (affinity and affinity.node_affinity) or NodeAffinity()
    node_affinity = _replace(node_affinity, required_during_scheduling_ignored_during_execution=selector)
    return _replace(affinity or Affinity(), node_affinity=node_affinity)


def pinned_document(affinity: Any, node: str) -> dict[str, Any]:
    """Return the affinity as JSON with this node as the only required one; preferences are kept."""
    known = affinity if isinstance(affinity, dict) else {}
    term = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**known, "nodeAffinity": {**(known.get("nodeAffinity") or {}), **required}}


def target_node(pod: Pod) -> str:
    """Return the node that the pod is bound or pinned to, or ""."""
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


# -- which nodes -----------------------------------------------------------------------------------


class DaemonFit(NamedTuple):
    """Whether a node should run a pod, and whether an existing pod may stay."""

    should_run: bool
    may_stay: bool


_NEVER: Final = DaemonFit(False, False)


class DaemonEligibility:
    """Eligibility of nodes for the pods of a template."""

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


# -- counting --------------------------------------------------------------------------------------


class NodeCount(NamedTuple):
    """Contribution of a node to the status of a DaemonSet and its rolling update."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    #: `is_without`, for updates without surge: the daemon is unavailable on the node; `is_served`,
    #: for updates with surge: a pod is available.
    is_without: int = 0
    is_served: int = 0


class DaemonPodsOfNode(NamedTuple):
    """Non-terminating pods of a node, of the latest template and of older ones; not `is_clear` if
    there are several of either."""

    new: Pod | None
    old: Pod | None
    is_clear: bool


class DaemonCount:
    """Pods of a DaemonSet by node, and the sums of the node counts."""

    def __init__(self, eligibility: DaemonEligibility, digest: str, generation: str, min_ready_seconds: int) -> None:
        self.eligibility = eligibility
        self.digest = digest
        self.generation = generation
        self.min_ready_seconds = min_ready_seconds
        #: Nodes to be examined.
        self.dirty: dict[str, None] = {}
        #: Nodes with a non-terminating pod of an older template.
        self.outdated: dict[str, None] = {}
        self.total = NodeCount()
        self._pods: dict[str, dict[str, Pod]] = {}
        self._counts: dict[str, NodeCount] = {}
        #: Node → time at which its ready pod becomes available.
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
        """Return the pods of a node, without finished terminating ones."""
        pods = self._pods.get(node, {}).values()
        return [
            pod for pod in pods if pod.metadata.deletion_timestamp is None or pod.status.phase not in FINISHED_PHASES
        ]

    def is_updated(self, pod: Pod) -> bool:
        """Return whether the pod is of the latest template."""
        labels = pod.metadata.labels
        has_generation = bool(self.generation) and labels.get(TEMPLATE_GENERATION_LABEL) == self.generation
        return has_generation or labels.get(REVISION_LABEL) == self.digest

    def sort_pods(self, node: str) -> DaemonPodsOfNode:
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
        """Update the sums with the state of a node; None for a missing node."""
        count = self._count(self.eligibility.fit(node), name, now) if node is not None else NodeCount()
        before = self._counts.pop(name, NodeCount())
        if node is not None:
            self._counts[name] = count
        else:
            self.outdated.pop(name, None)
            self._waiting.pop(name, None)
        self.total = NodeCount(*(sum(parts) for parts in zip(self.total, _negative(before), count, strict=True)))

    def due(self, now: float) -> Iterator[str]:
        """Remove and yield the nodes whose pod has become available."""
        for name in [name for name, moment in self._waiting.items() if moment <= now]:
            del self._waiting[name]
            yield name

    def next_due(self) -> float | None:
        return min(self._waiting.values(), default=None)

    def _count(self, fit: DaemonFit, name: str, now: float) -> NodeCount:
        pods, (new, old, is_clear) = self.pods_on(name), self.sort_pods(name)
        self._waiting.pop(name, None)
        if old is not None and is_clear:
            self.outdated[name] = None
        else:
            self.outdated.pop(name, None)
        count = NodeCount(desired=int(fit.should_run))
        if fit.should_run and pods:
            count = self._first_count(oldest_first(pods)[0], count, name, now)
        elif pods:
            count = count._replace(misscheduled=1)
        serving = old or new
        is_served = serving is not None and self.is_available(serving, now)
        is_single = is_clear and (old is None) != (new is None)
        is_without = (bool(pods) or fit.should_run) and not (is_single and is_served)
        return count._replace(is_without=int(is_without), is_served=int(is_served))

    def _first_count(self, pod: Pod, count: NodeCount, name: str, now: float) -> NodeCount:
        is_there = self.is_available(pod, now)
        moment = available_at(pod, self.min_ready_seconds)
        if moment is not None and not is_there:
            self._waiting[name] = moment
        return count._replace(
            current=1, ready=int(is_ready(pod)), available=int(is_there), updated=int(self.is_updated(pod))
        )


def oldest_first(pods: Sequence[Pod]) -> list[Pod]:
    """Sort bound pods before others, then by age."""
    return sorted(pods, key=lambda p: (not p.spec.node_name, p.metadata.creation_timestamp or "", p.metadata.name))


def template_generation(daemon_set: DaemonSet) -> str:
    """Return the API server's count of template changes, or "" if unknown."""
    text = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION, "")
    return text if text.isdecimal() else ""


def _negative(count: Iterable[int]) -> Iterator[int]:
    return (-part for part in count)
