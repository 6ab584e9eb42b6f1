# SPDX-License-Identifier: Apache-2.0
"""Events of a scheduler about pods, with kube-scheduler's texts; each host writes them in its own
way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, NamedTuple

from steersman import api
from steersman.framework import Failure, PodInfo

SCHEDULED: Final = "Scheduled"
FAILED_SCHEDULING: Final = "FailedScheduling"
PREEMPTED: Final = "Preempted"


def assigned_note(pod: str, node_name: str) -> str:
    """Return the note of a Scheduled event."""
    return f"Successfully assigned {pod} to {node_name}"


class PodEvent(NamedTuple):
    """An event of a scheduler about a pod, perhaps related to another object."""

    pod: api.Pod
    scheduler: str
    type: str
    reason: str
    action: str
    note: str
    related: api.Object | None = None


class EventReports(ABC):
    """Base class of an `ApiWriter` that turns reports of a scheduler into events."""

    @abstractmethod
    def write_event(self, event: PodEvent) -> None:
        """Write an event about a pod."""

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        note = assigned_note(pod.key, node_name)
        self.write_event(PodEvent(pod.pod, pod.scheduler_name, api.EVENT_NORMAL, SCHEDULED, "Binding", note))

    def report_failed_attempt(self, failure: Failure) -> None:
        """Write the event of a failed attempt; the writer updates the pod's status itself."""
        pod, message = failure.pod, failure.message
        self.write_event(PodEvent(pod, pod.scheduler_name, api.EVENT_WARNING, FAILED_SCHEDULING, "Scheduling", message))

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        # A group is the related object; a pod is not, though kube-scheduler intends to set it.
        scheduler = preemptor.scheduler_name
        self.write_event(PodEvent(victim, scheduler, api.EVENT_NORMAL, PREEMPTED, "Preempting", message, group))

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        kind = api.EVENT_WARNING if is_warning else api.EVENT_NORMAL
        self.write_event(PodEvent(pod, pod.scheduler_name, kind, reason, "Scheduling", note))
