# SPDX-License-Identifier: Apache-2.0
"""A Job that is written again, because no API server changes its template: what ends with it, and what is lost.

`Verifier` asks. A trial starts the Job again as the fix does, so that all of its pods have to find a node once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steersman import api
from steersman.controllers.controller import controller_of
from steersman.fixes.api_rules import as_new
from steersman.fixes.changes import Change, Document
from steersman.fixes.fix import FixKind, ObjectName
from steersman.fixes.trial_edits import reference
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim import Simulation


class JobRestart:
    """The new start of one Job that has pods, or has had some."""

    def __init__(self, job: api.Job, pods: Mapping[str, api.Pod]) -> None:
        """Pods of a Job that is suspended end whether it is started again or not."""
        self.target = ObjectName(job.KIND, job.metadata.namespace, job.metadata.name)
        self._unfinished = tuple(pod for pod in pods.values() if _is_of(pod, job))
        #: The pods that have a node, and end.
        self.ended = tuple(api.key(pod) for pod in self._unfinished if pod.spec.node_name and not job.spec.suspend)
        self.lost_completions: int = job.status.succeeded

    @property
    def is_needed(self) -> bool:
        """Whether the Job has begun; otherwise it can be given as it is to be."""
        return bool(self._unfinished or self.lost_completions)

    def change(self) -> Change:
        """The part of a fix that goes with every change of the Job's template."""
        lost = " and ".join(self._losses())
        summary = f"start Job {self.target.name} again{', so that ' if lost else ''}{lost}"
        pods = tuple(ObjectName(pod.KIND, pod.metadata.namespace, pod.metadata.name) for pod in self._unfinished)
        return Change(FixKind.RECREATE, summary, delete=pods)

    def _losses(self) -> Iterator[str]:
        if self.ended:
            yield "1 running pod ends" if len(self.ended) == 1 else f"{len(self.ended)} running pods end"
        if self.lost_completions:
            lost = self.lost_completions
            yield "1 completion is lost" if lost == 1 else f"{lost} completions are lost"

    def carry_out(self, trial: Simulation, document: Document) -> None:
        """Removes the Job with its pods, and creates it from the document, as if it had never run."""
        trial.delete(reference(self.target))
        left = (pod for pod in self.change().delete if trial.cluster.find(api.Pod, f"{pod.namespace}/{pod.name}"))
        trial.delete(*map(reference, left))
        trial.add(as_new(document))


def _is_of(pod: api.Pod, job: api.Job) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner.uid == job.metadata.uid and pod.status.phase not in FINISHED_PHASES
