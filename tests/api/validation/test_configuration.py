# SPDX-License-Identifier: Apache-2.0
"""Validation of ConfigMaps, Secrets, Leases and Events."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

CONFIGMAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "configmap", "namespace": "validation"},
    "data": {"a": "b"},
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "secret", "namespace": "validation"},
    "type": "Opaque",
}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "lease", "namespace": "validation"},
    "spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "leaseTransitions": 1},
}
EVENT = {
    "apiVersion": "v1",
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "validation"},
    "kind": "Event",
    "message": "m",
    "metadata": {"name": "event", "namespace": "validation"},
    "reason": "r",
    "source": {"component": "c"},
    "type": "Normal",
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (
        CONFIGMAP,
        {"data": {"a/b": "c"}},
        "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (",
    ),
    (
        CONFIGMAP,
        {"data": {"": "c"}},
        "data[]: Invalid value: \"\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. '",
    ),
    (CONFIGMAP, {"data": {"..": "c"}}, "data[..]: Invalid value: \"..\": must not be '..'"),
    (CONFIGMAP, {"data": {"..a": "c"}}, "data[..a]: Invalid value: \"..a\": must not start with '..'"),
    (
        CONFIGMAP,
        {"data": {"a": "b"}, "binaryData": {"a": "Yg=="}},
        'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ),
    (
        CONFIGMAP,
        {"binaryData": {"a b": "Yg=="}},
        "binaryData[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or",
    ),
    (CONFIGMAP, {"data": {"a": "x" * 1048577}}, "[]: Too long: may not be more than 1048576 bytes"),
    (
        CONFIGMAP,
        {"metadata.name": "A"},
        'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric char',
    ),
    (
        SECRET,
        {"data": {"a b": "Yg=="}},
        "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (",
    ),
    (
        SECRET,
        {"stringData": {"a/b": "b"}},
        "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (",
    ),
    (SECRET, {"type": "kubernetes.io/dockerconfigjson"}, "data[.dockerconfigjson]: Required value"),
    (
        SECRET,
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "Yg=="}},
        "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'b' looking for beginn",
    ),
    (
        SECRET,
        {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "Yg=="}},
        "data[.dockercfg]: Invalid value: \"<secret contents redacted>\": invalid character 'b' looking for beginning of",
    ),
    (SECRET, {"type": "kubernetes.io/ssh-auth"}, "data[ssh-privatekey]: Required value"),
    (
        SECRET,
        {"type": "kubernetes.io/service-account-token"},
        "metadata.annotations[kubernetes.io/service-account.name]: Required value",
    ),
    (
        SECRET,
        {"data": {"a": "YWFh" * 400_000}},
        "data: Too long: may not be more than 1048576 bytes",
    ),
    (LEASE, {"spec.leaseDurationSeconds": 0}, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
    (LEASE, {"spec.leaseDurationSeconds": -1}, "spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0"),
    (
        LEASE,
        {"spec.leaseTransitions": -1},
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        EVENT,
        {"involvedObject.namespace": "other"},
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ),
    (EVENT, {"involvedObject": ...}, 'involvedObject.namespace: Invalid value: "": does not match event.namespace'),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (
        CONFIGMAP,
        {"data": {"a/b": "c"}},
        "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (",
    ),
    (
        CONFIGMAP,
        {"metadata.deletionTimestamp": "2024-01-01T00:00:00Z"},
        'metadata.deletionTimestamp: Invalid value: "2024-01-01T00:00:00Z": field is immutable',
    ),
    (
        CONFIGMAP,
        {"metadata.deletionGracePeriodSeconds": 5},
        "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
    ),
    (
        CONFIGMAP,
        {
            "metadata.ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b", "controller": True},
                {"apiVersion": "v1", "kind": "Pod", "name": "c", "uid": "d", "controller": True},
            ]
        },
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b","controller":tr',
    ),
    (
        CONFIGMAP,
        {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "b"}]},
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"b"}: /v1, Kind=Ev',
    ),
    (
        CONFIGMAP,
        {"metadata.finalizers": ["orphan", "foregroundDeletion"]},
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion c',
    ),
    (SECRET, {"type": "other"}, 'type: Invalid value: "other": field is immutable'),
    (
        SECRET,
        {"data": {"x y": "Yg=="}},
        "data[x y]: Invalid value: \"x y\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (",
    ),
    (
        LEASE,
        {"spec.leaseTransitions": -1},
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ),
]


@pytest.mark.parametrize("document", [CONFIGMAP, SECRET, LEASE, EVENT], ids=lambda document: str(document["kind"]))
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
