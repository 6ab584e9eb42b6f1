# SPDX-License-Identifier: Apache-2.0
"""Objects that a pod refers to: a priority class that lets it preempt, a claim and a volume that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from steersman import api
from steersman.api.persistent_volumes import class_of_claim
from steersman.fixes.changes import Change, Document, PodPlace
from steersman.fixes.fix import FixKind
from steersman.sim import Simulation
from steersman.sim.storage_classes import PROVISIONER

HIGHEST_PRIORITY: Final = 1_000_000_000
"""Higher ones are the system's."""
_CLAIM_SIZE: Final = "1Gi"
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


def raise_priority(place: PodPlace, pod: api.Pod, known: api.PriorityClass) -> Change:
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


def raise_priority_with(place: PodPlace, pod: api.Pod, manifest: Document) -> Change:
    """The pod gets a class that is created for it."""
    return _with_class(place, pod, manifest["metadata"]["name"], manifest["value"])._replace(create=manifest)


def _with_class(place: PodPlace, pod: api.Pod, name: str, priority: int) -> Change:
    def edit(spec: Document) -> None:
        spec["priorityClassName"] = name
        spec.pop("priority", None)
        spec.pop("preemptionPolicy", None)

    summary = f"raise the priority from {pod.spec.priority or 0} to {priority} (PriorityClass {name})"
    return place.change(FixKind.PRIORITY, summary, edit)


# -- claims and volumes ------------------------------------------------------------------------------------------------


def missing_claims(simulation: Simulation, pod: api.Pod) -> Iterator[Change]:
    """The claims that the pod names and that are not there, to be created with the default class."""
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        name = source.claim_name if source is not None else ""
        if name and simulation.cluster.find(api.PersistentVolumeClaim, f"{namespace}/{name}") is None:
            yield _new_claim(namespace, name)


def _new_claim(namespace: str, name: str) -> Change:
    manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _CLAIM_SIZE}}},
    }
    return Change(FixKind.CLAIM, f"create the PersistentVolumeClaim {name} ({_CLAIM_SIZE})", create=manifest)


def missing_volumes(simulation: Simulation, pod: api.Pod) -> Iterator[Change]:
    """Volumes for the pod's claims that nobody will provide one for, each as large as its claim."""
    if any(known.provisioner == PROVISIONER for known in simulation.cluster.objects(api.StorageClass).values()):
        return  # classes are assumed only as long as nothing is known of storage
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        key = f"{pod.metadata.namespace}/{source.claim_name}" if source is not None else ""
        claim = simulation.cluster.find(api.PersistentVolumeClaim, key)
        if claim is not None and not claim.spec.volume_name:
            yield _new_volume(claim)


def _new_volume(claim: api.PersistentVolumeClaim) -> Change:
    size: Any = claim.spec.resources.requests.get("storage", _CLAIM_SIZE)
    name = f"{claim.metadata.namespace}-{claim.metadata.name}"
    manifest: Document = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": list(claim.spec.access_modes) or ["ReadWriteOnce"],
            "storageClassName": class_of_claim(claim) or "",
            "claimRef": {"namespace": claim.metadata.namespace, "name": claim.metadata.name},
            "hostPath": {"path": f"/var/lib/volumes/{name}"},
        },
    }
    return Change(
        FixKind.VOLUME, f"create the PersistentVolume {name} ({size}) for claim {claim.metadata.name}", create=manifest
    )
