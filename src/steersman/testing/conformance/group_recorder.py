# SPDX-License-Identifier: Apache-2.0
"""Results of scheduling cycles in the format of scenarios with pod groups, from the reports to
observers.

A cycle is that of a pod, or that of a group or a hierarchy of groups. Its results are complete
after the bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steersman import api
from steersman.framework import CycleState, PodInfo
from steersman.scheduler.assembly import AttemptObserver
from steersman.scheduler.cycle import Decision, Failed, GroupCycle, Scheduled, Unschedulable
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.plugins import CLAIMS_STATE_KEY, VOLUMES_STATE_KEY, CycleClaims, CycleVolumes, PodVolumes
from steersman.scheduler.queue import QueuedPodInfo
from steersman.testing.conformance.devices import listed_devices
from steersman.testing.conformance.group_cluster import GroupWriter, StoredObjects
from steersman.testing.conformance.group_cycles import Document, cycle_document
from steersman.testing.conformance.scenarios import decision_document, evaluation_document

_SCORE_COLUMNS = ("raw", "norm")


class CycleRecorder(AttemptObserver):
    """Records the cycle of a pod or of a group; `take` returns it after the bindings."""

    def __init__(self, objects: StoredObjects, writer: GroupWriter, node_names: Callable[[], Sequence[str]]) -> None:
        self._objects = objects
        self._writer = writer
        self._node_names = node_names
        self._report: Document = {}
        self._pod: Document | None = None
        self._group: GroupCycle | None = None
        self._rejectors: dict[str, list[str]] = {}
        #: Volumes and devices of bound pods, by name.
        self._resources: dict[str, Document] = {}

    # -- observing -------------------------------------------------------------------------------

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        if not _is_member(pod.pod):
            self._report = evaluation_document(evaluation, self._node_names())

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        if not _is_member(queued.pod):
            outcome = decision_document(decision, self._report, len(self._node_names()))
            document = {"entity": "pod", "pod": queued.key, "profile": queued.profile, **self._report, **outcome}
            self._pod = _canonical(document)

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        if isinstance(decision, Unschedulable):
            self._rejectors[queued.key] = sorted(decision.diagnosis.unschedulable_plugins)

    def bound(self, decision: Scheduled) -> None:
        self._resources[decision.pod.key] = _resources(decision.state, decision.node)

    def group_cycle(self, cycle: GroupCycle) -> None:
        self._group = cycle

    # -- documents -------------------------------------------------------------------------------

    def take(self) -> Document | None:
        """Return the cycle that was observed; None if nothing was scheduled."""
        document = self._group_document() if self._group is not None else self._pod_document()
        self._report, self._pod, self._group = {}, None, None
        self._rejectors.clear()
        self._resources.clear()
        self._writer.begin_cycle()
        return document

    def _pod_document(self) -> Document | None:
        if self._pod is None:
            return None
        pod = self._pod["pod"]
        failure = self._writer.failures.get(pod)
        if self._pod["outcome"] == "scheduled" and failure is not None:
            return {**self._pod, "outcome": "error", "reason": failure.reason, "message": failure.message}
        return {**self._pod, **self._resources.get(pod, {})}

    def _group_document(self) -> Document:
        assert self._group is not None
        conditions = {api.key(group): condition_document(group) for group in self._objects.by_name(api.PodGroup)}
        return cycle_document(self._group, [self._member(pod) for pod in self._group.pods], conditions)

    def _member(self, pod: str) -> Document:
        node, failure = self._writer.bound.get(pod), self._writer.failures.get(pod)
        if node is not None:
            return {"pod": pod, "node": node, **self._resources.get(pod, {})}
        if failure is None:
            return {"pod": pod}
        document: Document = {"pod": pod, "reason": failure.reason, "message": failure.message}
        if failure.nomination is not None and failure.nomination.node:
            document["nominatedNode"] = failure.nomination.node
        if rejectors := self._rejectors.get(pod):
            document["unschedulablePlugins"] = rejectors
        return document


def condition_document(group: api.PodGroup) -> Document | None:
    """Return the condition of the group that says whether it was scheduled."""
    for condition in group.status.conditions:
        if condition.type == api.INITIALLY_SCHEDULED:
            return {"status": condition.status, "reason": condition.reason, "message": condition.message}
    return None


def _is_member(pod: api.Pod) -> bool:
    return pod.spec.scheduling_group is not None and bool(pod.spec.scheduling_group.pod_group_name)


def _resources(state: CycleState, node: str) -> Document:
    """Return the volumes and devices that a pod has reserved."""
    cycle = state.read(VOLUMES_STATE_KEY, CycleVolumes)
    volumes = cycle.by_node.get(node, PodVolumes()) if cycle is not None else PodVolumes()
    claims = state.read(CLAIMS_STATE_KEY, CycleClaims) or CycleClaims()
    document: Document = {
        "volumeBindings": {b.claim.metadata.name: b.volume.metadata.name for b in volumes.bindings},
        "volumeProvisions": sorted(provision.claim.metadata.name for provision in volumes.provisions),
        "allocations": {
            claim.metadata.name: listed_devices(claims.allocations.get(index, claim.status.allocation))
            for index, claim in enumerate(claims.own_claims)
        },
    }
    return {name: part for name, part in document.items() if part}


def _canonical(document: Document) -> Document:
    """Return the cycle of a pod without empty parts, in the order and the short form of the
    corpus."""
    result = {name: part for name, part in document.items() if part or name == "feasible"}
    if "feasible" in result and not result["feasible"]:
        del result["feasible"]
    if "rejected" in result:
        result["rejected"] = sorted(result["rejected"], key=_rejection_order)
    if "scores" in result:
        result["scores"] = _short_scores(result["scores"])
    if "postFilter" in result:
        result["postFilter"] = _post_filter(result["postFilter"])
    return result


def _rejection_order(group: Mapping[str, Any]) -> str:
    return "|".join((group["code"], group["plugin"], *group["reasons"]))


def _short_scores(scores: Document) -> Document:
    plugins = [{**one, **{name: _short(one[name]) for name in _SCORE_COLUMNS}} for one in scores["plugins"]]
    return {**scores, "plugins": plugins, "total": _short(scores["total"])}


def _short(column: Sequence[int]) -> int | Sequence[int]:
    """Return the number that all nodes have, or the column."""
    return column[0] if len(set(column)) == 1 else column


def _post_filter(outcome: Document) -> Document:
    """Return the result of PostFilter without empty parts, with sorted victims."""
    result = {name: part for name, part in outcome.items() if part}
    if "victims" in result:
        result["victims"] = sorted(result["victims"])
    if "candidates" in result:
        result["candidates"] = [{**one, "victims": sorted(one["victims"])} for one in result["candidates"]]
    return result
