# SPDX-License-Identifier: Apache-2.0
"""Validation of PersistentVolumes and PersistentVolumeClaims."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

PV = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "persistentvolume"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/tmp/x"},
        "storageClassName": "fixture",
    },
}
PVC = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "persistentvolumeclaim", "namespace": "validation"},
    "spec": {
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fixture",
    },
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (PV, {"spec.capacity": {"storage": "0"}}, 'spec.capacity[storage]: Invalid value: "0": must be greater than zero'),
    (PV, {"spec.accessModes": ...}, "spec.accessModes: Required value"),
    (PV, {"spec.hostPath": ...}, "spec: Required value: must specify a volume type"),
    (
        PV,
        {"spec.hostPath.path": "/", "spec.persistentVolumeReclaimPolicy": "Recycle"},
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
    ),
    (
        PV,
        {"spec.hostPath": ..., "spec.nfs": {"server": "s", "path": "p"}},
        'spec.nfs.path: Invalid value: "p": must be an absolute path',
    ),
    (PV, {"spec.hostPath": ..., "spec.csi": {"volumeHandle": "h"}}, "spec.csi.driver: Required value"),
    (
        PV,
        {"spec.hostPath": ..., "spec.local": {"path": "/p"}},
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
    ),
    (
        PV,
        {"spec.hostPath": ..., "spec.gcePersistentDisk": {"pdName": ""}},
        "spec.persistentDisk.pdName: Required value",
    ),
    (
        PV,
        {"spec.hostPath": ..., "spec.fc": {}},
        "spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both",
    ),
    (PV, {"spec.hostPath": ..., "spec.flexVolume": {"driver": ""}}, "spec.flexVolume.driver: Required value"),
    (PV, {"spec.hostPath": ..., "spec.portworxVolume": {}}, "spec.portworxVolume.volumeID: Required value"),
    (PV, {"spec.hostPath": ..., "spec.photonPersistentDisk": {}}, "spec.photonPersistentDisk.pdID: Required value"),
    (
        PV,
        {"spec.persistentVolumeReclaimPolicy": "retain"},
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "retain": supported values: "Delete", "Recycle", "Retain"',
    ),
    (
        PV,
        {
            "spec.nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}]
                }
            }
        },
        'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "in": not a valid',
    ),
    (PVC, {"spec.accessModes": ...}, "spec.accessModes: Required value: at least 1 access mode is required"),
    (PVC, {"spec.accessModes": []}, "spec.accessModes: Required value: at least 1 access mode is required"),
    (
        PVC,
        {"spec.accessModes": ["RWO"]},
        'spec.accessModes: Unsupported value: "RWO": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
    ),
    (
        PVC,
        {"spec.accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
    ),
    (PVC, {"spec.resources": ...}, "spec.resources[storage]: Required value"),
    (
        PVC,
        {"spec.resources.requests.storage": "0"},
        'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ),
    (PVC, {"spec.resources.requests": {"cpu": "1"}}, "spec.resources[storage]: Required value"),
    (
        PVC,
        {"spec.storageClassName": "A_b"},
        'spec.storageClassName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanu',
    ),
    (
        PVC,
        {"spec.volumeMode": "block"},
        'spec.volumeMode: Unsupported value: "block": supported values: "Block", "Filesystem"',
    ),
    (
        PVC,
        {"spec.selector": {"matchLabels": {"a b": "c"}}},
        "spec.selector.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' o",
    ),
    (
        PVC,
        {
            "spec.dataSource": {"kind": "PersistentVolumeClaim", "name": "x"},
            "spec.dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "y"},
        },
        "spec: Invalid value: {}: must match dataSourceRef",
    ),
    (
        PVC,
        {"spec.volumeAttributesClassName": "A_b"},
        'spec.volumeAttributesClassName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower cas',
    ),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (
        PV,
        {"spec.hostPath.path": "/other"},
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
    ),
    (PV, {"spec.volumeMode": "Block"}, 'volumeMode: Invalid value: "Block": field is immutable'),
    (
        PVC,
        {"spec.accessModes": ["ReadWriteMany"]},
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for",
    ),
    (
        PVC,
        {"spec.storageClassName": "other"},
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for",
    ),
    (
        PVC,
        {"spec.storageClassName": ...},
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for",
    ),
    (
        PVC,
        {"spec.resources.requests.storage": "2Gi"},
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for",
    ),
    (
        PVC,
        {"spec.resources.requests.storage": "500Mi"},
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for",
    ),
    (
        PVC,
        {"spec.selector": {"matchLabels": {"a": "b"}}},
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for",
    ),
]


@pytest.mark.parametrize("document", [PV, PVC], ids=lambda document: str(document["kind"]))
def test_a_valid_object_has_no_errors(document: Json) -> None:
    assert errors(document, {}) == []


@pytest.mark.parametrize(("document", "changes", "error"), CREATIONS)
def test_a_wrong_object_is_refused_with_upstreams_field_and_message(
    document: Json, changes: Changes, error: str
) -> None:
    (found,) = errors(document, changes)
    assert found.startswith(error)


@pytest.mark.parametrize(("document", "changes", "error"), UPDATES)
def test_a_wrong_update_is_refused_with_upstreams_field_and_message(
    document: Json, changes: Changes, error: str
) -> None:
    (found,) = update_errors(document, changes)
    assert found.startswith(error)
