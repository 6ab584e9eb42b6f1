# SPDX-License-Identifier: Apache-2.0
"""PrioritySort: the order of the active queue.

QueueSort only. Pods of higher priority come first; among equals the one that has been in the queue for longer.
"""

from __future__ import annotations

from typing import Protocol

from steersman import api
from steersman.framework.plugin import QueueSortPlugin


class Queued(Protocol):
    """An entry of the queue, as far as this plugin reads it."""

    @property
    def pod(self) -> api.Pod: ...
    @property
    def timestamp(self) -> int:
        """When the pod was added to the queue, or came back to it."""


class PrioritySort(QueueSortPlugin):
    """Orders by priority, then by the time of entering the queue."""

    name = "PrioritySort"

    def sort_key(self, queued: Queued) -> tuple[int, int]:
        return -(queued.pod.spec.priority or 0), queued.timestamp
