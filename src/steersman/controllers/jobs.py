# SPDX-License-Identifier: Apache-2.0
"""The job controller: makes the pods of jobs, counts those that end, and says when a job is complete or has failed.

A pod carries the finalizer `batch.kubernetes.io/job-tracking` until it is counted, so that none is lost or counted twice: its
uid is written into `status.uncountedTerminatedPods`, the finalizer is removed, and only then the counter grows. Pods that end
within a second are counted together. `job_sync` is one look at one job; here are the events that lead to it.

Differences to upstream: pods that match a job's selector and belong to nobody are not adopted; gang scheduling by Workload
objects (alpha) is not done; a job's deadline is a timer that no simulation waits for.
"""

from __future__ import annotations

from typing import Final

from steersman.api import Job, Object, OwnerReference, Pod, key, timestamps
from steersman.controllers.controller import Cluster, Controller
from steersman.controllers.job_policies import JobBackoff
from steersman.controllers.job_status import is_finished
from steersman.controllers.job_sync import JobSync
from steersman.controllers.owned_pods import OwnedPods, owned_pods
from steersman.controllers.pod_states import TERMINAL_PHASES
from steersman.controllers.pod_template import PodMaker, PodTemplates
from steersman.embedded import EventType, Pods, delete
from steersman.embedded.finalizers import JOB_TRACKING, without_finalizer
from steersman.graph_copy import copied_attributes, emptied, two_levels

BATCH_SECONDS: Final = 1.0
"""Changes of a job's pods within this time are looked at once."""
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"


@copied_attributes(_makers=emptied, _pods=two_levels)
class JobController(Controller):
    """Reconciles jobs by key."""

    NAME = "job"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.pod_writer = Pods(self.store)
        self._templates = PodTemplates(self.store)
        self._owned: OwnedPods | None = None
        #: uid of a job → key of a pod → the pod, unless it has ended and is counted.
        self._pods: dict[str, dict[str, Pod]] = {}
        #: uid of a job → failures since its last success.
        self.backoffs: dict[str, JobBackoff] = {}
        #: uid of a job → the maker of its pods; made again from its template where it is missing.
        self._makers: dict[str, PodMaker] = {}
        #: Keys of jobs → when they will be looked at, because of their pods or a delay.
        self._batches: dict[str, float] = {}
        #: uids of jobs → the deadline for which a timer is set.
        self._deadlines: dict[str, float] = {}
        self.store.subscribe(self._on_job, (Job,))

    # -- events ------------------------------------------------------------------------------------------------------

    def _on_job(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if not isinstance(new, Job):
            if isinstance(old, Job):
                self._forget(old)
            return
        if self._owned is None:
            self._owned = owned_pods(self.store)
            self._owned.listen(Job, self._on_pod)
        if old is not None and old.metadata.generation == new.metadata.generation:
            if not is_finished(new):
                self.enqueue_batched(key(new))
            return
        if old is None:
            pods = self._owned.of(new.metadata.uid)
            self._pods[new.metadata.uid] = {name: pod for name, pod in pods.items() if _is_uncounted(pod)}
        self._deadlines.pop(new.metadata.uid, None)
        self.enqueue(key(new))

    def _forget(self, job: Job) -> None:
        """The pods of a job that is gone have nobody who would count them."""
        uid = job.metadata.uid
        for known in (self.backoffs, self._makers, self._deadlines):
            known.pop(uid, None)
        for name in self._pods.pop(uid, {}):
            self.release(name)

    def _on_pod(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        pod = after or before
        if pod is None:
            return
        pods = self._pods.get(owner.uid)
        if pods is None:
            if after is not None and JOB_TRACKING in after.metadata.finalizers:
                self.release(key(after))
            return
        if after is not None and _is_uncounted(after):
            pods[key(after)] = after
        else:
            pods.pop(key(pod), None)
        self.enqueue_batched(f"{pod.metadata.namespace}/{owner.name}")

    def enqueue_batched(self, name: str, seconds: float = BATCH_SECONDS) -> None:
        """Has the job looked at in a while, or when that is to happen already."""
        due = self.store.clock.monotonic() + max(seconds, BATCH_SECONDS)
        known = self._batches.get(name)
        if known is not None and known <= due:
            return
        self._batches[name] = due
        self.call_after(max(seconds, BATCH_SECONDS), lambda: self._end_batch(name, due))

    def _end_batch(self, name: str, due: float) -> None:
        if self._batches.get(name) == due:
            del self._batches[name]
            self.enqueue(name)

    def set_deadline(self, job: Job, seconds: float) -> None:
        """Has the job looked at when its time is up. Nobody waits for that: most jobs end long before."""
        due = round(self.store.clock.monotonic() + seconds, 3)
        if self._deadlines.get(job.metadata.uid) != due:
            self._deadlines[job.metadata.uid] = due
            self.enqueue_after(key(job), seconds, is_background=True)

    # -- reconciling -------------------------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        job = self.store.find(Job, name)
        if job is None or job.spec.managed_by not in (None, JOB_CONTROLLER):
            return
        if is_finished(job):
            self.backoffs.pop(job.metadata.uid, None)
            return
        JobSync(self, job).run()

    def pods_of(self, job: Job) -> list[Pod]:
        """The pods of the job that have not ended, or are not counted yet."""
        return list(self._pods.get(job.metadata.uid, {}).values())

    def pod_maker(self, job: Job) -> PodMaker:
        maker = self._makers.get(job.metadata.uid)
        if maker is None or maker.template.document is not job.spec.template:
            maker = self._makers[job.metadata.uid] = self._templates.pod_maker(job.spec.template, job)
        return maker

    def release(self, pod_name: str) -> None:
        """Removes the finalizer from a pod; if it is being deleted, that is its end."""
        pod = self.store.find(Pod, pod_name)
        if pod is not None and JOB_TRACKING in pod.metadata.finalizers:
            self.store.update(without_finalizer(pod, JOB_TRACKING))


class TtlAfterFinished(Controller):
    """Deletes jobs, and their pods first, `ttlSecondsAfterFinished` after they finished. No simulation waits for that."""

    NAME = "ttl-after-finished"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.store.subscribe(self._on_job, (Job,))

    def _on_job(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if isinstance(new, Job) and new.spec.ttl_seconds_after_finished is not None and is_finished(new):
            self.enqueue(key(new))

    def reconcile(self, name: str) -> None:
        job = self.store.find(Job, name)
        if job is None or job.metadata.deletion_timestamp is not None or not is_finished(job):
            return
        expires = _expiry(job)
        if expires is None:
            return
        left = expires - self.store.clock.now()
        if left > 0:
            self.enqueue_after(name, left, is_background=True)
        else:
            delete(self.store, Job, name, propagation="Foreground", uid=job.metadata.uid)


def _expiry(job: Job) -> float | None:
    ttl = job.spec.ttl_seconds_after_finished
    for condition in job.status.conditions:
        if condition.type in ("Complete", "Failed") and condition.status == "True" and condition.last_transition_time:
            return None if ttl is None else timestamps.parse(condition.last_transition_time) + ttl
    return None


def _is_uncounted(pod: Pod) -> bool:
    return JOB_TRACKING in pod.metadata.finalizers or pod.status.phase not in TERMINAL_PHASES
