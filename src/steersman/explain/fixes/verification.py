# SPDX-License-Identifier: Apache-2.0
"""Tries changes on forks of a simulation that has not run yet, each of which then runs to rest.

`Verifier` runs the simulation once without changes, to know which pods are pending or preempted
anyway. Changes pass if the pod has a node in the end and no other pod is worse off: none is newly
pending, and none is preempted unless the change is about priority. The number of trials and their
total cost are limited.

If other pods are pending, or the cluster is large, a shorter trial runs first (without
`unrelated_pods`, without preemption), which fails only if the whole trial would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import codec, create_merge_patch
from steersman.base import InputError
from steersman.cluster.controllers import controller_of
from steersman.cluster.store import PodAdmission, QuotaExcess, StatusError, quota_ledger
from steersman.explain.fixes.changes import Change, Document, Edit, InputDocuments, SpecPlace
from steersman.explain.fixes.commands import deletion
from steersman.explain.fixes.fix import FixKind, ObjectName, object_name
from steersman.explain.fixes.injected_fields import InjectedFields
from steersman.explain.fixes.object_changes import suspended_job
from steersman.explain.fixes.trial_edits import recreate_pod, reference, replace_pod
from steersman.explain.fixes.unrelated_pods import unrelated_pods
from steersman.explain.fixes.workload_pods import JobRestart, WorkloadPods, workload_of
from steersman.framework import pod_requests
from steersman.scheduler.diagnosis import Explanation
from steersman.simulation import Placement, Simulation, SimulationError, Trial, is_daemon

MAX_TRIALS: Final = 200
MAX_WORK: Final = 40_000
"""Limit of the cost of all trials: decisions, plus the cost of copying the cluster."""
OBJECTS_PER_DECISION: Final = 20
"""Number of nodes and pods whose copy costs as much as one decision."""
LARGE: Final = 1000
"""From this number of nodes and pods, a trial runs without preemption first."""
MIN_TRIALS: Final = 10
"""Minimum number of trials, independent of their cost."""
NOT_FRESH: Final = "fixes can be searched only before a simulation has run: load it again"
_EVICTING: Final = frozenset({FixKind.PRIORITY})
_CLAIM_TEMPLATE: Final = api.ResourceClaimTemplate.KIND

_TEMPLATES: Final = {
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Paths of pod templates in workloads."""
_KEEP_PODS: Final = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")
"""Workloads that do not replace a pending pod when their template changes."""

_replace = msgspec.structs.replace


class TrialsExhausted(Exception):
    """The limit of trials is reached."""


class Scheduled(NamedTuple):
    """Outcome of a trial that passed."""

    node: str
    #: Pods that were preempted, or that end with a restarted Job.
    evicts: tuple[str, ...]
    #: Number of completions of that Job that are lost.
    lost_completions: int = 0


class Situation(NamedTuple):
    """A pod that is still pending after some changes, and the cluster."""

    pod: api.Pod
    placement: Placement
    explanation: Explanation
    #: Cluster at rest with the changes; do not change it.
    simulation: Simulation


