# SPDX-License-Identifier: Apache-2.0
"""Priority classes: what a pod's class name stands for.

A priority that is stated in the pod is kept, whatever its class says. A real API server refuses such a pod; here it is
one of a dump, or of a simulation that does without classes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import ObjectMeta, Pod, PodSpec, PriorityClass
from steersman.embedded.errors import Forbidden
from steersman.embedded.store import ClusterView

PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
_BUILT_IN: Final = {
    name: PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}.items()
}
"""Classes that every cluster has."""
_NO_CLASS: Final = PriorityClass(preemption_policy=PREEMPT_LOWER_PRIORITY)

_replace = msgspec.structs.replace


def resolved(pod_name: str, spec: PodSpec, old: Pod | None, view: ClusterView) -> PodSpec:
    """The spec with priority and preemption policy; raises `Forbidden` for a class that does not exist."""
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


def admit_class(priority_class: PriorityClass, old: PriorityClass | None, view: ClusterView) -> PriorityClass:
    """At most one class may be the default."""
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
    name = spec.priority_class_name
    if not name:
        return _default_class(view) or _NO_CLASS
    return view.find(PriorityClass, name) or _BUILT_IN.get(name)


def _default_class(view: ClusterView) -> PriorityClass | None:
    """The priority class of pods that name none; there is at most one, see `admit_class`."""
    return next((known for known in view.objects(PriorityClass).values() if known.global_default), None)
