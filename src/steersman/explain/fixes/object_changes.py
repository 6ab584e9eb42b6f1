# SPDX-License-Identifier: Apache-2.0
"""Changes of other objects that affect a pod: its priority class, quotas that refuse it, and a
suspended Job that deletes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman import api
from steersman.api import quantity
from steersman.cluster.controllers import controller_of
from steersman.cluster.store import QuotaExcess
from steersman.explain.fixes.changes import AnyChange, Change, Document, SpecPlace, set_field
from steersman.explain.fixes.container_changes import lower_request
from steersman.explain.fixes.fix import FixKind, ObjectName, object_name
from steersman.explain.fixes.pod_changes import Alternative
from steersman.scheduler.diagnosis import Shortage
from steersman.simulation import Simulation

HIGHEST_PRIORITY: Final = 1_000_000_000
"""Higher priorities are reserved for the system."""
_NO_PREEMPTION: Final = "Never"


# -- priority ----------------------------------------------------------------------------------------------------------


def priorities(simulation: Simulation, pod: api.Pod) -> list[int]:
    """Return the higher priorities that make a difference, ascending: one more than that of some
    pod."""
    own = pod.spec.priority or 0
    others = {
        other.spec.priority or 0 for other in simulation.cluster.objects(api.Pod).values() if other.spec.node_name
    }
    return sorted({priority + 1 for priority in others if own <= priority < HIGHEST_PRIORITY})


def existing_class(simulation: Simulation, least: int) -> api.PriorityClass | None:
    """Return the lowest class with at least this priority whose pods may preempt others."""
    classes = [
        known
        for known in simulation.cluster.objects(api.PriorityClass).values()
        if least <= known.value <= HIGHEST_PRIORITY and known.preemption_policy != _NO_PREEMPTION
    ]
    return min(classes, key=lambda known: known.value, default=None)


def raise_priority(place: SpecPlace, pod: api.Pod, known: api.PriorityClass) -> Change:
    """Give the pod an existing priority class."""
    return _with_class(place, pod, known.metadata.name, known.value)


def new_class(pod: api.Pod, priority: int) -> Document:
    """Return the manifest of a new class with this priority."""
    name = f"{pod.metadata.name[:40].rstrip('-.')}-priority-{priority}"
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": priority,
    }


def raise_priority_with(place: SpecPlace, pod: api.Pod, manifest: Document) -> Change:
    """Give the pod a new priority class."""
    return _with_class(place, pod, manifest["metadata"]["name"], manifest["value"])._replace(create=(manifest,))


def _with_class(place: SpecPlace, pod: api.Pod, name: str, priority: int) -> Change:
    def edit(spec: Document) -> None:
        spec["priorityClassName"] = name
        spec.pop("priority", None)
        spec.pop("preemptionPolicy", None)

    summary = f"raise the priority from {pod.spec.priority or 0} to {priority} (PriorityClass {name})"
    return place.change(FixKind.PRIORITY, summary, edit)


# -- quotas ------------------------------------------------------------------------------------------------------------


def raise_quotas(excesses: Iterable[QuotaExcess]) -> tuple[Change, ...]:
    """Raise every quota that refuses the pod to the usage with the pod."""
    return tuple(_raised(excess, name) for excess in excesses for name in sorted(excess.hard))


def _raised(excess: QuotaExcess, name: str) -> Change:
    namespace, _, quota = excess.quota.partition("/")
    hard = quantity.canonical(quantity.add(excess.used[name], excess.added[name]))
    summary = f"raise {name} of quota {quota} from {quantity.canonical(excess.hard[name])} to {hard}"
    target = ObjectName(api.ResourceQuota.KIND, namespace, quota)
    return Change(FixKind.QUOTA, summary, target, set_field(hard, "spec", "hard", name))


def lower_to_quotas(place: SpecPlace, spec: api.PodSpec, excesses: Iterable[QuotaExcess]) -> Alternative | None:
    """Lower the requests to what the quotas allow; None if something else exceeds them."""
    lowered: dict[str, AnyChange] = {}
    for excess in excesses:
        for name in excess.hard:
            resource = name.removeprefix("requests.")
            number = quantity.milli_value if resource == "cpu" else quantity.value
            asks = number(excess.added[name])
            free = number(quantity.sub(excess.hard[name], excess.used[name]))
            change = lower_request(place, spec, Shortage(name, resource, asks, free, number(excess.hard[name])))
            if change is None:
                return None
            lowered[change.key] = change
    return tuple(lowered.values())


# -- jobs --------------------------------------------------------------------------------------------------------------


def suspended_job(simulation: Simulation, pod: api.Pod) -> ObjectName | None:
    """Return the Job of the pod if it is in the cluster and suspended, so that its controller
    deletes the pod."""
    owner = controller_of(pod)
    if owner is None or owner.kind != api.Job.KIND:
        return None
    job = simulation.cluster.find(api.Job, f"{pod.metadata.namespace}/{owner.name}")
    if job is None or job.metadata.uid != owner.uid or not job.spec.suspend:
        return None
    return object_name(job)


def resume_job(job: ObjectName) -> Change:
    """Resume the Job, so that it creates pods again."""
    return Change(FixKind.RESUME_JOB, f"resume Job {job.name}", job, set_field(False, "spec", "suspend"))
