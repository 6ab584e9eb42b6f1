"""One node of the vector dry run on its own: where the order in which pods are put back is not that of the table.

That is so where a disruption budget would be violated, and where the start of some pods is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.framework.pod_info import PodInfo
from steersman.preemption.candidates import Candidate
from steersman.preemption.importance import by_importance
from steersman.preemption.removal import Removal


def reprieve_in_order(
    removal: Removal, row: int, violating: Sequence[PodInfo], others: Sequence[PodInfo], now: float
) -> Candidate:
    """The row as a candidate when `violating` pods are put back before the `others`."""
    room = _Room(removal, row)
    lost = [pod for pod in violating if not room.takes(pod)]
    violations = len(lost)
    lost += [pod for pod in others if not room.takes(pod)]
    victims = by_importance(lost, now) if violating and others else lost
    return Candidate(removal.local.table.names[row], tuple(victims), violations)


class _Room:
    """What is left on the row for pods that are put back."""

    def __init__(self, removal: Removal, row: int) -> None:
        self._removal = removal
        self._spare = {resource: int(column[row]) for resource, column in removal.spare.items()}
        self._spare_pods = int(removal.spare_pods[row])

    def takes(self, pod: PodInfo) -> bool:
        """Puts the pod back if it fits."""
        if self._removal.conflicts(pod) or (self._removal.counts_pods and self._spare_pods < 1):
            return False
        if any(pod.requests(resource) > spare for resource, spare in self._spare.items()):
            return False
        self._spare_pods -= 1
        for resource in self._spare:
            self._spare[resource] -= pod.requests(resource)
        return True
