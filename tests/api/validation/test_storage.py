# SPDX-License-Identifier: Apache-2.0
"""Validation of StorageClasses, CSIDrivers and CSINodes."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

STORAGECLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "storageclass"},
    "parameters": {"a": "b"},
    "provisioner": "example.com/p",
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CSIDRIVER = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "csidriver"},
    "spec": {"attachRequired": True},
}
CSINODE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSINode",
    "metadata": {"name": "csinode"},
    "spec": {
        "drivers": [{"allocatable": {"count": 3}, "name": "csi.example", "nodeID": "n", "topologyKeys": ["zone"]}]
    },
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (STORAGECLASS, {"provisioner": ...}, "provisioner: Required value"),
    (
        STORAGECLASS,
        {"provisioner": "a b"},
        "provisioner: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and mus",
    ),
    (
        STORAGECLASS,
        {"reclaimPolicy": "Recycle"},
        'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    ),
    (
        STORAGECLASS,
        {"reclaimPolicy": "retain"},
        'reclaimPolicy: Unsupported value: "retain": supported values: "Delete", "Retain"',
    ),
    (
        STORAGECLASS,
        {"volumeBindingMode": "Delayed"},
        'volumeBindingMode: Unsupported value: "Delayed": supported values: "Immediate", "WaitForFirstConsumer"',
    ),
    (STORAGECLASS, {"parameters": {"": "x"}}, 'parameters: Invalid value: "": field can not be empty.'),
    (
        STORAGECLASS,
        {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]}]}]},
        'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
    ),
    (
        STORAGECLASS,
        {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": []}]}]},
        "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
    ),
    (
        CSIDRIVER,
        {"spec.fsGroupPolicy": "none"},
        'spec.fsGroupPolicy: Unsupported value: "none": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    ),
    (
        CSIDRIVER,
        {"spec.volumeLifecycleModes": ["ephemeral"]},
        'spec.volumeLifecycleModes: Unsupported value: "ephemeral": supported values: "Persistent", "Ephemeral"',
    ),
    (
        CSIDRIVER,
        {"spec.tokenRequests": [{"audience": "a"}, {"audience": "a"}]},
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
    ),
    (
        CSIDRIVER,
        {"spec.tokenRequests": [{"audience": "a", "expirationSeconds": 10}]},
        "spec.tokenRequests[0].expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes",
    ),
    (
        CSIDRIVER,
        {"metadata.name": "A_b"},
        'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ch',
    ),
    (
        CSIDRIVER,
        {"spec.nodeAllocatableUpdatePeriodSeconds": 5},
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 5: must be greater than or equal to 10 seconds",
    ),
    (CSINODE, {"spec.drivers[0].name": ""}, "spec.drivers[0].name: Required value"),
    (
        CSINODE,
        {"spec.drivers[0].name": "a_b"},
        'spec.drivers[0].name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanum',
    ),
    (CSINODE, {"spec.drivers[0].nodeID": ""}, "spec.drivers[0].nodeID: Required value"),
    (
        CSINODE,
        {"spec.drivers[0].nodeID": "a" * 300},
        'spec.drivers[0].nodeID: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    ),
    (
        CSINODE,
        {"spec.drivers[0].allocatable.count": -1},
        "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        CSINODE,
        {"spec.drivers[0].topologyKeys": ["a b"]},
        "spec.drivers[0]: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and",
    ),
    (CSINODE, {"spec.drivers[0].topologyKeys": ["zone", "zone"]}, 'spec.drivers[0]: Duplicate value: "zone"'),
    (
        CSINODE,
        {"spec.drivers[+]": {"name": "csi.example", "nodeID": "x", "topologyKeys": None}},
        'spec.drivers[1].name: Duplicate value: "csi.example"',
    ),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (STORAGECLASS, {"provisioner": "other"}, 'provisioner: Invalid value: "other": field is immutable'),
    (STORAGECLASS, {"parameters": {"x": "y"}}, 'parameters: Invalid value: {"x":"y"}: field is immutable'),
    (STORAGECLASS, {"reclaimPolicy": "Retain"}, 'reclaimPolicy: Invalid value: "Retain": field is immutable'),
    (
        STORAGECLASS,
        {"volumeBindingMode": "Immediate"},
        'volumeBindingMode: Invalid value: "Immediate": field is immutable',
    ),
    (CSIDRIVER, {"spec.attachRequired": False}, "spec.attachedRequired: Invalid value: false: field is immutable"),
    (
        CSIDRIVER,
        {"spec.volumeLifecycleModes": ["Ephemeral"]},
        'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ),
    (
        CSINODE,
        {"spec.drivers[0].nodeID": "other"},
        'spec.drivers: Invalid value: {"Name":"csi.example","NodeID":"other","TopologyKeys":["zone"],"Allocatable":null',
    ),
    (
        CSINODE,
        {"spec.drivers[0].topologyKeys": ["other"]},
        'spec.drivers: Invalid value: {"Name":"csi.example","NodeID":"n","TopologyKeys":["other"],"Allocatable":null}:',
    ),
]


@pytest.mark.parametrize("document", [STORAGECLASS, CSIDRIVER, CSINODE], ids=lambda document: str(document["kind"]))
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
