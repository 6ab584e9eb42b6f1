# SPDX-License-Identifier: Apache-2.0
"""Volume that a provisioner creates for a claim, accessible from the selected node.

Called by the controller in `volumes`. A volume is accessible from nodes with the same values of the
topology labels: those that the driver registered for the node, else those in the storage class,
else the zone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.api import (
    STORAGE,
    ZONE_LABEL,
    CSINode,
    CSIPersistentVolumeSource,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    StorageClass,
    VolumeNodeAffinity,
    class_of_claim,
    reference_to,
)
from steersman.cluster.store import ClusterView

PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
"""Annotation of a volume with the provisioner that created it."""
DELETE: Final = "Delete"


def new_volume(
    claim: PersistentVolumeClaim, storage_class: StorageClass, node_name: str | None, view: ClusterView
) -> PersistentVolume:
    """Return the volume for the claim, accessible from that node if one is given."""
    name = f"pvc-{claim.metadata.uid}"
    requests = claim.spec.resources.requests
    return PersistentVolume(
        metadata=ObjectMeta(name=name, annotations={PROVISIONED_BY: storage_class.provisioner}),
        spec=PersistentVolumeSpec(
            capacity={STORAGE: requests[STORAGE]} if STORAGE in requests else {},
            access_modes=claim.spec.access_modes,
            claim_ref=reference_to(claim),
            persistent_volume_reclaim_policy=storage_class.reclaim_policy or DELETE,
            storage_class_name=class_of_claim(claim),
            mount_options=storage_class.mount_options,
            volume_mode=claim.spec.volume_mode,
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
            node_affinity=_affinity(_terms(storage_class, node_name, view)),
            csi=CSIPersistentVolumeSource(driver=storage_class.provisioner, volume_handle=name),
        ),
    )


def _terms(storage_class: StorageClass, node_name: str | None, view: ClusterView) -> tuple[NodeSelectorTerm, ...]:
    node = view.find(Node, node_name) if node_name is not None else None
    if node is None:
        return tuple(
            _term((expression.key, expression.values) for expression in topology.match_label_expressions)
            for topology in storage_class.allowed_topologies
        )
    labels = node.metadata.labels
    keys = _topology_keys(storage_class, view.find(CSINode, node.metadata.name))
    shared = [(key, (labels[key],)) for key in keys if key in labels]
    return (_term(shared),) if shared else ()


def _topology_keys(storage_class: StorageClass, node: CSINode | None) -> Iterable[str]:
    for driver in node.spec.drivers if node is not None else ():
        if driver.name == storage_class.provisioner:
            return driver.topology_keys
    allowed = [e.key for topology in storage_class.allowed_topologies for e in topology.match_label_expressions]
    return dict.fromkeys(allowed) or (ZONE_LABEL,)


def _term(conditions: Iterable[tuple[str, tuple[str, ...]]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=tuple(
            NodeSelectorRequirement(key=key, operator="In", values=values) for key, values in conditions
        )
    )


def _affinity(terms: tuple[NodeSelectorTerm, ...]) -> VolumeNodeAffinity | None:
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms)) if terms else None
