# SPDX-License-Identifier: Apache-2.0
"""Sync of a Job: its finished pods, the pods it needs, and its status.

    finished pods ─► does the Job end? ─yes─► delete active pods ──┐
                             └──no──► create or delete pods ───────┴► count, release, write the status

`jobs` triggers syncs, `job_pods` creates pods, `job_status` has the draft of the status. The order
of checks is upstream's: several may apply at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from steersman.api import Job, JobCondition, Pod, key, timestamps
from steersman.cluster.controllers.deletion_order import pods_to_delete
from steersman.cluster.controllers.job_indexes import (
    completion_index,
    first_pending,
    parsed_indexes,
    rendered_indexes,
)
from steersman.cluster.controllers.job_pods import JobPodFactory
from steersman.cluster.controllers.job_policies import (
    FAIL_INDEX,
    JobBackoff,
    failure_verdict,
    finish_time,
    index_backoff,
    index_failures,
    met_success_rule,
    total_index_failures,
)
from steersman.cluster.controllers.job_status import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    JobStatusDraft,
)
from steersman.cluster.controllers.pod_states import is_active, is_ready, is_terminating
from steersman.cluster.store import NotFound, StatusError
from steersman.cluster.store.finalizers import JOB_TRACKING

if TYPE_CHECKING:
    from steersman.cluster.controllers.jobs import JobController

MAX_UNCOUNTED: Final = 500
MAX_PODS_AT_ONCE: Final = 500
BACKOFF_LIMIT: Final = 6


class JobSync:
    """State of the sync of a Job."""

    def __init__(self, controller: JobController, job: Job) -> None:
        self._controller = controller
        self._store = controller.store
        self._now = controller.store.clock.now()
        self._draft = JobStatusDraft(controller.store, job)
        self._pods = controller.pods_of(job)
        self._active = [pod for pod in self._pods if is_active(pod)]
        #: Numbers of active, ready and terminating pods, including changes by this sync.
        self._active_count = len(self._active)
        self._ready = sum(map(is_ready, self._active))
        self._terminating = sum(map(is_terminating, self._pods))
        self._completions = job.spec.completions or 0
        self._is_indexed = job.spec.completion_mode == "Indexed"
        self._is_per_index = self._is_indexed and job.spec.backoff_limit_per_index is not None
        #: Succeeded and failed indexes, including those of uncounted pods.
        self._succeeded_indexes = set[int]()
        self._failed_indexes = set[int]()
        #: Index → failed pod to be replaced; released once its replacement exists.
        self._replaced = dict[int, Pod]()
        self._succeeded = 0
        self._failed = 0
        self._backoff = JobBackoff()
        self._trouble: StatusError | None = None

    @property
    def _job(self) -> Job:
        """The Job as last written."""
        return self._draft.job

    # -- the whole ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Sync the Job. Errors of pod writes are raised after all other steps."""
        self._count_pods()
        if self._draft.value.start_time is None and not self._job.spec.suspend:
            self._draft.change(start_time=self._store.timestamp())
        end = self._reason_to_end()
        if self._is_indexed:
            end = self._look_at_indexes(end)
        if end is not None:
            end = self._delete_active(end)
        else:
            end = self._manage()
        self._draft.change(active=self._active_count, ready=self._ready, terminating=self._terminating)
        self._track(end)
        if self._trouble is not None:
            raise self._trouble

    def _count_pods(self) -> None:
        known_succeeded, known_failed = set(self._draft.uncounted.succeeded), set(self._draft.uncounted.failed)
        succeeded = [pod for pod in self._valid(known_succeeded) if pod.status.phase == "Succeeded"]
        failed = [pod for pod in self._valid(known_failed) if self._has_failed(pod)]
        self._succeeded = self._draft.value.succeeded + len(succeeded) + len(known_succeeded)
        counted = sum(failure_verdict(self._job, pod).counts for pod in failed)
        self._failed = self._draft.value.failed + counted + len(known_failed)
        before = self._controller.backoffs.get(self._job.metadata.uid, JobBackoff())
        self._backoff = before.after(succeeded, failed)

    def _valid(self, known: set[str]) -> list[Pod]:
        """Return the tracked pods that are not in the status yet."""
        return [
            pod
            for pod in self._pods
            if JOB_TRACKING in pod.metadata.finalizers
            and pod.metadata.uid not in known
            and (not self._is_indexed or self._index(pod) is not None)
        ]

    def _has_failed(self, pod: Pod) -> bool:
        if pod.status.phase == "Failed":
            return True
        if self._replaces_failed_only:
            return False
        return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"

    @property
    def _replaces_failed_only(self) -> bool:
        spec = self._job.spec
        return spec.pod_replacement_policy == "Failed" or spec.pod_failure_policy is not None

    def _index(self, pod: Pod) -> int | None:
        return completion_index(pod, self._completions)

    # -- reasons to end ----------------------------------------------------------------------------

    def _reason_to_end(self) -> JobCondition | None:
        met = self._draft.condition(SUCCESS_CRITERIA_MET)
        if met is not None:
            return met
        target = self._draft.condition(FAILURE_TARGET)
        if target is not None:
            return self._draft.new_condition(FAILED, target.reason, target.message)
        for pod in self._pods:
            message = failure_verdict(self._job, pod).message if self._has_failed(pod) else ""
            if message:
                return self._draft.new_condition(FAILURE_TARGET, "PodFailurePolicy", message)
        return self._exceeded_limit()

    def _exceeded_limit(self) -> JobCondition | None:
        spec = self._job.spec
        limit = BACKOFF_LIMIT if spec.backoff_limit is None else spec.backoff_limit
        if self._failed > limit or self._has_too_many_restarts(limit):
            message = "Job has reached the specified backoff limit"
            return self._draft.new_condition(FAILURE_TARGET, "BackoffLimitExceeded", message)
        start = self._draft.value.start_time
        if spec.active_deadline_seconds is None or spec.suspend or start is None:
            return None
        left = timestamps.parse(start) + spec.active_deadline_seconds - self._now
        if left <= 0:
            message = "Job was active longer than specified deadline"
            return self._draft.new_condition(FAILURE_TARGET, "DeadlineExceeded", message)
        self._controller.set_deadline(self._job, left)
        return None

    def _has_too_many_restarts(self, limit: int) -> bool:
        template = self._job.spec.template.get("spec") or {}
        if template.get("restartPolicy") != "OnFailure":
            return False
        running = (pod.status for pod in self._pods if pod.status.phase in ("Running", "Pending"))
        restarts = sum(
            known.restart_count
            for status in running
            for known in (*status.init_container_statuses, *status.container_statuses)
        )
        return restarts > 0 if limit == 0 else restarts >= limit

    def _look_at_indexes(self, end: JobCondition | None) -> JobCondition | None:
        tracked = [pod for pod in self._pods if JOB_TRACKING in pod.metadata.finalizers]
        self._succeeded_indexes = parsed_indexes(self._draft.value.completed_indexes, self._completions)
        self._succeeded_indexes.update(self._indexes(pod for pod in tracked if pod.status.phase == "Succeeded"))
        self._succeeded = len(self._succeeded_indexes)
        if self._is_per_index:
            self._failed_indexes = parsed_indexes(self._draft.value.failed_indexes, self._completions)
            self._failed_indexes.update(self._indexes(pod for pod in tracked if self._fails_its_index(pod)))
            end = end or self._too_many_failed_indexes()
            self._find_replaced(tracked)
        rule = (
            None if end else met_success_rule(self._job.spec.success_policy, self._completions, self._succeeded_indexes)
        )
        if rule is not None:
            return self._draft.new_condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", f"Matched rules at index {rule}")
        return end

    def _indexes(self, pods: Any) -> set[int]:
        return {index for index in map(self._index, pods) if index is not None}

    def _fails_its_index(self, pod: Pod) -> bool:
        if not self._has_failed(pod):
            return False
        verdict = failure_verdict(self._job, pod)
        limit = self._job.spec.backoff_limit_per_index or 0
        return verdict.action == FAIL_INDEX or (verdict.counts and index_failures(pod) >= limit)

    def _too_many_failed_indexes(self) -> JobCondition | None:
        failed, most = len(self._failed_indexes), self._job.spec.max_failed_indexes
        if most is not None and failed > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return self._draft.new_condition(FAILURE_TARGET, "MaxFailedIndexesExceeded", message)
        if failed and failed + len(self._succeeded_indexes) >= self._completions:
            return self._draft.new_condition(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")
        return None

    def _find_replaced(self, tracked: Sequence[Pod]) -> None:
        settled = self._succeeded_indexes | self._failed_indexes | self._indexes(self._active)
        for pod in tracked:
            index = self._index(pod)
            if index is None or index in settled or not self._has_failed(pod):
                continue
            known = self._replaced.get(index)
            if known is None or _is_later_failure(pod, known):
                self._replaced[index] = pod

    # -- pods --------------------------------------------------------------------------------------

    def _delete_active(self, end: JobCondition) -> JobCondition | None:
        """Delete active pods of an ending Job; return the condition unless a deletion failed."""
        deleted = sum(self._delete(pod) for pod in self._active)
        return end if deleted == len(self._active) else None

    def _manage(self) -> JobCondition | None:
        """Create and delete pods; return a condition if the Job is complete."""
        is_managed = self._job.metadata.deletion_timestamp is None
        if is_managed:
            self._adjust_pods()
        completions = self._job.spec.completions
        enough = self._succeeded > 0 if completions is None else self._succeeded >= completions
        if enough and not self._active_count:
            message = "Reached expected number of succeeded pods"
            return self._draft.new_condition(SUCCESS_CRITERIA_MET, "CompletionsReached", message)
        if is_managed:
            self._note_suspension()
        return None

    def _adjust_pods(self) -> None:
        if self._job.spec.suspend:
            self._remove(self._surplus(self._active_count))
            return
        wanted = self._wanted()
        surplus = self._surplus(max(0, self._active_count - wanted))[:MAX_PODS_AT_ONCE]
        if surplus:
            self._remove(surplus)
            return
        missing = wanted - self._active_count - (self._terminating if self._replaces_failed_only else 0)
        if missing > 0:
            self._make_pods(min(missing, MAX_PODS_AT_ONCE))

    def _wanted(self) -> int:
        parallelism, completions = self._job.spec.parallelism or 0, self._job.spec.completions
        if completions is None:
            return self._active_count if self._succeeded else parallelism
        return max(0, min(parallelism, completions - self._succeeded))

    def _surplus(self, count: int) -> list[Pod]:
        """Return at least `count` active pods to delete, first those with duplicate or no index."""
        left, gone = list(self._active), list[Pod]()
        if self._is_indexed:
            by_index: dict[int | None, list[Pod]] = {}
            for pod in left:
                by_index.setdefault(self._index(pod), []).append(pod)
            gone = by_index.pop(None, [])
            for same in by_index.values():
                gone += pods_to_delete(same, (), len(same) - 1, self._now)
            uids = {pod.metadata.uid for pod in gone}
            left = [pod for pod in left if pod.metadata.uid not in uids]
        if len(gone) < count:
            gone += pods_to_delete(left, (), count - len(gone), self._now)
        return gone

    def _remove(self, pods: Sequence[Pod]) -> None:
        """Delete pods without counting them as succeeded or failed."""
        for pod in pods:
            self._controller.release(key(pod))
            self._delete(pod)

    def _delete(self, pod: Pod) -> bool:
        """Delete a pod; return False if that failed."""
        record, name = self._controller.cluster.record, pod.metadata.name
        try:
            self._controller.pod_writer.delete(key(pod), grace_period_seconds=None, uid=pod.metadata.uid)
            record(self._job, "SuccessfulDelete", f"Deleted pod: {name}")
        except NotFound:
            pass
        except StatusError as refusal:
            record(self._job, "FailedDelete", f"Error deleting: {refusal.message}", is_warning=True)
            self._trouble = refusal
            return False
        self._active_count -= 1
        self._terminating += 1
        self._ready -= is_ready(pod)
        return True

    def _make_pods(self, count: int) -> None:
        delay = 0.0 if self._is_per_index else self._backoff.remaining_seconds(self._now)
        indexes: list[int] | None = None
        if not delay and self._is_indexed:
            indexes, delay = self._indexes_to_make(count)
            count = len(indexes)
        if delay:
            self._controller.enqueue_batched(key(self._job), delay)
            return
        factory = JobPodFactory(self._controller, self._job, self._replaced)
        factory.make(count, indexes)
        self._active_count += factory.made
        self._trouble = factory.refusal or self._trouble

    def _indexes_to_make(self, count: int) -> tuple[list[int], float]:
        """Return the indexes to create pods for now; if none, the shortest remaining backoff."""
        taken = self._succeeded_indexes | self._failed_indexes | self._indexes(self._active)
        if self._replaces_failed_only:
            taken |= self._indexes(pod for pod in self._pods if is_terminating(pod))
        indexes = first_pending(taken, self._completions, count)
        if not self._is_per_index:
            return indexes, 0.0
        delays = {index: index_backoff(self._replaced.get(index)).remaining_seconds(self._now) for index in indexes}
        ready = [index for index, delay in delays.items() if not delay]
        return ready, 0.0 if ready else min(delays.values(), default=0.0)

    # -- the status --------------------------------------------------------------------------------

    def _note_suspension(self) -> None:
        if self._job.spec.suspend:
            if self._draft.set_condition(SUSPENDED, "True", "JobSuspended", "Job suspended"):
                self._controller.cluster.record(self._job, SUSPENDED, "Job suspended")
                self._draft.change(start_time=None)
        elif self._draft.set_condition(SUSPENDED, "False", "JobResumed", "Job resumed"):
            self._controller.cluster.record(self._job, "Resumed", "Job resumed")
            self._draft.change(start_time=self._store.timestamp())

    def _track(self, end: JobCondition | None) -> None:
        """Record finished pods in the status, release them, then count them."""
        tracked = {pod.metadata.uid: pod for pod in self._pods if JOB_TRACKING in pod.metadata.finalizers}
        self._draft.count_released(set(tracked))
        released, is_full = self._note_ended(tracked, end)
        if self._is_indexed:
            self._write_indexes()
        end = self._draft.announce(end)
        self._draft.write()
        self._controller.backoffs[self._job.metadata.uid] = self._backoff
        for pod in released:
            self._controller.release(key(pod))
            del tracked[pod.metadata.uid]
        self._draft.count_released(set(tracked))
        if end is not None and not is_full:
            self._finish(end)
        else:
            self._draft.write()

    def _note_ended(self, tracked: dict[str, Pod], end: JobCondition | None) -> tuple[list[Pod], bool]:
        """Return the pods to release, and whether more remain than can be recorded at once."""
        released = list[Pod]()
        succeeded, failed = list(self._draft.uncounted.succeeded), list(self._draft.uncounted.failed)
        before = parsed_indexes(self._draft.value.completed_indexes, self._completions)
        new_indexes = set[int]()
        known_succeeded, known_failed = set(succeeded), set(failed)
        is_failure = end is not None and end.type != SUCCESS_CRITERIA_MET
        for uid, pod in tracked.items():
            has_failed = self._has_failed(pod)
            if not self._may_release(pod, has_failed, end):
                continue
            released.append(pod)
            if pod.status.phase == "Succeeded" and uid not in known_failed:
                index = self._index(pod) if self._is_indexed else None
                if index is not None and index not in before:
                    new_indexes.add(index)
                elif not self._is_indexed and uid not in known_succeeded:
                    succeeded.append(uid)
            elif (has_failed or is_failure) and uid not in known_failed and self._counts_as_failed(pod):
                failed.append(uid)
            if len(new_indexes) + len(succeeded) + len(failed) >= MAX_UNCOUNTED:
                break
        self._succeeded_indexes |= new_indexes
        self._draft.set_uncounted(tuple(succeeded), tuple(failed))
        return released, len(new_indexes) + len(succeeded) + len(failed) >= MAX_UNCOUNTED

    def _may_release(self, pod: Pod, has_failed: bool, end: JobCondition | None) -> bool:
        if self._job.metadata.deletion_timestamp is not None or end is not None or pod.status.phase == "Succeeded":
            return True
        if not has_failed:
            return False
        index = self._index(pod) if self._is_per_index else None
        replaced = None if index is None else self._replaced.get(index)
        return replaced is None or replaced.metadata.uid != pod.metadata.uid

    def _counts_as_failed(self, pod: Pod) -> bool:
        if self._is_indexed and self._index(pod) is None:
            return False
        return failure_verdict(self._job, pod).counts

    def _write_indexes(self) -> None:
        self._draft.change(
            succeeded=len(self._succeeded_indexes),
            completed_indexes=rendered_indexes(self._succeeded_indexes),
            failed_indexes=rendered_indexes(self._failed_indexes)
            if self._is_per_index
            else self._draft.value.failed_indexes,
        )

    def _finish(self, end: JobCondition) -> None:
        """Set the final condition once all pods are counted and none is terminating."""
        if self._draft.uncounted.succeeded or self._draft.uncounted.failed or self._terminating:
            self._draft.write()
            return
        self._draft.set_condition(end.type, end.status, end.reason, end.message)
        if end.type == COMPLETE:
            self._draft.change(completion_time=end.last_transition_time)
        self._draft.write()
        self._record_end(end)

    def _record_end(self, end: JobCondition) -> None:
        record = self._controller.cluster.record
        if end.type == FAILED:
            record(self._job, end.reason, end.message, is_warning=True)
            return
        if self._job.spec.completions is not None and self._draft.value.succeeded > self._job.spec.completions:
            message = "Too many succeeded pods running after completion count reached"
            record(self._job, "TooManySucceededPods", message, is_warning=True)
        record(self._job, "Completed", "Job completed")


def _is_later_failure(pod: Pod, known: Pod) -> bool:
    return total_index_failures(known) <= total_index_failures(pod) and finish_time(pod) >= finish_time(known)
