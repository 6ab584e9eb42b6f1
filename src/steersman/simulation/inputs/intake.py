# SPDX-License-Identifier: Apache-2.0
"""Storage of input objects in the cluster of a simulation.

`sources` has read the objects; `Intake` stores them, adds stand-ins for objects that a dump leaves
out, and records what results report: skipped kinds, objects refused by admission, added pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from steersman import api
from steersman.api import WAIT_FOR_FIRST_CONSUMER
from steersman.base import InputError
from steersman.cluster.store import OverLimit, StatusError, Store
from steersman.scheduler.host import frozen_heap
from steersman.simulation.inputs import changes, workloads
from steersman.simulation.inputs.object_names import given_key
from steersman.simulation.inputs.sources import Gathered, Given
from steersman.simulation.node_pools import price_of


class Intake:
    """Stores input objects in the cluster, and records facts about them for results."""

    def __init__(self, store: Store, *, has_controllers: bool) -> None:
        self._store = store
        self._has_controllers = has_controllers
        #: Workloads in the input, and uids of input pods that have an owner.
        self._workloads: list[api.Object] = []
        self._owned_pods: set[str] = set()
        self._stand_ins = 0
        self._is_complete = False
        #: Number of objects of unknown kinds, by kind.
        self.skipped: Counter[str] = Counter()
        #: Notes about the input: skipped files, unknown fields, assumed storage classes.
        self.notes: tuple[str, ...] = ()
        #: Messages of quotas and limit ranges that refused objects.
        self.refusals: list[str] = []
        #: Messages of quotas and limit ranges that refused pods, by `namespace/name`.
        self.refused_pods: dict[str, str] = {}
        #: Number of unfinished input pods without a node.
        self.asked = 0

    @frozen_heap()
    def add(self, gathered: Gathered, *, replaces: bool) -> None:
        """Store all objects, pods last. With `replaces`, existing objects are updated. Raises
        `InputError`."""
        self.skipped += gathered.skipped
        self.notes += gathered.notes
        stand_ins: list[api.ReplicaSet] = []
        if self._has_controllers:
            stand_ins = workloads.stand_in_replica_sets(given.object for given in gathered.objects)
            self._stand_ins += len(stand_ins)
            self._is_complete = self._is_complete or gathered.is_complete
            if not self._is_complete:
                self._assume_storage_classes([given.object for given in gathered.objects])
        pods = [given for given in gathered.objects if isinstance(given.object, api.Pod)]
        others = [given for given in gathered.objects if not isinstance(given.object, api.Pod)]
        for given in (*others, *map(Given, stand_ins), *pods):
            self._create(given, replaces=replaces)

    def workload_notes(self) -> Iterator[str]:
        """Yield notes for results about workloads and their pods."""
        if self._has_controllers:
            yield from workloads.workload_notes(self._store, self._owned_pods, self._stand_ins)
        else:
            yield from workloads.idle_notes((*self._workloads, *self._store.objects(api.Pod).values()))

    def _assume_storage_classes(self, objects: Sequence[api.Object]) -> None:
        classes = assumed_storage_classes(objects, self._store)
        for storage_class in classes:
            self._store.create(storage_class)
        self.notes += storage_class_notes(classes)

    def _create(self, given: Given, *, replaces: bool) -> None:
        obj = given.object
        try:
            if isinstance(obj, api.Node):
                price_of(obj)  # refused here, where the position in the file is known
            if replaces and changes.update(self._store, obj):
                return
            stored = self._store.create(obj)
        except OverLimit as refusal:  # as in a cluster; other objects are still created
            self.refusals.append(refusal.message)
            if isinstance(obj, api.Pod):
                self.refused_pods[given_key(obj)] = refusal.message
            return
        except (StatusError, InputError) as error:
            raise _located(error, given) from error
        if isinstance(stored, workloads.MAKERS):
            self._workloads.append(stored)
        if stored.metadata.owner_references:
            self._owned_pods.add(stored.metadata.uid)
        if isinstance(stored, api.Pod) and not stored.spec.node_name and stored.status.phase not in api.FINISHED_PHASES:
            self.asked += 1


def _located(error: StatusError | InputError, given: Given) -> InputError:
    name = f"{given.object.KIND} {api.key(given.object)}"
    place = {} if given.place is None else given.place._asdict()
    located = error if isinstance(error, InputError) else InputError(error.message)
    return located.located(object=name, **place)


# -- storage classes ---------------------------------------------------------------------------------------------------


DEFAULT: Final = "assumed-default"
PROVISIONER: Final = "simulation.steersman.dev/volumes"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_KNOWN: Final = (api.StorageClass, api.PersistentVolume)


def assumed_storage_classes(objects: Sequence[api.Object], store: Store) -> list[api.StorageClass]:
    """Return the storage classes that claims of the input name but the input lacks: their volumes
    are provisioned in the topology of the pod."""
    if any(isinstance(obj, _KNOWN) for obj in objects) or any(store.objects(kind) for kind in _KNOWN):
        return []
    names = dict.fromkeys(DEFAULT if name is None else name for name in _wanted(objects))
    return [_class(name) for name in names if name]  # "" asks for a volume that somebody has made by hand


def storage_class_notes(classes: Sequence[api.StorageClass]) -> tuple[str, ...]:
    if not classes:
        return ()
    named = [obj.metadata.name for obj in classes if obj.metadata.name != DEFAULT]
    whose = f" {', '.join(named)}" if named else ""
    also = " and" if named and len(named) < len(classes) else ""
    default = " a default one" if len(named) < len(classes) else ""
    return (f"no StorageClass is in the input:{whose}{also}{default} was assumed, which makes volumes where pods go",)


def _class(name: str) -> api.StorageClass:
    annotations = {DEFAULT_CLASS: "true"} if name == DEFAULT else {}
    return api.StorageClass(
        metadata=api.ObjectMeta(name=name, annotations=annotations),
        provisioner=PROVISIONER,
        volume_binding_mode=WAIT_FOR_FIRST_CONSUMER,
    )


def _wanted(objects: Iterable[api.Object]) -> Iterator[str | None]:
    """Yield the class of each claim that has no volume; None for the default class."""
    for obj in objects:
        if isinstance(obj, api.PersistentVolumeClaim) and not obj.spec.volume_name:
            yield obj.spec.storage_class_name
        elif isinstance(obj, api.StatefulSet):
            for template in obj.spec.volume_claim_templates:
                name = (template.get("spec") or {}).get("storageClassName")
                yield name if isinstance(name, str) else None
