# SPDX-License-Identifier: Apache-2.0
"""PrioritySort: the order of the active queue.

QueueSort only. Pods of higher priority come first, then those that were queued earlier.
"""

from __future__ import annotations

from steersman.framework import QueuedPod, QueueSortPlugin


class PrioritySort(QueueSortPlugin):
    """Orders by priority, then by the time of entering the queue."""

    name = "PrioritySort"

    def sort_key(self, queued: QueuedPod) -> tuple[int, int]:
        return -(queued.pod.spec.priority or 0), queued.timestamp