class Verifier:
    """Tries changes for one pod on forks of a simulation that has not run. `whole_trials` disables
    the shorter trials: the reference for tests. Raises `InputError` if the pod never exists."""

    def __init__(self, simulation: Simulation, pod: str, *, whole_trials: bool = False) -> None:
        self.simulation = simulation
        self._pod = pod
        self._whole_trials = whole_trials
        self._known: dict[str, Scheduled | None] = {}
        #: Documents of the input, for patches.
        self.documents = InputDocuments(simulation)
        self._trials = 0
        self._share = 1.0
        if simulation.decisions:
            raise SimulationError(NOT_FRESH)
        self._objects = len(simulation.cluster.objects(api.Pod)) + len(simulation.cluster.objects(api.Node))
        #: The suspended Job that deletes the pod; None if there is none.
        given = simulation.cluster.find(api.Pod, pod)
        self.suspended = None if given is None else suspended_job(simulation, given)
        begins_settled = self._objects >= LARGE or self.suspended is not None
        self._origin = self._settled() if begins_settled else simulation
        base = self._origin.fork()
        result = base.run()
        self._cost = result.summary.decisions + self._objects // OBJECTS_PER_DECISION
        self.placement = result.placements.get(pod)
        found = base.cluster.find(api.Pod, pod)
        #: Whether a quota or limit range refused the pod.
        self.is_refused = found is None and self.suspended is None
        if found is None:
            found = given if given is not None and self.suspended is not None else self._refused_pod()
        #: The workload that created the pod; None for a bare pod.
        self.workload = workload_of(base, found)
        self._workload_pods = WorkloadPods(self.workload, found.metadata.namespace)
        self.is_given = self.is_refused or simulation.cluster.find(api.Pod, pod) is not None
        self.pod = found
        self._pending = self._pending_pods(base)
        self._preempted = [each.pod for each in result.preempted]
        self.base = base
        self._base_result = result
        self.place = self._place()
        self._injected = self._injected_fields()
        self._restart = self._job_restart()
        #: Origin of trials without unrelated pods; None if there are none.
        self._origin_without_unrelated = None if whole_trials else self._left_out()

    def _settled(self) -> Simulation:
        """Return the origin of trials in a large cluster: controllers have run, and no pod is
        placed. For a pod that controllers create then, return the input, because its template has
        to be changed first."""
        if self.simulation.cluster.find(api.Pod, self._pod) is None:
            return self.simulation
        settled = self.simulation.fork()
        settled.settle(places=False)
        settled.internals.prepare_forks(self._pod)
        return settled

    def _left_out(self) -> Simulation | None:
        is_mine = self._workload_pods.membership(self.base)
        pending = self._base_result.pending
        own = (key for key in pending if is_mine(controller_of(self.base.cluster.get(api.Pod, key))))
        others = unrelated_pods(self.base, self._base_result, (self._pod, *(own if self.workload is not None else ())))
        given = self._origin.cluster.objects(api.Pod)
        present = [given[api.key(pod)] for pod in others if api.key(pod) in given]
        if not present:
            return None
        if self._objects >= LARGE:
            self._origin.internals.prepare_forks(preemption=True)  # in whole trials they all fail, and would preempt
        origin = self._origin.fork()
        origin.exclude(present)
        return origin

    def _refused_pod(self) -> api.Pod:
        """Return the refused pod as it would have been admitted."""
        found = self.simulation.internals.journal.given(api.Pod, self._pod)
        if found is None or not isinstance(found.object, api.Pod):
            raise InputError("does not exist", object=f"Pod {self._pod}")
        namespace = self._pod.partition("/")[0]
        given = found.object
        named = _replace(given, metadata=_replace(given.metadata, namespace=namespace))
        return PodAdmission().admit(named, None, self.simulation.cluster)

    def quota_excesses(self) -> tuple[QuotaExcess, ...]:
        """Return the resources that exceed each quota that refused the pod."""
        return tuple(quota_ledger(self.simulation.cluster).excesses(self.pod)) if self.is_refused else ()

    # -- documents ---------------------------------------------------------------------------------------------------

    def _place(self) -> SpecPlace | None:
        """Return where the pod's spec is changed; None if that object is not in the input."""
        metadata, owner = self.pod.metadata, controller_of(self.pod)
        if self.workload is None or owner is None:
            place = SpecPlace(self._own_name)
            return place if place.target in self.documents else None
        maker, workload = ObjectName(owner.kind, metadata.namespace, owner.name), self.workload
        if self.is_given and maker not in self.documents:
            return None  # the owner is a placeholder, whose template is only assumed
        if self.is_given and workload.kind == api.CronJob.KIND:
            workload = maker  # the CronJob makes other Jobs from its template, and leaves this one alone
        place = SpecPlace(workload, _TEMPLATES.get(workload.kind, ()))
        return place if place.path and place.target in self.documents else None

    @property
    def _own_name(self) -> ObjectName:
        return object_name(self.pod)

    def refused_document(self, edits: Mapping[ObjectName, tuple[Document, Document]]) -> Document | None:
        """Return the refused pod after the edits; None if the pod was not refused."""
        if not self.is_refused:
            return None
        return edits[self._own_name][1] if self._own_name in edits else self.documents.original(self._own_name)

    def changeable(self, spec: api.PodSpec) -> api.PodSpec:
        """Return the spec of the pod without containers that its template does not have."""
        return spec if self._injected is None else self._injected.without_containers(spec)

    def _injected_fields(self) -> InjectedFields | None:
        """Return the fields of the pod that its template does not have; None if there are none."""
        owner, place = controller_of(self.pod), self.place
        if owner is None or place is None or not place.path or not self.is_given or owner.kind == api.DaemonSet.KIND:
            return None
        maker = SpecPlace(ObjectName(owner.kind, self.pod.metadata.namespace, owner.name), _TEMPLATES[owner.kind])
        return InjectedFields(self.pod, maker.spec_of(deepcopy(self.documents.original(maker.target)))) or None

    def _job_restart(self) -> JobRestart | None:
        """Return the Job in which the pod's spec is changed, if it has begun and has to be
        recreated."""
        if self.place is None or self.place.target.kind != api.Job.KIND:
            return None
        job = self.simulation.cluster.find(api.Job, f"{self.place.target.namespace}/{self.place.target.name}")
        restart = None if job is None else JobRestart(job, self.simulation.cluster.objects(api.Pod))
        return restart if restart is not None and restart.is_needed else None

    def recreation(self) -> tuple[Change, ...]:
        """Return the recreation of the pod if its workload would not replace it after a change of
        the template."""
        if self._restart is not None:
            return (self._restart.change(),)
        if not self.is_given or self.place is None or self.place.target.kind not in _KEEP_PODS:
            return ()
        summary = f"delete pod {self._own_name.name}, which its workload recreates"
        return (Change(FixKind.RECREATE, summary, delete=(self._own_name,), command=deletion(self._own_name)),)

    # -- trials ------------------------------------------------------------------------------------------------------

    def allow(self, share: float) -> None:
        """Allow trials until this share of the limit is used up."""
        self._share = share

    def count_trial(self) -> None:
        """Count a trial before it is made. Raises `TrialsExhausted` if the limit is reached."""
        most = min(MAX_TRIALS, max(MIN_TRIALS, MAX_WORK // max(1, self._cost)))
        if self._trials >= most * self._share:
            raise TrialsExhausted
        self._trials += 1

    def passes(self, changes: Sequence[Change]) -> Scheduled | None:
        """Return where the pod goes with these changes; None if it stays pending, or another pod is
        worse off. Raises `TrialsExhausted`."""
        if not changes:
            return None
        key = "\n".join(sorted(change.key for change in changes))
        if key not in self._known:
            self._known[key] = self._tried(changes)
        return self._known[key]

    def _tried(self, changes: Sequence[Change]) -> Scheduled | None:
        self.count_trial()
        if self._origin_without_unrelated is not None:
            passes = self._tried_from(self._origin_without_unrelated, changes) is not None
            return self._outcome(self._origin, changes)[0] if passes else None
        return self._tried_from(self._origin, changes)

    def _tried_from(self, origin: Simulation, changes: Sequence[Change]) -> Scheduled | None:
        """Return the outcome of a trial, first without preemption; that is final if no attempt
        failed that might have preempted."""
        if without_preemption := self._disabled_preemption(changes):
            scheduled, has_failed_attempts = self._outcome(origin, (*changes, *without_preemption))
            if scheduled is None or not has_failed_attempts:
                return scheduled
        return self._outcome(origin, changes)[0]

    def _disabled_preemption(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Return the change that disables preemption by the pod: what fails then fails with
        preemption too, and faster in a large cluster."""
        may_evict = any(change.kind in _EVICTING for change in changes)
        if self._objects < LARGE or self.place is None or may_evict or self._whole_trials:
            return ()
        return (_silent(self.place, lambda spec: spec.update(preemptionPolicy="Never")),)

    def _injection(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Return the change that adds fields of webhooks to pods of the changed template."""
        if self._injected is None or self.place is None:
            return ()
        is_changed = any(change.target == self.place.target for change in changes)
        return (_silent(self.place, self._injected.add_to),) if is_changed else ()

    def _outcome(self, origin: Simulation, changes: Sequence[Change]) -> tuple[Scheduled | None, bool]:
        """Return the outcome of a trial, and whether an attempt failed in it."""
        trial = self._run(changes, origin)
        if trial is None:
            return None, False
        with trial:
            return self.outcome_at_rest(trial, changes), trial.failed_pods > 0

    def _run(self, changes: Sequence[Change], origin: Simulation | None = None) -> Trial | None:
        """Return a fork with these changes at rest; None if it does not come to rest or refuses a
        change."""
        trial = (origin or self._origin).fork()
        try:
            self._apply(trial, changes)
            trial.advance()
        except (InputError, StatusError, SimulationError, LookupError):  # the last: a template lacks what the pod has
            trial.close()
            return None
        return trial

    def _apply(self, trial: Trial, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.create:
                trial.add(*change.create, validate="ignore")
        edits = self.documents.patches((*changes, *self._injection(changes)))
        gone = [name for change in changes for name in change.delete]
        starts_again = any(change.kind is FixKind.RECREATE for change in changes)
        pods = {target: after for target, (_, after) in edits.items() if target.kind == "Pod"}
        for target, (before, after) in edits.items():
            if self._restart is not None and target == self._restart.target and starts_again:
                self._restart.carry_out(trial, after)
                gone.clear()
            elif target.kind != "Pod":
                trial.patch(reference(target), create_merge_patch(before, after))
        refused = self.refused_document(edits)
        if refused is not None:
            trial.add(refused, validate="ignore")
            pods.pop(self._own_name, None)
        for document in pods.values():
            replace_pod(trial, codec.convert(document, api.Pod))
        if self.is_given and self.suspended is None and any(target.kind == _CLAIM_TEMPLATE for target in edits):
            recreate_pod(trial, self._pod)
        trial.delete(*map(reference, gone))

    def outcome_at_rest(self, trial: Trial, changes: Sequence[Change]) -> Scheduled | None:
        """Return the outcome of a trial at rest; None if the pod is pending, or another pod is
        worse off."""
        node = self._node_in(trial)
        if not node:
            return None
        evicted = tuple(each.pod for each in trial.preempted if each.pod not in self._preempted)
        may_evict = any(change.kind in _EVICTING for change in changes)
        newly_pending = (self._pending_pods(trial) - self._pending).total()
        if newly_pending > len(evicted) or (evicted and not may_evict):
            return None  # an evicted pod may wait in its turn
        if self._restart is not None and any(change.kind is FixKind.RECREATE for change in changes):
            return Scheduled(node, (*evicted, *self._restart.ended), self._restart.lost_completions)
        return Scheduled(node, evicted)

    def _node_in(self, trial: Trial) -> str:
        """Return the node of the pod, or of the one that its workload created instead; "" if there
        is none."""
        found = trial.cluster.find(api.Pod, self._pod)
        if self.workload is None:
            return "" if found is None else found.spec.node_name
        nodes, before = self._workload_pods.nodes(trial), self._workload_pods.nodes(self.base)
        if nodes.total() < before.total():
            return ""
        if found is not None and self.is_given:  # others of the workload may wait as before
            return found.spec.node_name if nodes[""] < before[""] else ""
        return "" if nodes[""] or not nodes else next(iter(nodes - before or nodes))

    def _pending_pods(self, trial: Trial) -> Counter[str]:
        """Count the other pods without a node: pods of the input by name, created ones by owner,
        because their names differ between runs."""
        given, is_mine = self.simulation.cluster.objects(api.Pod), self._workload_pods.membership(trial)
        pending: Counter[str] = Counter()
        for key, pod in trial.cluster.objects(api.Pod).items():
            if pod.spec.node_name or pod.status.phase in api.FINISHED_PHASES or key == self._pod:
                continue
            if self.workload is not None and is_mine(controller_of(pod)):
                continue
            owner = controller_of(pod)
            pending[key if owner is None or key in given else f"{owner.kind} {owner.name}"] += 1
        return pending

    def requests_on(self, node: str, changes: Sequence[Change]) -> tuple[dict[str, int], dict[str, int], int] | None:
        """Return the requests on the node after these changes, of the pod with its workload and
        daemons and of all pods, and the number of other pods."""
        self.count_trial()
        trial = self._run(changes)
        if trial is None:
            return None
        with trial:
            there = [pod for pod in trial.cluster.objects(api.Pod).values() if pod.spec.node_name == node]
            own = [pod for pod in there if self._is_own(trial, pod)]
            return (_requests(own), _requests(there), len(there) - len(own)) if own else None

    def _is_own(self, trial: Trial, pod: api.Pod) -> bool:
        return (
            api.key(pod) == self._pod
            or is_daemon(pod)
            or (self.workload is not None and self._workload_pods.has(trial, pod))
        )

    def situation(self, changes: Sequence[Change]) -> Situation | None:
        """Return the situation of the pod, or of another pod of its workload, that is still pending
        with these changes; None if there is none."""
        if not changes:
            trial: Trial | None = self.base
        else:
            self.count_trial()
            trial = self._run(changes)
        if trial is None:
            return None
        result = self._base_result if trial is self.base else trial.result()
        keys = [
            self._pod,
            *(key for key in result.pending if self._workload_pods.has(trial, trial.cluster.get(api.Pod, key))),
        ]
        for key in keys:
            placement = result.pending.get(key)
            if placement is not None:
                return Situation(trial.cluster.get(api.Pod, key), placement, result.explain(key), trial)
        return None


def _silent(place: SpecPlace, edit: Edit) -> Change:
    """Return a change of the spec for trials only, which may have no effect."""
    return Change(FixKind.SEVERAL, "", place.target, lambda document: edit(place.spec_of(document)))


def _requests(pods: Iterable[api.Pod]) -> dict[str, int]:
    """Return the sum of the pods' requests."""
    total: Counter[str] = Counter()
    for pod in pods:
        total.update(pod_requests(pod))
    return dict(total)
