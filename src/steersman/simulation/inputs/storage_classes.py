# SPDX-License-Identifier: Apache-2.0
"""Storage classes that an input leaves out: those of a rendered chart are in the cluster, and not in the chart.

`Simulation` asks before it stores the input. Nothing is assumed for a live cluster, nor where the input or the cluster has any
class or volume: then it is known what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from steersman import api
from steersman.api import WAIT_FOR_FIRST_CONSUMER
from steersman.cluster.store import Store

DEFAULT: Final = "assumed-default"
PROVISIONER: Final = "simulation.steersman.dev/volumes"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_KNOWN: Final = (api.StorageClass, api.PersistentVolume)


def assumed(objects: Sequence[api.Object], store: Store) -> list[api.StorageClass]:
    """The classes that claims of the input need: volumes are made where the pod is."""
    if any(isinstance(obj, _KNOWN) for obj in objects) or any(store.objects(kind) for kind in _KNOWN):
        return []
    names = dict.fromkeys(DEFAULT if name is None else name for name in _wanted(objects))
    return [_class(name) for name in names if name]  # "" asks for a volume that somebody has made by hand


def notes(classes: Sequence[api.StorageClass]) -> tuple[str, ...]:
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
    """The class of each claim that has no volume; None for the default one."""
    for obj in objects:
        if isinstance(obj, api.PersistentVolumeClaim) and not obj.spec.volume_name:
            yield obj.spec.storage_class_name
        elif isinstance(obj, api.StatefulSet):
            for template in obj.spec.volume_claim_templates:
                name = (template.get("spec") or {}).get("storageClassName")
                yield name if isinstance(name, str) else None
