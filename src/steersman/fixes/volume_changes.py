# SPDX-License-Identifier: Apache-2.0
"""Changes of a pod's volume claims, and what they lack: another class, a smaller size, a claim or a volume to create.

A claim that was given is changed itself; one that a StatefulSet makes is changed in its `volumeClaimTemplates`. Claims that
have a volume are left alone: the data is where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from steersman import api
from steersman.api import quantity
from steersman.api.persistent_volumes import NO_PROVISIONER, STORAGE, class_of_claim, class_of_volume
from steersman.fixes.changes import Change, Document, NumberedChange, Renewal, SpecPlace
from steersman.fixes.fix import FixKind, ObjectName
from steersman.fixes.input_documents import InputDocuments
from steersman.fixes.pod_changes import HOSTNAME, Alternative
from steersman.fixes.requests import amount_text, byte_quantum
from steersman.sim import Simulation
from steersman.sim.storage_classes import PROVISIONER

_CLAIM_SIZE: Final = "1Gi"
_MOST_CLASSES: Final = 3


class ClaimOfPod(NamedTuple):
    """A claim of the pod that has no volume yet, and where it is changed; None: nowhere."""

    claim: api.PersistentVolumeClaim
    place: SpecPlace | None
    #: What has to be made again after a change.
    renews: tuple[Renewal, ...] = ()


def unbound_claims(
    simulation: Simulation, pod: api.Pod, workload: ObjectName | None, given: InputDocuments
) -> Iterator[ClaimOfPod]:
    """The claims of the pod that exist and have no volume."""
    for name in _claim_names(pod):
        claim = simulation.cluster.find(api.PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")
        if claim is not None and not claim.spec.volume_name:
            place = _place(simulation, claim, workload, given)
            renews = _renewals(pod, claim, workload) if place is not None and place.path else ()
            yield ClaimOfPod(claim, place, renews)


def _claim_names(pod: api.Pod) -> Iterator[str]:
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    yield from (source.claim_name for source in sources if source is not None and source.claim_name)


def _renewals(pod: api.Pod, claim: api.PersistentVolumeClaim, workload: ObjectName | None) -> tuple[Renewal, ...]:
    """The claim and the pod, which are made again after the template of the claim has changed."""
    names = ((claim.KIND, claim.metadata.name), (pod.KIND, pod.metadata.name))
    return tuple(Renewal(ObjectName(kind, pod.metadata.namespace, name), workload) for kind, name in names)


def _place(
    simulation: Simulation, claim: api.PersistentVolumeClaim, workload: ObjectName | None, given: InputDocuments
) -> SpecPlace | None:
    target = ObjectName(claim.KIND, claim.metadata.namespace, claim.metadata.name)
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
    """The claim with a smaller size, or of another class."""
    if found.place is None:
        return
    smaller = _smaller(simulation, found, found.place)
    if smaller is not None:
        yield (smaller,)
    old = class_of_claim(found.claim)
    known = sorted(simulation.cluster.objects(api.StorageClass))
    others = [name for name in known if name != old and _can_provide(simulation, name)]
    yield from ((_with_class(found, found.place, old, name),) for name in others[:_MOST_CLASSES])


def _smaller(simulation: Simulation, found: ClaimOfPod, place: SpecPlace) -> NumberedChange | None:
    """The claim in steps down from what it asks; the guess is the largest volume that there is, or that a driver can make."""
    claim = found.claim
    asked, name = quantity.value_of(claim.spec.resources.requests.get(STORAGE, "0")), claim.metadata.name
    largest = max((size for size in _offered_sizes(simulation, class_of_claim(claim)) if size < asked), default=0)
    quantum = byte_quantum(largest)
    highest = (asked - 1) // quantum
    if not largest or highest < 1:
        return None
    guess = highest - largest // quantum + 1

    def make(step: int) -> Change:
        text = amount_text("memory", (highest - step + 1) * quantum)

        def edit(spec: Document) -> None:
            spec["resources"]["requests"][STORAGE] = text

        summary = f"lower the size of claim {name} from {amount_text('memory', asked)} to {text}"
        return place.change(FixKind.CLAIM_SIZE, summary, edit)._replace(renews=found.renews)

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
    """Whether volumes of the class are made, or one is there."""
    found = simulation.cluster.get(api.StorageClass, storage_class)
    return found.provisioner != NO_PROVISIONER or any(_offered_sizes(simulation, storage_class))


def _with_class(found: ClaimOfPod, place: SpecPlace, old: str, name: str) -> Change:
    def edit(spec: Document) -> None:
        spec["storageClassName"] = name

    summary = f"change the storage class of claim {found.claim.metadata.name} from {old or 'none'} to {name}"
    return place.change(FixKind.STORAGE_CLASS, summary, edit)._replace(renews=found.renews)


# -- what is missing ---------------------------------------------------------------------------------------------------


def missing_claims(simulation: Simulation, pod: api.Pod) -> Iterator[Change]:
    """The claims that the pod names and that are not there, to be created with the default class."""
    namespace = pod.metadata.namespace
    for name in _claim_names(pod):
        if simulation.cluster.find(api.PersistentVolumeClaim, f"{namespace}/{name}") is None:
            yield _new_claim(namespace, name)


def _new_claim(namespace: str, name: str) -> Change:
    manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _CLAIM_SIZE}}},
    }
    return Change(FixKind.CLAIM, f"create the PersistentVolumeClaim {name} ({_CLAIM_SIZE})", create=(manifest,))


def missing_volumes(simulation: Simulation, pod: api.Pod, node: api.Node | None = None) -> Iterator[Change]:
    """Volumes for the pod's claims that nobody will provide one for, each as large as its claim; on a node if there is one."""
    if any(known.provisioner == PROVISIONER for known in simulation.cluster.objects(api.StorageClass).values()):
        return  # classes are assumed only as long as nothing is known of storage
    for name in _claim_names(pod):
        claim = simulation.cluster.find(api.PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")
        if claim is not None and _lacks_volume(simulation, claim):
            yield _new_volume(claim, node)


def _lacks_volume(simulation: Simulation, claim: api.PersistentVolumeClaim) -> bool:
    """Whether the claim has no volume, or one that does not exist."""
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
    """A directory of the node, usable there alone; without a node, or one that cannot be told apart, of any."""
    hostname = node.metadata.labels.get(HOSTNAME) if node is not None else None
    if hostname is None:
        return {"hostPath": {"path": path}}
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [hostname]}]}
    return {"local": {"path": path}, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
