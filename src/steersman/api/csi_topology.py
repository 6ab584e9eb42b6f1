# SPDX-License-Identifier: Apache-2.0
"""Node affinity of an in-tree volume in terms of its CSI driver: zones under the driver's own label.

In-tree volumes name their zone in the node affinity or in labels of their own, under the present label keys or under those
of Kubernetes' early days. `csi_migration` is the way in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.api.scheduling import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from steersman.api.storage import PersistentVolume, VolumeNodeAffinity

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER: Final = "__"
"""Between the zones of a volume that can be used in several, in the value of its label."""

_replace = msgspec.structs.replace


def in_driver_terms(volume: PersistentVolume, topology_key: str) -> PersistentVolume:
    """The volume with its zones under the driver's label, and its region under the present label."""
    zone, region = _label_keys(volume)
    if any(r.values for r in _requirements(volume) if r.key == zone):
        volume = _rename(volume, zone, topology_key)
    elif zone in volume.metadata.labels:
        volume = _add_zones(volume, topology_key, volume.metadata.labels[zone])
    if region == BETA_REGION and any(r.values for r in _requirements(volume) if r.key == region):
        volume = _rename(volume, region, REGION)
    return volume


def _label_keys(volume: PersistentVolume) -> tuple[str, str]:
    """The keys of zone and region that the volume uses; its node affinity says more than its labels."""
    in_affinity = {requirement.key for requirement in _requirements(volume)}
    for known in (in_affinity, volume.metadata.labels):
        for zone, region in ((ZONE, REGION), (BETA_ZONE, BETA_REGION)):
            if zone in known:
                return zone, region
    return ZONE, REGION


def _terms(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()


def _requirements(volume: PersistentVolume) -> Iterator[NodeSelectorRequirement]:
    return (requirement for term in _terms(volume) for requirement in term.match_expressions)


def _rename(volume: PersistentVolume, key: str, new_key: str) -> PersistentVolume:
    def renamed(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return _replace(requirement, key=new_key) if requirement.key == key else requirement

    return _with_terms(
        volume,
        tuple(_replace(t, match_expressions=tuple(map(renamed, t.match_expressions))) for t in _terms(volume)),
    )


def _add_zones(volume: PersistentVolume, key: str, label: str) -> PersistentVolume:
    """One more condition on every term; the label may name several zones."""
    zones = tuple(sorted({zone.strip() for zone in label.split(ZONE_DELIMITER)} - {""}))
    if not zones:
        return volume
    condition = NodeSelectorRequirement(key=key, operator="In", values=zones)
    terms = _terms(volume) or (NodeSelectorTerm(),)
    return _with_terms(volume, tuple(_replace(t, match_expressions=(*t.match_expressions, condition)) for t in terms))


def _with_terms(volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...]) -> PersistentVolume:
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))
    return _replace(volume, spec=_replace(volume.spec, node_affinity=affinity))
