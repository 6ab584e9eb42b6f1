# SPDX-License-Identifier: Apache-2.0
"""Admission of pod groups: finalizer, disruption mode, priority and preemption policy of new
groups.

As for pods (`priority`), simulations keep a group's own priority, and an API server rejects it if
the class differs.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from steersman.api import CompositePodGroup, DisruptionMode, PodGroup, PriorityClass, SingleDisruptionMode
from steersman.cluster.store.admission.priority import PREEMPT_LOWER_PRIORITY, class_named
from steersman.cluster.store.errors import Forbidden, Invalid, StatusCause
from steersman.cluster.store.finalizers import POD_GROUP_PROTECTION, with_finalizer
from steersman.cluster.store.store import ClusterView

GroupT = TypeVar("GroupT", PodGroup, CompositePodGroup)

_NAMES: Final = {PodGroup: "pod group", CompositePodGroup: "composite pod group"}
_PRIORITY: Final = "spec.priority"
HIGHEST_USER_PRIORITY: Final = 1_000_000_000
"""Groups cannot have the priority of system classes."""
_SINGLE: Final = DisruptionMode(single=SingleDisruptionMode())

_replace = msgspec.structs.replace


class GroupAdmission:
    """Completes new groups. `has_policies` says whether groups have preemption policies (gate
    PodGroupPreemptionPolicy); with `enforces_classes`, values that differ from the priority class
    are rejected."""

    def __init__(self, *, enforces_classes: bool = False, has_policies: bool = False) -> None:
        self._enforces_classes = enforces_classes
        self._has_policies = has_policies

    def admit(self, group: GroupT, old: GroupT | None, view: ClusterView) -> GroupT:
        """Return the group with its defaults. Raise `Forbidden` without its priority class."""
        if old is not None:
            is_complete = not self._has_policies or group.spec.preemption_policy is not None
            return group if is_complete else _with(group, preemption_policy=PREEMPT_LOWER_PRIORITY)
        if isinstance(group, PodGroup):
            group = with_finalizer(group, POD_GROUP_PROTECTION)
        if group.spec.disruption_mode is None:
            group = _with(group, disruption_mode=_SINGLE)
        name = group.spec.priority_class_name
        found = class_named(name, view)
        if found is None:
            if self._enforces_classes or group.spec.priority is None:
                raise Forbidden(type(group), group.metadata.name, f"no PriorityClass with name {name} was found")
            return group
        if self._enforces_classes:
            self._check(group, found)
        group = _with_priority(group, found)
        policy = group.spec.preemption_policy or found.preemption_policy or PREEMPT_LOWER_PRIORITY
        return _with(group, preemption_policy=policy) if self._has_policies else group

    def _check(self, group: PodGroup | CompositePodGroup, found: PriorityClass) -> None:
        """Raise `Forbidden` if the group differs from its class."""
        priority, policy, name = group.spec.priority, group.spec.preemption_policy, _NAMES[type(group)]
        if priority not in (None, found.value):
            why = (
                f"priority set in the {name} ({priority}) must match the priority computed ({found.value}) based on "
                "the priority class set in the spec"
            )
            raise Forbidden(type(group), group.metadata.name, why)
        expected = found.preemption_policy or PREEMPT_LOWER_PRIORITY
        policy = PREEMPT_LOWER_PRIORITY if policy is None else policy  # upstream defaults it before admission
        if self._has_policies and policy != expected:
            why = (
                f"the string value of PreemptionPolicy ({policy}) must not be provided in {name} spec; priority admission "
                f"controller computed {expected} from the given PriorityClass name"
            )
            raise Forbidden(type(group), group.metadata.name, why)
        if found.value > HIGHEST_USER_PRIORITY:
            why = f"Invalid value: {found.value}: must be less than or equal to {HIGHEST_USER_PRIORITY}"
            cause = StatusCause("FieldValueInvalid", why, _PRIORITY)
            raise Invalid(type(group), group.metadata.name, f"{_PRIORITY}: {why}", [cause])


def _with_priority(group: GroupT, found: PriorityClass) -> GroupT:
    spec = group.spec
    if spec.priority is not None and not spec.priority_class_name:
        return group
    priority = found.value if spec.priority is None else spec.priority
    return _with(group, priority=priority, priority_class_name=found.metadata.name)


def _with(group: GroupT, **fields: object) -> GroupT:
    changed: GroupT = _replace(group, spec=_replace(group.spec, **fields))
    return changed
