# SPDX-License-Identifier: Apache-2.0
"""Restarts of a Job, whose template is immutable: which pods end with it, and which completions are
lost.

A trial restarts the Job as the fix does, so that all of its pods are scheduled again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steersman import api
from steersman.cluster.controllers import controller_of
from steersman.explain.fixes.api_rules import as_new
from steersman.explain.fixes.changes import Change, Document
from steersman.explain.fixes.fix import FixKind, object_name
from steersman.explain.fixes.trial_edits import reference
from steersman.simulation import Simulation


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
