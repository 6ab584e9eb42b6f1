# SPDX-License-Identifier: Apache-2.0
"""Objects that decide about a pod beside its nodes: the priority class that lets it preempt, the quotas that let it in, the Job
that has its pods taken away while it is suspended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman import api
from steersman.api import quantity
from steersman.controllers.controller import controller_of
from steersman.embedded.admission.quotas import QuotaExcess
from steersman.explain import Shortage
from steersman.fixes.changes import AnyChange, Change, Document, SpecPlace
from steersman.fixes.fix import FixKind, ObjectName
from steersman.fixes.pod_changes import Alternative
from steersman.fixes.requests import lower_request
from steersman.sim import Simulation

HIGHEST_PRIORITY: Final = 1_000_000_000
"""Higher ones are the system's."""
_NO_PREEMPTION: Final = "Never"


# -- priority ----------------------------------------------------------------------------------------------------------


def priorities(simulation: Simulation, pod: api.Pod) -> list[int]:
    """The priorities above the pod's own that make a difference, in ascending order: one more than that of some pod."""
    own = pod.spec.priority or 0
    others = {
        other.spec.priority or 0 for other in simulation.cluster.objects(api.Pod).values() if other.spec.node_name
    }
    return sorted({priority + 1 for priority in others if own <= priority < HIGHEST_PRIORITY})


def existing_class(simulation: Simulation, least: int) -> api.PriorityClass | None:
    """The lowest class with at least this priority that lets pods preempt others."""
    classes = [
        known
        for known in simulation.cluster.objects(api.PriorityClass).values()
        if least <= known.value <= HIGHEST_PRIORITY and known.preemption_policy != _NO_PREEMPTION
    ]
    return min(classes, key=lambda known: known.value, default=None)


def raise_priority(place: SpecPlace, pod: api.Pod, known: api.PriorityClass) -> Change:
    """The pod gets a class that there is."""
    return _with_class(place, pod, known.metadata.name, known.value)


def new_class(pod: api.Pod, priority: int) -> Document:
    """A class of this priority to create."""
    name = f"{pod.metadata.name[:40].rstrip('-.')}-priority-{priority}"
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": priority,
    }


def raise_priority_with(place: SpecPlace, pod: api.Pod, manifest: Document) -> Change:
    """The pod gets a class that is created for it."""
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
    """Every quota that refuses the pod, raised to what is used with it."""
    return tuple(_raised(excess, name) for excess in excesses for name in sorted(excess.hard))


def _raised(excess: QuotaExcess, name: str) -> Change:
    namespace, _, quota = excess.quota.partition("/")
    hard = quantity.canonical(quantity.add(excess.used[name], excess.added[name]))

    def edit(document: Document) -> None:
        document["spec"]["hard"][name] = hard

    summary = f"raise {name} of quota {quota} from {quantity.canonical(excess.hard[name])} to {hard}"
    return Change(FixKind.QUOTA, summary, ObjectName(api.ResourceQuota.KIND, namespace, quota), edit)


def lower_to_quotas(place: SpecPlace, spec: api.PodSpec, excesses: Iterable[QuotaExcess]) -> Alternative | None:
    """Requests as low as the quotas allow; None if something else than a request is too much."""
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
    """The Job that has made the pod, if it is in the cluster and suspended: then its controller deletes the pod."""
    owner = controller_of(pod)
    if owner is None or owner.kind != api.Job.KIND:
        return None
    job = simulation.cluster.find(api.Job, f"{pod.metadata.namespace}/{owner.name}")
    if job is None or job.metadata.uid != owner.uid or not job.spec.suspend:
        return None
    return ObjectName(job.KIND, job.metadata.namespace, job.metadata.name)


def resume_job(job: ObjectName) -> Change:
    """The Job makes pods again."""

    def edit(document: Document) -> None:
        document["spec"]["suspend"] = False

    return Change(FixKind.RESUME_JOB, f"resume Job {job.name}", job, edit)
