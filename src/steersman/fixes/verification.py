# SPDX-License-Identifier: Apache-2.0
"""Tries changes out, as a user would: on a fork of the simulation that has not run yet, which then runs to rest.

`Verifier` runs the simulation once without changes, to know what was pending and preempted anyway. A set of changes passes if
the pod has a node in the end and nobody else is worse off: no pod is pending that was not, and none is preempted, unless that
is what the change is about. The number of trials is bounded, and so is the number of decisions in all of them.

Where others wait in vain, or the cluster is large, a trial is made in a shorter form first (`bystanders`, no preemption) that
fails only if the whole one does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import codec
from steersman.controllers.controller import controller_of
from steersman.embedded import StatusError
from steersman.embedded.admission.pods import PodAdmission
from steersman.embedded.admission.quotas import QuotaExcess, quota_ledger
from steersman.errors import InputError
from steersman.explain import Explanation
from steersman.fixes.bystanders import bystanders
from steersman.fixes.changes import Change, Document, Edit, SpecPlace, merge_patch
from steersman.fixes.commands import deletion
from steersman.fixes.fix import FixKind, ObjectName
from steersman.fixes.injected_fields import InjectedFields
from steersman.fixes.input_documents import InputDocuments
from steersman.fixes.job_restart import JobRestart
from steersman.fixes.object_changes import suspended_job
from steersman.fixes.trial_edits import make_again, reference, replace_pod
from steersman.fixes.workload_pods import WorkloadPods, workload_of
from steersman.framework.pod_resources import pod_requests
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim import Simulation
from steersman.sim.placements import Placement
from steersman.sim.tasks import SimulationError

MOST_TRIALS: Final = 200
MOST_WORK: Final = 40_000
"""The bound of all trials together: a trial costs as much as its decisions, and its share of copying the cluster."""
OBJECTS_PER_DECISION: Final = 20
"""Copying so many nodes and pods, and looking at them anew, takes about as long as a decision."""
LARGE: Final = 1000
"""In a cluster of so many nodes and pods a trial is made without preemption first."""
LEAST_TRIALS: Final = 10
"""So many trials are made, however much one costs."""
NOT_FRESH: Final = "fixes are looked for before a simulation has run: load it again"
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
"""Where workloads keep the template of their pods."""
_KEEP_PODS: Final = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")
"""Workloads that do not replace a pending pod when their template changes."""

_replace = msgspec.structs.replace


class TrialsExhausted(Exception):
    """No more trials are to be made."""


class Scheduled(NamedTuple):
    """How a trial ended that passed."""

    node: str
    #: Pods that were preempted, or that end with the Job that is started again.
    evicts: tuple[str, ...]
    #: How many completions of that Job are lost.
    lost_completions: int = 0


class Situation(NamedTuple):
    """The cluster that a pod which is still pending faces after some changes."""

    pod: api.Pod
    placement: Placement
    explanation: Explanation
    #: The cluster at rest, with the changes; not to be changed itself.
    simulation: Simulation


class Verifier:
    """Tries changes for one pod. `simulation` has not run yet, and stays so. With `whole_trials` none is made in a shorter form
    first: the plain twin. Raises `InputError` for a pod that there never is."""

    def __init__(self, simulation: Simulation, pod: str, *, whole_trials: bool = False) -> None:
        self.simulation = simulation
        self._pod = pod
        self._whole_trials = whole_trials
        self._known: dict[str, Scheduled | None] = {}
        #: The input, to make patches of.
        self.documents = InputDocuments(simulation)
        self._trials = 0
        self._share = 1.0
        if simulation.decisions:
            raise SimulationError(NOT_FRESH)
        self._objects = len(simulation.cluster.objects(api.Pod)) + len(simulation.cluster.objects(api.Node))
        #: The Job that is suspended, so that the pod is taken away; None: there is none.
        given = simulation.cluster.find(api.Pod, pod)
        self.suspended = None if given is None else suspended_job(simulation, given)
        begins_settled = self._objects >= LARGE or self.suspended is not None
        self._origin = self._settled() if begins_settled else simulation
        base = self._origin.fork()
        result = base.run()
        self._cost = result.summary.decisions + self._objects // OBJECTS_PER_DECISION
        self.placement = result.placements.get(pod)
        found = base.cluster.find(api.Pod, pod)
        #: Whether a quota, or another limit, has not let the pod in.
        self.is_refused = found is None and self.suspended is None
        if found is None:
            found = given if given is not None and self.suspended is not None else self._refused_pod()
        #: The workload that makes the pod, and with it others; None: the pod is alone.
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
        #: What trials begin with that leave bystanders out; None: there are none.
        self._without_bystanders = None if whole_trials else self._left_out()

    def _settled(self) -> Simulation:
        """The simulation that trials begin with in a large cluster: controllers have looked at everything, and no pod was
        placed yet. Not for pods that controllers make only then, whose templates have to be changed before."""
        if self.simulation.cluster.find(api.Pod, self._pod) is None:
            return self.simulation
        settled = self.simulation.fork()
        settled.settle(places=False)
        settled.look_at(self._pod)
        return settled

    def _left_out(self) -> Simulation | None:
        is_mine = self._workload_pods.membership(self.base)
        pending = self._base_result.pending
        own = (key for key in pending if is_mine(controller_of(self.base.cluster.get(api.Pod, key))))
        others = bystanders(self.base, self._base_result, (self._pod, *(own if self.workload is not None else ())))
        given = self._origin.cluster.objects(api.Pod)
        present = [given[api.key(pod)] for pod in others if api.key(pod) in given]
        if not present:
            return None
        if self._objects >= LARGE:
            self._origin.prepare_preemption()  # in whole trials they all fail, and would preempt
        origin = self._origin.fork()
        origin.leave_out(present)
        return origin

    def _refused_pod(self) -> api.Pod:
        """The pod as it would have been let in."""
        found = self.simulation.given(api.Pod, self._pod)
        if found is None or not isinstance(found.object, api.Pod):
            raise InputError("does not exist", object=f"Pod {self._pod}")
        namespace = self._pod.partition("/")[0]
        given = found.object
        named = _replace(given, metadata=_replace(given.metadata, namespace=namespace))
        return PodAdmission().admit(named, None, self.simulation.cluster)

    def quota_excesses(self) -> tuple[QuotaExcess, ...]:
        """The resources that the pod would use too much of, by each quota that has not let it in."""
        return tuple(quota_ledger(self.simulation.cluster).excesses(self.pod)) if self.is_refused else ()

    # -- documents ---------------------------------------------------------------------------------------------------

    def _place(self) -> SpecPlace | None:
        """Where the pod's spec is to be changed; None: nowhere, as the object that says it was not given."""
        metadata, owner = self.pod.metadata, controller_of(self.pod)
        if self.workload is None or owner is None:
            place = SpecPlace(ObjectName("Pod", metadata.namespace, metadata.name))
            return place if place.target in self.documents else None
        maker, workload = ObjectName(owner.kind, metadata.namespace, owner.name), self.workload
        if self.is_given and maker not in self.documents:
            return None  # something stands in for the owner, with a template that is only assumed
        if self.is_given and workload.kind == api.CronJob.KIND:
            workload = maker  # the CronJob makes other Jobs from its template, and leaves this one alone
        place = SpecPlace(workload, _TEMPLATES.get(workload.kind, ()))
        return place if place.path and place.target in self.documents else None

    @property
    def _own_name(self) -> ObjectName:
        return ObjectName("Pod", self.pod.metadata.namespace, self.pod.metadata.name)

    def refused_document(self, edits: Mapping[ObjectName, tuple[Document, Document]]) -> Document | None:
        """The pod that was refused, after the edits; None: it was not."""
        if not self.is_refused:
            return None
        return edits[self._own_name][1] if self._own_name in edits else self.documents.original(self._own_name)

    def changeable(self, spec: api.PodSpec) -> api.PodSpec:
        """The spec of the pod without containers that are not in the template where it is changed."""
        return spec if self._injected is None else self._injected.without_containers(spec)

    def _injected_fields(self) -> InjectedFields | None:
        """The fields that the pod has beyond the template that it was made from; None: none."""
        owner, place = controller_of(self.pod), self.place
        if owner is None or place is None or not place.path or not self.is_given or owner.kind == api.DaemonSet.KIND:
            return None
        maker = SpecPlace(ObjectName(owner.kind, self.pod.metadata.namespace, owner.name), _TEMPLATES[owner.kind])
        return InjectedFields(self.pod, maker.spec_of(deepcopy(self.documents.original(maker.target)))) or None

    def _job_restart(self) -> JobRestart | None:
        """The Job in which the pod's spec is changed, if it has begun: it has to be written again."""
        if self.place is None or self.place.target.kind != api.Job.KIND:
            return None
        job = self.simulation.cluster.find(api.Job, f"{self.place.target.namespace}/{self.place.target.name}")
        restart = None if job is None else JobRestart(job, self.simulation.cluster.objects(api.Pod))
        return restart if restart is not None and restart.is_needed else None

    def recreation(self) -> tuple[Change, ...]:
        """Has the pod made again, where its workload would keep it as it is when the template changes."""
        if self._restart is not None:
            return (self._restart.change(),)
        if not self.is_given or self.place is None or self.place.target.kind not in _KEEP_PODS:
            return ()
        summary = f"delete pod {self._own_name.name}, which is made again"
        return (Change(FixKind.RECREATE, summary, delete=(self._own_name,), command=deletion(self._own_name)),)

    # -- trials ------------------------------------------------------------------------------------------------------

    def allow(self, share: float) -> None:
        """From now on, trials may be made until this share of all that may be made is used up."""
        self._share = share

    def count_trial(self) -> None:
        """Is called before every trial; raises `TrialsExhausted` if there were enough."""
        most = min(MOST_TRIALS, max(LEAST_TRIALS, MOST_WORK // max(1, self._cost)))
        if self._trials >= most * self._share:
            raise TrialsExhausted
        self._trials += 1

    def passes(self, changes: Sequence[Change]) -> Scheduled | None:
        """Where the pod goes with these changes; None: it stays pending, or somebody else is worse off. Raises
        `TrialsExhausted`."""
        if not changes:
            return None
        key = "\n".join(sorted(change.key for change in changes))
        if key not in self._known:
            self._known[key] = self._tried(changes)
        return self._known[key]

    def _tried(self, changes: Sequence[Change]) -> Scheduled | None:
        self.count_trial()
        if self._without_bystanders is not None:
            passes = self._tried_from(self._without_bystanders, changes) is not None
            return self._outcome(self._origin, changes)[0] if passes else None
        return self._tried_from(self._origin, changes)

    def _tried_from(self, origin: Simulation, changes: Sequence[Change]) -> Scheduled | None:
        """How a trial ends: without preemption first, which is all if nobody was tried in vain who could have preempted."""
        if without_preemption := self._without_preemption(changes):
            scheduled, was_tried_in_vain = self._outcome(origin, (*changes, *without_preemption))
            if scheduled is None or not was_tried_in_vain:
                return scheduled
        return self._outcome(origin, changes)[0]

    def _without_preemption(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Has the pod preempt nobody: what does not pass so does not pass at all, and in a large cluster fails much faster."""
        may_evict = any(change.kind in _EVICTING for change in changes)
        if self._objects < LARGE or self.place is None or may_evict or self._whole_trials:
            return ()
        return (_silent(self.place, lambda spec: spec.update(preemptionPolicy="Never")),)

    def _injection(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Has pods that are made from the changed template carry what webhooks put into them."""
        if self._injected is None or self.place is None:
            return ()
        is_changed = any(change.target == self.place.target for change in changes)
        return (_silent(self.place, self._injected.add_to),) if is_changed else ()

    def _outcome(self, origin: Simulation, changes: Sequence[Change]) -> tuple[Scheduled | None, bool]:
        """How a trial ends, and whether it tried a pod in vain."""
        trial = self._run(changes, origin)
        if trial is None:
            return None, False
        with trial:
            return self.judged(trial, changes), trial.pods_tried_in_vain > 0

    def _run(self, changes: Sequence[Change], origin: Simulation | None = None) -> Simulation | None:
        """A fork with these changes, at rest; None: it does not come to rest, or refuses one of them."""
        trial = (origin or self._origin).fork()
        try:
            self._apply(trial, changes)
            trial.advance()
        except (InputError, StatusError, SimulationError, LookupError):  # the last: a template lacks what the pod has
            trial.close()
            return None
        return trial

    def _apply(self, trial: Simulation, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.create:
                trial.add(*change.create)
        edits = self.documents.patches((*changes, *self._injection(changes)))
        gone = [name for change in changes for name in change.delete]
        starts_again = any(change.kind is FixKind.RECREATE for change in changes)
        pods = {target: after for target, (_, after) in edits.items() if target.kind == "Pod"}
        for target, (before, after) in edits.items():
            if self._restart is not None and target == self._restart.target and starts_again:
                self._restart.carry_out(trial, after)
                gone.clear()
            elif target.kind != "Pod":
                trial.patch(reference(target), merge_patch(before, after))
        refused = self.refused_document(edits)
        if refused is not None:
            trial.add(refused)
            pods.pop(self._own_name, None)
        for document in pods.values():
            replace_pod(trial, codec.convert(document, api.Pod))
        if self.is_given and self.suspended is None and any(target.kind == _CLAIM_TEMPLATE for target in edits):
            make_again(trial, self._pod)
        trial.delete(*map(reference, gone))

    def judged(self, trial: Simulation, changes: Sequence[Change]) -> Scheduled | None:
        """How a trial at rest ended; None: the pod is pending, or somebody is worse off."""
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

    def _node_in(self, trial: Simulation) -> str:
        """The node of the pod, or of the one that its workload has made instead; "" if there is none."""
        found = trial.cluster.find(api.Pod, self._pod)
        if self.workload is None:
            return "" if found is None else found.spec.node_name
        nodes, before = self._workload_pods.nodes(trial), self._workload_pods.nodes(self.base)
        if nodes.total() < before.total():
            return ""
        if found is not None and self.is_given:  # others of the workload may wait as before
            return found.spec.node_name if nodes[""] < before[""] else ""
        return "" if nodes[""] or not nodes else next(iter(nodes - before or nodes))

    def _pending_pods(self, trial: Simulation) -> Counter[str]:
        """The other pods without a node: by name those that were given, by owner those that were made, whose names differ
        from run to run."""
        given, is_mine = self.simulation.cluster.objects(api.Pod), self._workload_pods.membership(trial)
        pending: Counter[str] = Counter()
        for key, pod in trial.cluster.objects(api.Pod).items():
            if pod.spec.node_name or pod.status.phase in FINISHED_PHASES or key == self._pod:
                continue
            if self.workload is not None and is_mine(controller_of(pod)):
                continue
            owner = controller_of(pod)
            pending[key if owner is None or key in given else f"{owner.kind} {owner.name}"] += 1
        return pending

    def requests_on(self, node: str, changes: Sequence[Change]) -> tuple[dict[str, int], dict[str, int]] | None:
        """The requests on the node after these changes: those of the pod, its workload and the node's daemons, and by all
        pods."""
        self.count_trial()
        trial = self._run(changes)
        if trial is None:
            return None
        with trial:
            there = [pod for pod in trial.cluster.objects(api.Pod).values() if pod.spec.node_name == node]
            own = [pod for pod in there if self._is_own(trial, pod)]
            return (_requests(own), _requests(there)) if own else None

    def _is_own(self, trial: Simulation, pod: api.Pod) -> bool:
        owner = controller_of(pod)
        is_daemon = owner is not None and owner.kind == api.DaemonSet.KIND
        return (
            api.key(pod) == self._pod
            or is_daemon
            or (self.workload is not None and self._workload_pods.has(trial, pod))
        )

    def situation(self, changes: Sequence[Change]) -> Situation | None:
        """The situation that the pod, or another one of its workload, still faces with these changes; None: there is none, or
        nobody knows."""
        if not changes:
            trial: Simulation | None = self.base
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
    """A change of the spec for trials alone, which may leave it as it is."""
    return Change(FixKind.SEVERAL, "", place.target, lambda document: edit(place.spec_of(document)))


def _requests(pods: Iterable[api.Pod]) -> dict[str, int]:
    """The sum of the pods' requests."""
    total: Counter[str] = Counter()
    for pod in pods:
        total.update(pod_requests(pod))
    return dict(total)
