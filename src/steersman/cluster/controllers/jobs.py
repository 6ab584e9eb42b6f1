# SPDX-License-Identifier: Apache-2.0
"""The Job controller: creates pods, counts finished ones, and completes or fails Jobs.

A pod has the finalizer `batch.kubernetes.io/job-tracking` until it is counted, so that none is
missed or counted twice: its uid is written to `status.uncountedTerminatedPods`, the finalizer is
removed, and only then the counter is incremented. Pods that finish within a second are counted
together. `job_sync` syncs a Job; this module has the events that trigger it. Differences to
upstream: no gang scheduling by Workload objects (alpha); deadlines are background timers.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import FINISHED_PHASES, Job, Object, OwnerReference, Pod, key, timestamps
from steersman.base.graph_copy import copied_attributes, emptied, two_levels
from steersman.cluster.controllers.controller import Cluster, Controller, controller_of, controller_reference
from steersman.cluster.controllers.job_policies import JobBackoff
from steersman.cluster.controllers.job_status import is_finished
from steersman.cluster.controllers.job_sync import JobSync
from steersman.cluster.controllers.owned_pods import OwnedPods, OwnerSelectors, compiled_selector, list_owned_pods
from steersman.cluster.controllers.pod_template import PodMaker, PodTemplates
from steersman.cluster.store import EventType, Pods, delete
from steersman.cluster.store.finalizers import JOB_TRACKING, with_finalizer, without_finalizer

BATCH_SECONDS: Final = 1.0
"""Delay for coalescing changes of a Job's pods into one sync."""
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"

_replace = msgspec.structs.replace


@copied_attributes(_makers=emptied, _pods=two_levels, _claims=two_levels)
class JobController(Controller):
    """Job controller; keys are `namespace/name`."""

    NAME = "job"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.pod_writer = Pods(self.store)
        self._templates = PodTemplates(self.store)
        self._owned: OwnedPods | None = None
        self._selectors = OwnerSelectors()
        #: Job key → keys of pods to adopt or release.
        self._claims: dict[str, dict[str, None]] = {}
        #: Job uid → pod key → pod, except for counted finished pods.
        self._pods: dict[str, dict[str, Pod]] = {}
        #: Job uid → failures since its last success.
        self.backoffs: dict[str, JobBackoff] = {}
        #: Job uid → creator of its pods, recreated from its template if missing.
        self._makers: dict[str, PodMaker] = {}
        #: Job key → time of the next batched sync.
        self._batches: dict[str, float] = {}
        #: Job uid → deadline for which a timer is set.
        self._deadlines: dict[str, float] = {}
        self.store.subscribe(self._on_job, (Job,))

    # -- events ------------------------------------------------------------------------------------

    def _on_job(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if not isinstance(new, Job):
            if isinstance(old, Job):
                self._forget(old)
            return
        if self._owned is None:
            self._owned = list_owned_pods(self.store)
            self._owned.listen(Job, self._on_pod, self._on_orphan)
        if old is None or (isinstance(old, Job) and old.spec.selector != new.spec.selector):
            self._selectors.put(key(new), new.metadata.namespace, new.spec.selector)
        if old is not None and old.metadata.generation == new.metadata.generation:
            if not is_finished(new):
                self.enqueue_batched(key(new))
            return
        if old is None:
            pods = self._owned.owned_by(new.metadata.uid)
            self._pods[new.metadata.uid] = {name: pod for name, pod in pods.items() if _is_uncounted(pod)}
            if new.spec.manual_selector:  # other Jobs select by their uid, which older pods lack
                self._claims[key(new)] = dict.fromkeys(self._owned.orphans(new.metadata.namespace))
        self._deadlines.pop(new.metadata.uid, None)
        self.enqueue(key(new))

    def _forget(self, job: Job) -> None:
        """Drop the state of a deleted Job, and remove the tracking finalizer of its pods, which are
        no longer counted."""
        uid = job.metadata.uid
        self._selectors.remove(key(job))
        self._claims.pop(key(job), None)
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
        job_name = f"{pod.metadata.namespace}/{owner.name}"
        if before is not None and after is not None and after.metadata.labels != before.metadata.labels:
            self._claims.setdefault(job_name, {})[key(pod)] = None
        self.enqueue_batched(job_name)

    def _on_orphan(self, pod: Pod) -> None:
        for name in self._selectors.matching(pod.metadata.namespace, pod.metadata.labels):
            self._claims.setdefault(name, {})[key(pod)] = None
            self.enqueue_batched(name)

    def enqueue_batched(self, name: str, seconds: float = BATCH_SECONDS) -> None:
        """Enqueue the Job after a delay, unless it is enqueued for an earlier time."""
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
        """Enqueue the Job at its deadline, in the background because most Jobs end long before."""
        due = round(self.store.clock.monotonic() + seconds, 3)
        if self._deadlines.get(job.metadata.uid) != due:
            self._deadlines[job.metadata.uid] = due
            self.enqueue_after(key(job), seconds, is_background=True)

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        job = self.store.find(Job, name)
        if job is None or job.spec.managed_by not in (None, JOB_CONTROLLER):
            return
        if is_finished(job):
            self.backoffs.pop(job.metadata.uid, None)
            return
        self._settle_claims(job)
        JobSync(self, job).run()

    def _settle_claims(self, job: Job) -> None:
        """Adopt selected orphans, and release pods that the Job no longer selects."""
        claims, selector = self._claims.pop(key(job), {}), compiled_selector(job.spec.selector)
        if job.spec.selector is None or job.metadata.deletion_timestamp is not None:
            return
        for pod in filter(None, (self.store.find(Pod, name) for name in claims)):
            owner, owners = controller_of(pod), pod.metadata.owner_references
            is_selected = selector.matches(pod.metadata.labels)
            if owner is None and is_selected and pod.metadata.deletion_timestamp is None:
                adopted = _with_owners(pod, (*owners, controller_reference(job)))
                self.store.update(with_finalizer(adopted, JOB_TRACKING))
            elif owner is not None and owner.uid == job.metadata.uid and not is_selected:
                released = _with_owners(pod, tuple(ref for ref in owners if ref.uid != owner.uid))
                self.store.update(without_finalizer(released, JOB_TRACKING))

    def pods_of(self, job: Job) -> list[Pod]:
        """Return the Job's pods that are unfinished or uncounted."""
        return list(self._pods.get(job.metadata.uid, {}).values())

    def pod_maker(self, job: Job) -> PodMaker:
        maker = self._makers.get(job.metadata.uid)
        if maker is None or maker.template.document is not job.spec.template:
            maker = self._makers[job.metadata.uid] = self._templates.pod_maker(job.spec.template, job)
        return maker

    def release(self, pod_name: str) -> None:
        """Remove the tracking finalizer from a pod; if it is terminating, this deletes it."""
        pod = self.store.find(Pod, pod_name)
        if pod is not None and JOB_TRACKING in pod.metadata.finalizers:
            self.store.update(without_finalizer(pod, JOB_TRACKING))


class TtlAfterFinished(Controller):
    """Deletes Jobs, pods first, `ttlSecondsAfterFinished` after they finish, in the background."""

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
    return JOB_TRACKING in pod.metadata.finalizers or pod.status.phase not in FINISHED_PHASES


def _with_owners(pod: Pod, owners: tuple[OwnerReference, ...]) -> Pod:
    return _replace(pod, metadata=_replace(pod.metadata, owner_references=owners))
