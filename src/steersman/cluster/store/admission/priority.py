# SPDX-License-Identifier: Apache-2.0
"""Priority classes: priority and preemption policy of a pod.

Simulations keep a pod's own priority, even if its class differs: the pod is from a dump, or there
are no classes. An API server rejects such a pod (`checked`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import ObjectMeta, Pod, PodSpec, PriorityClass
from steersman.cluster.store.errors import Forbidden
from steersman.cluster.store.store import ClusterView

PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
_BUILT_IN: Final = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}.items()
}
"""Classes that exist in every cluster."""
_NO_CLASS: Final = PriorityClass(preemption_policy=PREEMPT_LOWER_PRIORITY)

_replace = msgspec.structs.replace


def resolved(pod_name: str, spec: PodSpec, old: Pod | None, view: ClusterView) -> PodSpec:
    """Return the spec with priority and preemption policy. Raise `Forbidden` without the class."""
    if old is not None:
        return _carried_over(spec, old.spec)
    if spec.priority is not None and (spec.preemption_policy is not None or not spec.priority_class_name):
        return spec
    found = _class_of(spec, view)
    if found is None:
        if spec.priority is not None:
            return spec
        raise Forbidden(Pod, pod_name, f"no PriorityClass with name {spec.priority_class_name} was found")
    return _replace(
        spec,
        priority=found.value if spec.priority is None else spec.priority,
        priority_class_name=found.metadata.name,
        preemption_policy=spec.preemption_policy or found.preemption_policy,
    )


def checked(pod_name: str, spec: PodSpec, view: ClusterView) -> PodSpec:
    """Return the spec of a new pod without its own priority, which `resolved` sets again.

    Raises `Forbidden` if the priority or the preemption policy differs from its class.
    """
    found = _class_of(spec, view)
    if found is None:
        return spec
    wrong = "must not be provided in pod spec; priority admission controller computed"
    policy, expected = spec.preemption_policy, found.preemption_policy or PREEMPT_LOWER_PRIORITY
    if spec.priority not in (None, found.value):
        why = f"the integer value of priority ({spec.priority}) {wrong} {found.value} from the given PriorityClass name"
        raise Forbidden(Pod, pod_name, why)
    if policy not in (None, expected):
        why = f"the string value of PreemptionPolicy ({policy}) {wrong} {expected} from the given PriorityClass name"
        raise Forbidden(Pod, pod_name, why)
    return spec if spec.priority is None else _replace(spec, priority=None)


def admit_class(priority_class: PriorityClass, old: PriorityClass | None, view: ClusterView) -> PriorityClass:
    """Set the default preemption policy. Raises `Forbidden` for a second default class."""
    name = priority_class.metadata.name
    default = _default_class(view) if priority_class.global_default else None
    if default is not None and (old is None or default.metadata.name != name):
        why = f"PriorityClass {default.metadata.name} is already marked as default. Only one default can exist"
        raise Forbidden(PriorityClass, name, why)
    if priority_class.preemption_policy is not None:
        return priority_class
    return _replace(priority_class, preemption_policy=PREEMPT_LOWER_PRIORITY)


def _carried_over(spec: PodSpec, old: PodSpec) -> PodSpec:
    priority = old.priority if spec.priority is None else spec.priority
    policy = old.preemption_policy if spec.preemption_policy is None else spec.preemption_policy
    if (priority, policy) == (spec.priority, spec.preemption_policy):
        return spec
    return _replace(spec, priority=priority, preemption_policy=policy)


def _class_of(spec: PodSpec, view: ClusterView) -> PriorityClass | None:
    return class_named(spec.priority_class_name, view)


def class_named(name: str, view: ClusterView) -> PriorityClass | None:
    """Return the class with this name; for "" the default class, or one without effect."""
    if not name:
        return _default_class(view) or _NO_CLASS
    return view.find(PriorityClass, name) or _BUILT_IN.get(name)


def _default_class(view: ClusterView) -> PriorityClass | None:
    """Return the priority class of pods without a class name; `admit_class` allows at most one."""
    return next((known for known in view.objects(PriorityClass).values() if known.global_default), None)
