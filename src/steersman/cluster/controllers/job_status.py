# SPDX-License-Identifier: Apache-2.0
"""Draft of a Job's status during a sync (`job_sync`): conditions, counters and uncounted pods.

Changes are collected here, and written if they make a difference.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.api import Job, JobCondition, JobStatus, UncountedTerminatedPods, key
from steersman.cluster.store import Store

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"

_replace = msgspec.structs.replace


def is_finished(job: Job) -> bool:
    return any(known.type in (COMPLETE, FAILED) and known.status == "True" for known in job.status.conditions)


class JobStatusDraft:
    """Next status of a Job."""

    def __init__(self, store: Store, job: Job) -> None:
        self._store = store
        #: The Job as last written.
        self.job = job
        self.uncounted = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
        self.value: JobStatus = _replace(job.status, uncounted_terminated_pods=self.uncounted)

    def change(self, **fields: Any) -> None:
        self.value = _replace(self.value, **fields)

    def write(self) -> None:
        if self.value != self.job.status:
            current = self._store.get(Job, key(self.job))
            self.job = self._store.update_status(_replace(current, status=self.value))

    # -- pods that ended ---------------------------------------------------------------------------

    def set_uncounted(self, succeeded: tuple[str, ...], failed: tuple[str, ...]) -> None:
        self.uncounted = UncountedTerminatedPods(succeeded, failed)
        self.change(uncounted_terminated_pods=self.uncounted)

    def count_released(self, tracked: set[str]) -> None:
        """Move released pods from the uncounted lists to the counters."""
        succeeded = tuple(uid for uid in self.uncounted.succeeded if uid in tracked)
        failed = tuple(uid for uid in self.uncounted.failed if uid in tracked)
        self.change(
            succeeded=self.value.succeeded + len(self.uncounted.succeeded) - len(succeeded),
            failed=self.value.failed + len(self.uncounted.failed) - len(failed),
        )
        self.set_uncounted(succeeded, failed)

    # -- conditions --------------------------------------------------------------------------------

    def condition(self, kind: str) -> JobCondition | None:
        """Return the condition of this type if it is true."""
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
        """Set a condition; return whether it changed. New false conditions are not added."""
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
        """Add the condition before the end of the Job; return the final condition, or None."""
        if end is None or end.type == FAILED:
            return end
        if self.condition(end.type) is None:
            self.change(conditions=(*self.value.conditions, end))
        return self.new_condition(FAILED if end.type == FAILURE_TARGET else COMPLETE, end.reason, end.message)
