# SPDX-License-Identifier: Apache-2.0
"""Changes of a pod's volume claims: another class, a smaller size, a claim or a volume to create.

A claim of the input is changed itself, a claim of a StatefulSet in its `volumeClaimTemplates`.
Bound claims are not changed, because their data stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from steersman import api
from steersman.api import NO_PROVISIONER, STORAGE, class_of_claim, class_of_volume, quantity
from steersman.explain.fixes.changes import (
    Change,
    Document,
    InputDocuments,
    NumberedChange,
    Recreation,
    SpecPlace,
    set_field,
)
from steersman.explain.fixes.container_changes import amount_text, byte_quantum
from steersman.explain.fixes.fix import FixKind, ObjectName, object_name
from steersman.explain.fixes.pod_changes import Alternative
from steersman.simulation import DEFAULT_CLASS, PROVISIONER, Simulation

_CLAIM_SIZE: Final = "1Gi"
_MAX_CLASSES: Final = 3


class ClaimOfPod(NamedTuple):
    """An unbound claim of the pod, and where it is changed; None if it cannot be."""

    claim: api.PersistentVolumeClaim
    place: SpecPlace | None


def unbound_claims(
    simulation: Simulation, pod: api.Pod, workload: ObjectName | None, given: InputDocuments
) -> Iterator[ClaimOfPod]:
    """Yield the pod's existing claims without a volume."""
    for name in _claim_names(pod):
        claim = simulation.cluster.find(api.PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")
        if claim is not None and not claim.spec.volume_name:
            place = _place(simulation, claim, workload, given)
            if place is not None and place.path:
                place = place._replace(
                    recreates=tuple(Recreation(object_name(each), workload) for each in (claim, pod))
                )
            yield ClaimOfPod(claim, place)


def _claim_names(pod: api.Pod) -> Iterator[str]:
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    yield from (source.claim_name for source in sources if source is not None and source.claim_name)


def _place(
    simulation: Simulation, claim: api.PersistentVolumeClaim, workload: ObjectName | None, given: InputDocuments
) -> SpecPlace | None:
    target = object_name(claim)
    if target in given:
        return SpecPlace(target)
    if workload is None or workload.kind != api.StatefulSet.KIND or workload not in given:
        return None
    stateful_set = simulation.cluster.get(api.StatefulSet, f"{workload.namespace}/{workload.name}")
    for position, template in enumerate(stateful_set.spec.volume_claim_templates):
        if claim.metadata.name.startswith(f"{template['metadata']['name']}-{workload.name}-"):
            return SpecPlace(workload, ("spec", "volumeClaimTemplates", position))
    return None


# -- claims that exist -------------------------------------------------------------------------------------------------


def change_claim(simulation: Simulation, found: ClaimOfPod) -> Iterator[Alternative]:
    """Yield the claim with a smaller size, and with other classes."""
    if found.place is None:
        return
    smaller = _smaller(simulation, found, found.place)
    if smaller is not None:
        yield (smaller,)
    old = class_of_claim(found.claim)
    known = sorted(simulation.cluster.objects(api.StorageClass))
    others = [name for name in known if name != old and _can_provide(simulation, name)]
    yield from ((_with_class(found, found.place, old, name),) for name in others[:_MAX_CLASSES])


def _smaller(simulation: Simulation, found: ClaimOfPod, place: SpecPlace) -> NumberedChange | None:
    """Return smaller sizes of the claim; the estimate is the largest volume that exists or that a
    driver can create."""
    claim = found.claim
    requested, name = quantity.value_of(claim.spec.resources.requests.get(STORAGE, "0")), claim.metadata.name
    largest = max((size for size in _offered_sizes(simulation, class_of_claim(claim)) if size < requested), default=0)
    quantum = byte_quantum(largest)
    highest = (requested - 1) // quantum
    if not largest or highest < 1:
        return None
    guess = highest - largest // quantum + 1

    def make(step: int) -> Change:
        text = amount_text("memory", (highest - step + 1) * quantum)
        summary = f"lower the size of claim {name} from {amount_text('memory', requested)} to {text}"
        return place.change(FixKind.CLAIM_SIZE, summary, set_field(text, "resources", "requests", STORAGE))

    return NumberedChange(f"size {name}", FixKind.CLAIM_SIZE, guess, highest, make)


def _offered_sizes(simulation: Simulation, storage_class: str) -> Iterator[int]:
    for volume in simulation.cluster.objects(api.PersistentVolume).values():
        if class_of_volume(volume) == storage_class and volume.spec.claim_ref is None:
            yield quantity.value_of(volume.spec.capacity.get(STORAGE, "0"))
    for capacity in simulation.cluster.objects(api.CSIStorageCapacity).values():
        size = capacity.maximum_volume_size or capacity.capacity
        if capacity.storage_class_name == storage_class and size is not None:
            yield quantity.value_of(size)


def _can_provide(simulation: Simulation, storage_class: str) -> bool:
    """Return whether volumes of the class can be provisioned, or one exists."""
    found = simulation.cluster.get(api.StorageClass, storage_class)
    return found.provisioner != NO_PROVISIONER or any(_offered_sizes(simulation, storage_class))


def _with_class(found: ClaimOfPod, place: SpecPlace, old: str, name: str) -> Change:
    summary = f"change the storage class of claim {found.claim.metadata.name} from {old or 'none'} to {name}"
    return place.change(FixKind.STORAGE_CLASS, summary, set_field(name, "storageClassName"))


# -- what is missing ---------------------------------------------------------------------------------------------------


def missing_claims(simulation: Simulation, pod: api.Pod) -> Iterator[Change]:
    """Yield the creation of missing claims, with the default class, else with a class that
    provisions volumes."""
    namespace = pod.metadata.namespace
    classes = simulation.cluster.objects(api.StorageClass)
    has_default = any(each.metadata.annotations.get(DEFAULT_CLASS) == "true" for each in classes.values())
    makers = sorted(name for name, known in classes.items() if known.provisioner not in ("", NO_PROVISIONER))
    named = {"storageClassName": makers[0]} if makers and not has_default else {}
    for name in _claim_names(pod):
        if simulation.cluster.find(api.PersistentVolumeClaim, f"{namespace}/{name}") is None:
            yield _new_claim(namespace, name, named)


def _new_claim(namespace: str, name: str, named: Mapping[str, str]) -> Change:
    manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _CLAIM_SIZE}}, **named},
    }
    which = "".join(f", class {each}" for each in named.values())
    return Change(FixKind.CLAIM, f"create the PersistentVolumeClaim {name} ({_CLAIM_SIZE}{which})", create=(manifest,))


