# SPDX-License-Identifier: Apache-2.0
"""Rules of pod groups that scheduling reads: topology key, disruption mode, priority."""

from __future__ import annotations

from typing import Final

from steersman.api.pod_groups import CompositePodGroup, PodGroup

INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
"""Condition of a PodGroup that says whether it was ever scheduled."""

AnyPodGroup = PodGroup | CompositePodGroup


def topology_key(group: AnyPodGroup) -> str | None:
    """Return the node label by whose value all members must agree, or None without a constraint."""
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else None


def is_disrupted_as_one(group: AnyPodGroup) -> bool:
    """Return whether preemption removes all running members together."""
    mode = group.spec.disruption_mode
    return mode is not None and mode.all is not None


def group_priority(group: AnyPodGroup) -> int:
    return group.spec.priority or 0
