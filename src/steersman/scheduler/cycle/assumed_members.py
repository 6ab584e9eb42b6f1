# SPDX-License-Identifier: Apache-2.0
"""Members of a group that are assumed while the group is tried, and their reversal.

Members are reverted in the reverse order of their assumption, so a part of a trial consists of the
members assumed after a mark. A nomination in memory ends when a member is assumed; its reversal
restores the one that the pod's status has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from steersman.api import Pod
from steersman.scheduler.cycle import commit
from steersman.scheduler.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.cache import Cache


class PodNominator(Protocol):
    """Nominations in memory."""

    def forget(self, uid: str) -> None:
        """Remove the nomination of the pod with this uid."""

    def add(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate the pod to the node or, without one, to that of its status."""


class AssumedMembers:
    """Members that are assumed and reserved, in this order."""

    def __init__(self, cycle: SchedulingCycle, cache: Cache, nominator: PodNominator, profile: Profile) -> None:
        self._cycle = cycle
        self._cache = cache
        self._nominator = nominator
        self._profile = profile
        self._members: list[Scheduled] = []
        #: Whether a Reserve plugin applies to one of the members.
        self._has_reserved = False

    def __len__(self) -> int:
        """Return the number of members: a mark for `revert_to`."""
        return len(self._members)

    def assume(self, found: Scheduled) -> Scheduled | Unschedulable | Failed:
        """Assume and reserve a member; return the rejection if Reserve refuses."""
        self._nominator.forget(found.pod.uid)
        reserved = self._cycle.assume_and_reserve(self._profile, found)
        self._has_reserved |= bool(self._profile.reserve.for_pod(found.pod))
        if isinstance(reserved, Scheduled):
            self._members.append(reserved)
        else:
            self._restore_nomination(found)
        return reserved

    def add(self, placed: Sequence[Scheduled]) -> None:
        """Add members that are assumed already and need no Reserve."""
        for found in placed:
            self._nominator.forget(found.pod.uid)
        self._members += placed

    def revert_to(self, mark: int) -> None:
        """Unreserve and forget the members that were assumed since the mark."""
        while len(self._members) > mark:
            member = self._members.pop()
            commit.unreserve_and_forget(self._cache, self._profile, member.state, member.pod, member.node)
            self._restore_nomination(member)

    def keep(self) -> set[str]:
        """Let the members stay assumed, and return their uids. If Reserve plugins apply to some,
        all are reverted instead, because these plugins run again for the decision."""
        if self._has_reserved:
            self.revert_to(0)
        kept = {member.pod.uid for member in self._members}
        self._members.clear()
        return kept

    def _restore_nomination(self, member: Scheduled) -> None:
        pod = member.pod.pod
        if pod.status.nominated_node_name:
            self._nominator.add(pod, pod.status.nominated_node_name)