def missing_volumes(simulation: Simulation, pod: api.Pod, node: api.Node | None = None) -> Iterator[Change]:
    """Yield volumes for the pod's claims without a provisioner, each as large as its claim; on the
    node if there is one."""
    if any(known.provisioner == PROVISIONER for known in simulation.cluster.objects(api.StorageClass).values()):
        return  # classes are assumed only as long as nothing is known of storage
    for name in _claim_names(pod):
        claim = simulation.cluster.find(api.PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")
        if claim is not None and _lacks_volume(simulation, claim):
            yield _new_volume(claim, node)


def _lacks_volume(simulation: Simulation, claim: api.PersistentVolumeClaim) -> bool:
    """Return whether the claim has no volume, or one that does not exist."""
    name = claim.spec.volume_name
    return not name or simulation.cluster.find(api.PersistentVolume, name) is None


def _new_volume(claim: api.PersistentVolumeClaim, node: api.Node | None) -> Change:
    size: Any = claim.spec.resources.requests.get(STORAGE, _CLAIM_SIZE)
    name = claim.spec.volume_name or f"{claim.metadata.namespace}-{claim.metadata.name}"
    spec: Document = {
        "capacity": {STORAGE: size},
        "accessModes": list(claim.spec.access_modes) or ["ReadWriteOnce"],
        "storageClassName": class_of_claim(claim) or "",
        "claimRef": {"namespace": claim.metadata.namespace, "name": claim.metadata.name},
        **_source(f"/var/lib/volumes/{name}", node),
    }
    manifest = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    where = f" on node {node.metadata.name}" if "local" in spec and node is not None else ""
    summary = f"create the PersistentVolume {name} ({size}){where} for claim {claim.metadata.name}"
    return Change(FixKind.VOLUME, summary, create=(manifest,))


def _source(path: str, node: api.Node | None) -> Document:
    """Return a local volume on the node; a hostPath if there is no node, or it has no hostname
    label."""
    hostname = node.metadata.labels.get(api.HOSTNAME_LABEL) if node is not None else None
    if hostname is None:
        return {"hostPath": {"path": path}}
    term = {"matchExpressions": [{"key": api.HOSTNAME_LABEL, "operator": "In", "values": [hostname]}]}
    return {"local": {"path": path}, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
