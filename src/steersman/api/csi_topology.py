# SPDX-License-Identifier: Apache-2.0
"""Translation of an in-tree volume's node affinity to its CSI driver's topology label.

In-tree volumes have their zone in node affinity or labels, with current or beta label keys. Called
by `csi_migration`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.api.scheduling import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from steersman.api.storage import PersistentVolume, VolumeNodeAffinity
from steersman.api.wellknown import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL

ZONE_DELIMITER: Final = "__"
"""Separator of several zones in a volume's label."""

_replace = msgspec.structs.replace


def in_driver_terms(volume: PersistentVolume, topology_key: str) -> PersistentVolume:
    """Return the volume with zones under the driver's label and region under the current label."""
    zone, region = _label_keys(volume)
    if any(r.values for r in _requirements(volume) if r.key == zone):
        volume = _rename(volume, zone, topology_key)
    elif zone in volume.metadata.labels:
        volume = _add_zones(volume, topology_key, volume.metadata.labels[zone])
    if region == BETA_REGION_LABEL and any(r.values for r in _requirements(volume) if r.key == region):
        volume = _rename(volume, region, REGION_LABEL)
    return volume


def _label_keys(volume: PersistentVolume) -> tuple[str, str]:
    """Return the volume's zone and region keys; node affinity takes precedence over labels."""
    in_affinity = {requirement.key for requirement in _requirements(volume)}
    for known in (in_affinity, volume.metadata.labels):
        for zone, region in ((ZONE_LABEL, REGION_LABEL), (BETA_ZONE_LABEL, BETA_REGION_LABEL)):
            if zone in known:
                return zone, region
    return ZONE_LABEL, REGION_LABEL


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
    """Add a zone requirement to every term; the label may have several zones."""
    zones = tuple(sorted({zone.strip() for zone in label.split(ZONE_DELIMITER)} - {""}))
    if not zones:
        return volume
    condition = NodeSelectorRequirement(key=key, operator="In", values=zones)
    terms = _terms(volume) or (NodeSelectorTerm(),)
    return _with_terms(volume, tuple(_replace(t, match_expressions=(*t.match_expressions, condition)) for t in terms))


def _with_terms(volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...]) -> PersistentVolume:
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))
    return _replace(volume, spec=_replace(volume.spec, node_affinity=affinity))
