# SPDX-License-Identifier: Apache-2.0
"""The CronJob controller: creates a Job at each scheduled time, and deletes finished Jobs beyond
the history limits.

The next run is a background timer: schedules have no end, so a simulation does not wait for it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from steersman.api import (
    CronJob,
    CronSchedule,
    Job,
    JobCondition,
    Object,
    codec,
    is_known_zone,
    key,
    parse_schedule,
    reference_to,
    timestamps,
)
from steersman.base import InputError
from steersman.cluster.controllers.controller import Cluster, Controller, controller_of, controller_reference, owned_key
from steersman.cluster.store import AlreadyExists, EventType, Invalid, NotFound, StatusError, delete

NEXT_RUN_SECONDS: Final = 0.1
"""Delay after the scheduled time, so that clocks need not be exact."""
SCHEDULED_TIME: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MANY_MISSED_TIMES: Final = 100
TOO_CLOSE: Final = "time difference between two schedules is less than 1 second"
TOO_MANY_MISSED: Final = (
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
)

_replace = msgspec.structs.replace


class _Missed(Enum):
    """Number of scheduled times that passed without a Job."""

    NONE = 0
    FEW = 1
    MANY = 2


class _LastTime(NamedTuple):
    """Latest passed scheduled time (None without one), and the earliest time considered."""

    earliest: float
    time: float | None
    missed: _Missed


class CronJobController(Controller):
    """CronJob controller; keys are `namespace/name`."""

    NAME = "cronjob"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        #: CronJob key → keys of the Jobs whose owner references name it.
        self._jobs: dict[str, dict[str, None]] = {}
        #: CronJob key → time of its timer.
        self._timers: dict[str, float] = {}
        self.store.subscribe(self._on_job, (Job,))
        self.store.subscribe(self._on_cron_job, (CronJob,))

    def _on_cron_job(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.enqueue(key(new))
        elif old is not None:
            self._timers.pop(key(old), None)

    def _on_job(self, _: EventType, old: Object | None, new: Object | None) -> None:
        job = new or old
        owner = None if job is None else owned_key(job, CronJob)
        if job is None or owner is None:
            return
        jobs = self._jobs.setdefault(owner, {})
        if new is None:
            jobs.pop(key(job), None)
        else:
            jobs[key(job)] = None
        self.enqueue(owner)

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        cron_job = self.store.find(CronJob, name)
        if cron_job is None:
            return
        found = (self.store.find(Job, job) for job in tuple(self._jobs.get(name, ())))
        jobs = [job for job in found if job is not None]
        cron_job = self._delete_old(cron_job, jobs)
        cron_job = self._with_finished(cron_job, jobs)
        trouble: StatusError | None = None
        if cron_job.metadata.deletion_timestamp is None and not cron_job.spec.suspend:
            try:
                cron_job = self._run_due(cron_job)
            except StatusError as refusal:
                trouble = refusal
        current = self.store.find(CronJob, name)
        if current is not None and current.status != cron_job.status:
            self.store.update_status(_replace(current, status=cron_job.status))
        if trouble is not None:
            raise trouble

    # -- jobs that have finished -------------------------------------------------------------------

    def _delete_old(self, cron_job: CronJob, jobs: list[Job]) -> CronJob:
        """Delete the oldest finished Jobs beyond the limit for each outcome."""
        spec = cron_job.spec
        limits = {"Complete": spec.successful_jobs_history_limit, "Failed": spec.failed_jobs_history_limit}
        for outcome, limit in limits.items():
            if limit is None:
                continue
            finished = sorted((job for job in jobs if _outcome(job) == outcome), key=_by_start)
            for job in finished[: max(0, len(finished) - limit)]:
                cron_job = self._delete_job(cron_job, job)
        return cron_job

    def _delete_job(self, cron_job: CronJob, job: Job) -> CronJob:
        try:
            delete(self.store, Job, key(job), propagation="Background", uid=job.metadata.uid)
        except StatusError as refusal:
            self._record(cron_job, "FailedDelete", f"Deleted job: {refusal.message}", is_warning=True)
            return cron_job
        self._record(cron_job, "SuccessfulDelete", f"Deleted job {job.metadata.name}")
        return _without_active(cron_job, job.metadata.uid)

    def _with_finished(self, cron_job: CronJob, jobs: list[Job]) -> CronJob:
        """Remove finished and missing Jobs from the list of active Jobs."""
        for job in jobs:
            outcome, is_active = _outcome(job), _is_listed(cron_job, job.metadata.uid)
            if not outcome:
                if not is_active and job.metadata.deletion_timestamp is None:
                    message = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
                    self._record(cron_job, "UnexpectedJob", message, is_warning=True)
                continue
            if is_active:
                cron_job = _without_active(cron_job, job.metadata.uid)
                message = f"Saw completed job: {job.metadata.name}, condition: {outcome}"
                self._record(cron_job, "SawCompletedJob", message)
            if outcome == "Complete":
                cron_job = _with_success(cron_job, job.status.completion_time)
        uids = {job.metadata.uid for job in jobs}
        for reference in cron_job.status.active:
            if reference.uid not in uids and self.store.find(Job, f"{reference.namespace}/{reference.name}") is None:
                self._record(cron_job, "MissingJob", f"Active job went missing: {reference.name}")
                cron_job = _without_active(cron_job, reference.uid)
        return cron_job

    # -- the next job ------------------------------------------------------------------------------

    def _run_due(self, cron_job: CronJob) -> CronJob:
        """Start the due Job if permitted, and set the timer for the next one."""
        schedule = self._schedule(cron_job)
        if schedule is None:
            return cron_job
        now = self.store.clock.now()
        try:
            last = last_time(cron_job, schedule, now, within_deadline=True)
        except InputError as error:
            message = f"invalid schedule: {cron_job.spec.schedule} : {error}"
            self._record(cron_job, "InvalidSchedule", message, is_warning=True)
            return cron_job
        if last.time is not None and last.time <= now:
            if last.missed is _Missed.MANY:
                self._record(cron_job, "TooManyMissedTimes", TOO_MANY_MISSED, is_warning=True)
            if self._may_run(cron_job, last.time, now):
                cron_job = self._start(cron_job, last.time)
        self._set_timer(cron_job, schedule, now)
        return cron_job

    def _schedule(self, cron_job: CronJob) -> CronSchedule | None:
        spec = cron_job.spec
        if spec.time_zone is not None and not is_known_zone(spec.time_zone):
            message = f'invalid timeZone: "{spec.time_zone}": unknown time zone {spec.time_zone}'
            self._record(cron_job, "UnknownTimeZone", message, is_warning=True)
            return None
        try:
            return parse_schedule(spec.schedule, spec.time_zone)
        except InputError as error:
            message = f'unparseable schedule: "{spec.schedule}" : {error}'
            self._record(cron_job, "UnparseableSchedule", message, is_warning=True)
            return None

    def _may_run(self, cron_job: CronJob, time: float, now: float) -> bool:
        spec, status = cron_job.spec, cron_job.status
        deadline = spec.starting_deadline_seconds
        if deadline is not None and time + deadline < now:
            when = datetime.fromtimestamp(time, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._record(cron_job, "MissSchedule", f"Missed scheduled time to start a job: {when}", is_warning=True)
            return False
        name = _job_name(cron_job, time)
        if any(known.name == name for known in status.active) or status.last_schedule_time == timestamps.render(time):
            return False
        if spec.concurrency_policy == "Forbid" and status.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._record(cron_job, "JobAlreadyActive", message)
            return False
        return True

    def _start(self, cron_job: CronJob, time: float) -> CronJob:
        if cron_job.spec.concurrency_policy == "Replace":
            cron_job = self._delete_active(cron_job)
        document = _job_document(cron_job, time)
        try:
            job = self.store.create(_typed_job(document), document if self.store.keeps_documents else None)
            self._record(cron_job, "SuccessfulCreate", f"Created job {job.metadata.name}")
        except AlreadyExists:
            job = self.store.get(Job, f"{cron_job.metadata.namespace}/{_job_name(cron_job, time)}")
            owner = controller_of(job)
            if owner is None or owner.uid != cron_job.metadata.uid or _is_listed(cron_job, job.metadata.uid):
                return cron_job
        except StatusError as refusal:
            self._record(cron_job, "FailedCreate", f"Error creating job: {refusal.message}", is_warning=True)
            raise
        active = (*cron_job.status.active, reference_to(job))
        status = _replace(cron_job.status, active=active, last_schedule_time=timestamps.render(time))
        return _replace(cron_job, status=status)

    def _delete_active(self, cron_job: CronJob) -> CronJob:
        for reference in cron_job.status.active:
            try:
                job = self.store.get(Job, f"{reference.namespace}/{reference.name}")
            except NotFound as refusal:
                self._record(cron_job, "FailedGet", f"Get job: {refusal.message}", is_warning=True)
                raise
            cron_job = self._delete_job(cron_job, job)
        return cron_job

    def _set_timer(self, cron_job: CronJob, schedule: CronSchedule, now: float) -> None:
        following = _next_time(cron_job, schedule, now)
        if following is None or self._timers.get(key(cron_job)) == following:
            return
        self._timers[key(cron_job)] = following
        self.enqueue_after(key(cron_job), following + NEXT_RUN_SECONDS - now, is_background=True)

    def _record(self, cron_job: CronJob, reason: str, message: str, *, is_warning: bool = False) -> None:
        self.cluster.record(cron_job, reason, message, is_warning=is_warning)


def last_time(cron_job: CronJob, schedule: CronSchedule, now: float, *, within_deadline: bool) -> _LastTime:
    """Return the latest scheduled time before now without a Job. Raises `InputError` for a schedule
    without times."""
    spec, created = cron_job.spec, cron_job.metadata.creation_timestamp
    since = cron_job.status.last_schedule_time or created
    earliest = timestamps.parse(since) if since else now
    if within_deadline and spec.starting_deadline_seconds is not None:
        earliest = max(earliest, now - spec.starting_deadline_seconds)
    first = schedule.next_after(earliest)
    second = None if first is None else schedule.next_after(first)
    if first is None or second is None:
        raise InputError(TOO_CLOSE)
    if now < first:
        return _LastTime(earliest, None, _Missed.NONE)
    if now < second:
        return _LastTime(earliest, first, _Missed.NONE)
    interval = int(second - first)
    missed = int(now - first) // interval + 1
    kind = _Missed.MANY if missed > MANY_MISSED_TIMES else _Missed.FEW
    latest: float | None = None
    candidate = schedule.next_after(first + (missed - 2) * interval)
    while candidate is not None and candidate <= now:
        latest, candidate = candidate, schedule.next_after(candidate)
    return _LastTime(earliest, latest, kind)


def _next_time(cron_job: CronJob, schedule: CronSchedule, now: float) -> float | None:
    try:
        last = last_time(cron_job, schedule, now, within_deadline=False)
    except InputError:
        return schedule.next_after(now)
    time = last.time
    if time is None:
        time = last.earliest if last.missed is _Missed.NONE else now
    return schedule.next_after(time)


def _job_name(cron_job: CronJob, time: float) -> str:
    return f"{cron_job.metadata.name}-{int(time) // 60}"


def _job_document(cron_job: CronJob, time: float) -> dict[str, Any]:
    template = cron_job.spec.job_template
    meta = template.get("metadata") or {}
    zone = ZoneInfo(cron_job.spec.time_zone) if cron_job.spec.time_zone else UTC
    when = datetime.fromtimestamp(time, zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    owner = msgspec.to_builtins(controller_reference(cron_job))
    metadata = {
        "name": _job_name(cron_job, time),
        "namespace": cron_job.metadata.namespace,
        "labels": dict(meta.get("labels") or {}),
        "annotations": {**(meta.get("annotations") or {}), SCHEDULED_TIME: when},
        "ownerReferences": [owner],
    }
    return {"apiVersion": Job.API_VERSION, "kind": Job.KIND, "metadata": metadata, "spec": template.get("spec") or {}}


def _typed_job(document: dict[str, Any]) -> Job:
    try:
        return codec.convert(document, Job)
    except InputError as error:
        raise Invalid(Job, document["metadata"]["name"], str(error)) from error


def _outcome(job: Job) -> str:
    """Return "Complete", "Failed", or "" for an unfinished Job."""
    return next((known.type for known in job.status.conditions if _is_end(known)), "")


def _is_end(condition: JobCondition) -> bool:
    return condition.type in ("Complete", "Failed") and condition.status == "True"


def _by_start(job: Job) -> tuple[bool, str, str]:
    start = job.status.start_time
    return start is None, start or "", job.metadata.name


def _is_listed(cron_job: CronJob, uid: str) -> bool:
    return any(known.uid == uid for known in cron_job.status.active)


def _without_active(cron_job: CronJob, uid: str) -> CronJob:
    active = tuple(known for known in cron_job.status.active if known.uid != uid)
    return _replace(cron_job, status=_replace(cron_job.status, active=active))


def _with_success(cron_job: CronJob, time: str | None) -> CronJob:
    known = cron_job.status.last_successful_time
    if time is None or (known is not None and timestamps.parse(time) <= timestamps.parse(known)):
        return cron_job
    return _replace(cron_job, status=_replace(cron_job.status, last_successful_time=time))
