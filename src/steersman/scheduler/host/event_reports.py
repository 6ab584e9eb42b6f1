# SPDX-License-Identifier: Apache-2.0
"""Events of a scheduler about pods, with kube-scheduler's texts; each host writes them in its own
way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from steersman import api
from steersman.framework import Failure, PodInfo

SCHEDULED: Final = "Scheduled"
FAILED_SCHEDULING: Final = "FailedScheduling"
PREEMPTED: Final = "Preempted"


def assigned_note(pod: str, node_name: str) -> str:
    """Return the note of a Scheduled event."""
    return f"Successfully assigned {pod} to {node_name}"


class EventReports(ABC):
    """Base class of an `ApiWriter` that turns reports of a scheduler into events."""

    @abstractmethod
    def write_event(self, pod: api.Pod, controller: str, type: str, reason: str, action: str, note: str) -> None:
        """Write an event about the pod; `controller` is the name of the scheduler."""

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        note = assigned_note(pod.key, node_name)
        self.write_event(pod.pod, pod.scheduler_name, api.EVENT_NORMAL, SCHEDULED, "Binding", note)

    def report_failed_attempt(self, failure: Failure) -> None:
        """Write the event of a failed attempt; the writer updates the pod's status itself."""
        pod, message = failure.pod, failure.message
        self.write_event(pod, pod.scheduler_name, api.EVENT_WARNING, FAILED_SCHEDULING, "Scheduling", message)

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        # Without the preemptor as related object, which kube-scheduler v1.36 intends to set but
        # does not.
        self.write_event(victim, preemptor.scheduler_name, api.EVENT_NORMAL, PREEMPTED, "Preempting", message)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        kind = api.EVENT_WARNING if is_warning else api.EVENT_NORMAL
        self.write_event(pod, pod.scheduler_name, kind, reason, "Scheduling", note)
