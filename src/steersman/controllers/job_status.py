# SPDX-License-Identifier: Apache-2.0
"""The status of a job while `job_sync` looks at it: conditions, counters and the pods that are not counted yet.

Changes are gathered here and written when they make a difference.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.api import Job, JobCondition, JobStatus, UncountedTerminatedPods, key
from steersman.embedded import Store

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"

_replace = msgspec.structs.replace


def is_finished(job: Job) -> bool:
    return any(known.type in (COMPLETE, FAILED) and known.status == "True" for known in job.status.conditions)


class JobStatusDraft:
    """The status of one job, as it shall be written next."""

    def __init__(self, store: Store, job: Job) -> None:
        self._store = store
        #: The job as it was written last.
        self.job = job
        self.uncounted = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
        self.value: JobStatus = _replace(job.status, uncounted_terminated_pods=self.uncounted)

    def change(self, **fields: Any) -> None:
        self.value = _replace(self.value, **fields)

    def write(self) -> None:
        if self.value != self.job.status:
            current = self._store.get(Job, key(self.job))
            self.job = self._store.update_status(_replace(current, status=self.value))

    # -- pods that ended ---------------------------------------------------------------------------------------------

    def set_uncounted(self, succeeded: tuple[str, ...], failed: tuple[str, ...]) -> None:
        self.uncounted = UncountedTerminatedPods(succeeded, failed)
        self.change(uncounted_terminated_pods=self.uncounted)

    def count_released(self, tracked: set[str]) -> None:
        """Moves the pods that have been released from the list of uncounted ones to the counters."""
        succeeded = tuple(uid for uid in self.uncounted.succeeded if uid in tracked)
        failed = tuple(uid for uid in self.uncounted.failed if uid in tracked)
        self.change(
            succeeded=self.value.succeeded + len(self.uncounted.succeeded) - len(succeeded),
            failed=self.value.failed + len(self.uncounted.failed) - len(failed),
        )
        self.set_uncounted(succeeded, failed)

    # -- conditions --------------------------------------------------------------------------------------------------

    def condition(self, kind: str) -> JobCondition | None:
        """The condition of this type, if it holds."""
        conditions = self.value.conditions
        return next((known for known in conditions if known.type == kind and known.status == "True"), None)

    def new_condition(self, kind: str, reason: str, message: str, status: str = "True") -> JobCondition:
        now = self._store.timestamp()
        return JobCondition(
            type=kind,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=now,
            last_probe_time=now,
        )

    def set_condition(self, kind: str, status: str, reason: str, message: str) -> bool:
        """Whether that is news; that something is not the case is none, unless it was."""
        conditions = self.value.conditions
        new = self.new_condition(kind, reason, message, status)
        for place, known in enumerate(conditions):
            if known.type != kind:
                continue
            if (known.status, known.reason, known.message) == (status, reason, message):
                return False
            self.change(conditions=(*conditions[:place], new, *conditions[place + 1 :]))
            return True
        if status == "False":
            return False
        self.change(conditions=(*conditions, new))
        return True

    def announce(self, end: JobCondition | None) -> JobCondition | None:
        """Notes that the job is about to end; the condition of one that has ended, None if it has not."""
        if end is None or end.type == FAILED:
            return end
        if self.condition(end.type) is None:
            self.change(conditions=(*self.value.conditions, end))
        return self.new_condition(FAILED if end.type == FAILURE_TARGET else COMPLETE, end.reason, end.message)
