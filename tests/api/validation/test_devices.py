# SPDX-License-Identifier: Apache-2.0
"""Validation of kinds of dynamic resource allocation."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

DEVICECLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example'"}}]},
}
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "resourceclaim", "namespace": "validation"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "firstAvailable": [{"deviceClassName": "x", "name": "a"}, {"deviceClassName": "y", "name": "b"}],
                    "name": "gpu",
                }
            ]
        }
    },
}
CLAIMTEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "resourceclaimtemplate", "namespace": "validation"},
    "spec": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "exactly": {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "gpu.example"},
                        "name": "gpu",
                    }
                ]
            }
        },
    },
}
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "resourceslice"},
    "spec": {
        "devices": [{"attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "1Gi"}}, "name": "d0"}],
        "driver": "gpu.example",
        "nodeName": "n",
        "pool": {"generation": 1, "name": "n", "resourceSliceCount": 1},
    },
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (DEVICECLASS, {"spec.selectors[0]": {}}, "spec.selectors[0].cel: Required value"),
    (DEVICECLASS, {"spec.config": [{}]}, "spec.config[0].opaque: Required value"),
    (
        DEVICECLASS,
        {"spec.config": [{"opaque": {"driver": "a_b", "parameters": {}}}]},
        'spec.config[0].opaque.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case',
    ),
    (DEVICECLASS, {"spec.config": [{"opaque": {"driver": "x"}}]}, "spec.config[0].opaque.parameters: Required value"),
    (
        DEVICECLASS,
        {"spec.extendedResourceName": "a b"},
        'spec.extendedResourceName: Invalid value: "a b": must be a valid extended resource name',
    ),
    (
        DEVICECLASS,
        {"metadata.name": "A_b"},
        'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ch',
    ),
    (
        CLAIM,
        {"spec.devices.requests[0].name": "A_b"},
        'spec.devices.requests[0].name: Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alp',
    ),
    (
        CLAIM,
        {
            "spec.devices.requests": [
                {"name": "a", "exactly": {"deviceClassName": "x"}},
                {"name": "a", "exactly": {"deviceClassName": "x"}},
            ]
        },
        'spec.devices.requests[1]: Duplicate value: "a"',
    ),
    (
        CLAIM,
        {"spec.devices.requests": [{"name": "a", "exactly": {"deviceClassName": "A_b"}}]},
        'spec.devices.requests[0].exactly.deviceClassName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must co',
    ),
    (
        CLAIM,
        {
            "spec.devices.requests": [
                {"name": "a", "exactly": {"deviceClassName": "x", "allocationMode": "All", "count": 2}}
            ]
        },
        "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
    ),
    (
        CLAIM,
        {
            "spec.devices.requests": [
                {"name": "a", "exactly": {"deviceClassName": "x", "tolerations": [{"key": "a", "operator": "exists"}]}}
            ]
        },
        'spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "exists": supported values: "Equa',
    ),
    (
        CLAIM,
        {"spec.devices.constraints": [{"requests": ["x"], "matchAttribute": "a.example/b"}]},
        'spec.devices.constraints[0].requests[0]: Invalid value: "x": must be the name of a request in the claim or the',
    ),
    (
        CLAIM,
        {"spec.devices.constraints": [{"requests": ["gpu", "gpu"], "matchAttribute": "a.example/b"}]},
        'spec.devices.constraints[0].requests[1]: Duplicate value: "gpu"',
    ),
    (
        CLAIM,
        {"spec.devices.requests[0].firstAvailable[1].name": "a"},
        'spec.devices.requests[0].firstAvailable[1]: Duplicate value: "a"',
    ),
    (
        CLAIMTEMPLATE,
        {"spec.spec.devices.requests[0].name": "A"},
        'spec.spec.devices.requests[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case',
    ),
    (CLAIMTEMPLATE, {"spec.metadata.name": "x"}, "spec.metadata.name: Forbidden: cannot be set"),
    (
        CLAIMTEMPLATE,
        {"spec.metadata.labels": {"a b": "c"}},
        "spec.metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.'",
    ),
    (
        CLAIMTEMPLATE,
        {"spec.spec.devices.requests[0].exactly.deviceClassName": ...},
        "spec.spec.devices.requests[0].exactly.deviceClassName: Required value",
    ),
    (
        SLICE,
        {"spec.driver": "a_b"},
        'spec.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric char',
    ),
    (
        SLICE,
        {"spec.pool.name": "a_b"},
        'spec.pool.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric c',
    ),
    (
        SLICE,
        {"spec.nodeName": ...},
        "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is requi",
    ),
    (SLICE, {"spec.devices[+]": {"name": "d0"}}, 'spec.devices[1]: Duplicate value: "d0"'),
    (
        SLICE,
        {"spec.devices[0].attributes": {"a": {"string": "x", "int": 1}}},
        'spec.devices[0].attributes[a]: Invalid value: {"IntValue":1,"BoolValue":null,"StringValue":"x","VersionValue":',
    ),
    (
        SLICE,
        {"spec.devices[0].attributes": {"a_b.example/c": {"bool": True}}},
        'spec.devices[0].attributes: Invalid value: "a_b.example": a lowercase RFC 1123 subdomain must consist of lower',
    ),
    (
        SLICE,
        {"spec.sharedCounters": [{"name": "x", "counters": {"a": {"value": "1"}}}]},
        'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
    ),
    (
        SLICE,
        {
            "spec.sharedCounters": [
                {"name": "x", "counters": {"a": {"value": "1"}}},
                {"name": "x", "counters": {"a": {"value": "1"}}},
            ],
            "spec.devices": ...,
        },
        'spec.sharedCounters[1]: Duplicate value: "x"',
    ),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (SLICE, {"spec.nodeName": "other"}, 'spec.nodeName: Invalid value: "other": field is immutable'),
    (SLICE, {"spec.pool.name": "other"}, 'spec.pool.name: Invalid value: "other": field is immutable'),
    (SLICE, {"spec.driver": "other.example"}, 'spec.driver: Invalid value: "other.example": field is immutable'),
]


@pytest.mark.parametrize(
    "document", [DEVICECLASS, CLAIM, CLAIMTEMPLATE, SLICE], ids=lambda document: str(document["kind"])
)
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
