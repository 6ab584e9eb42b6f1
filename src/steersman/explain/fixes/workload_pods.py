# SPDX-License-Identifier: Apache-2.0
"""Finds the pods of a workload in a trial, by the object at the root of their owners.

The root is found once per controller, because there are many pods and few controllers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from steersman import api
from steersman.cluster.controllers import controller_of, find_owner
from steersman.explain.fixes.changes import Change, Document
from steersman.explain.fixes.commands import as_new
from steersman.explain.fixes.fix import FixKind, ObjectName, object_name
from steersman.explain.fixes.trial_edits import reference
from steersman.simulation import Simulation

Membership = Callable[[api.OwnerReference | None], bool]
"""Function that says whether pods with this controller belong to the workload."""


class WorkloadPods:
    """Finds the pods of a workload; none for the workload None."""

    def __init__(self, workload: ObjectName | None, namespace: str) -> None:
        self._workload = workload
        self._namespace = namespace

    def membership(self, trial: Simulation) -> Membership:
        """Return the function that says which pods of a trial belong to the workload."""
        known: dict[str, bool] = {}

        def is_mine(owner: api.OwnerReference | None) -> bool:
            if owner is None:
                return False
            if owner.uid not in known:
                known[owner.uid] = _root_of(trial, owner, self._namespace) == self._workload
            return known[owner.uid]

        return is_mine

    def has(self, trial: Simulation, pod: api.Pod) -> bool:
        """Return whether the pod belongs to the workload and has not finished."""
        return pod.status.phase not in api.FINISHED_PHASES and self.membership(trial)(controller_of(pod))

    def nodes(self, trial: Simulation) -> Counter[str]:
        """Count the workload's pods by node, which is "" for pending ones."""
        is_mine = self.membership(trial)
        pods = trial.cluster.objects(api.Pod).values()
        return Counter(
            pod.spec.node_name
            for pod in pods
            if pod.status.phase not in api.FINISHED_PHASES and is_mine(controller_of(pod))
        )


def workload_of(simulation: Simulation, obj: api.Object) -> ObjectName | None:
    """Return the object at the root of the owners of this one, if it is in the cluster."""
    owner = controller_of(obj)
    return None if owner is None else _root_of(simulation, owner, obj.metadata.namespace)


def _root_of(simulation: Simulation, owner: api.OwnerReference, namespace: str) -> ObjectName | None:
    """Return the referenced controller, or the one at the root of its owners; None if it is not in
    the cluster."""
    found = find_owner(simulation.cluster, owner, namespace)
    return None if found is None else workload_of(simulation, found) or object_name(found)


# -- restarts of a Job -------------------------------------------------------------------------------------------------


class JobRestart:
    """Restart of a Job that has or had pods."""

    def __init__(self, job: api.Job, pods: Mapping[str, api.Pod]) -> None:
        """Collect the unfinished pods. Those of a suspended Job end anyway and are not counted."""
        self.target = object_name(job)
        self._unfinished = tuple(pod for pod in pods.values() if _is_of(pod, job))
        #: Pods with a node, which end.
        self.ended = tuple(api.key(pod) for pod in self._unfinished if pod.spec.node_name and not job.spec.suspend)
        self.lost_completions: int = job.status.succeeded

    @property
    def is_needed(self) -> bool:
        """Whether the Job has begun; otherwise its template can be changed."""
        return bool(self._unfinished or self.lost_completions)

    def change(self) -> Change:
        """Return the part that every fix of the Job's template includes."""
        lost = " and ".join(self._losses())
        summary = f"restart Job {self.target.name}{', so that ' if lost else ''}{lost}"
        return Change(FixKind.RECREATE, summary, delete=tuple(map(object_name, self._unfinished)))

    def _losses(self) -> Iterator[str]:
        if self.ended:
            yield "1 running pod ends" if len(self.ended) == 1 else f"{len(self.ended)} running pods end"
        if self.lost_completions:
            lost = self.lost_completions
            yield "1 completion is lost" if lost == 1 else f"{lost} completions are lost"

    def carry_out(self, trial: Simulation, document: Document) -> None:
        """Delete the Job with its pods on the trial, and create it from the document."""
        trial.delete(reference(self.target))
        left = (pod for pod in self.change().delete if trial.cluster.find(api.Pod, f"{pod.namespace}/{pod.name}"))
        trial.delete(*map(reference, left))
        trial.add(as_new(document), validate="ignore")


def _is_of(pod: api.Pod, job: api.Job) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner.uid == job.metadata.uid and pod.status.phase not in api.FINISHED_PHASES
