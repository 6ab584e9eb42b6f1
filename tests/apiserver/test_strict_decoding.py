# SPDX-License-Identifier: Apache-2.0
"""Wrong types are refused in the words of Go's decoder."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.api.schemas import schema_of
from steersman.api.strict_decoding import DecodingError, decoded


def read(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    schema = schema_of(api_version, kind)
    assert schema is not None
    return decoded({"apiVersion": api_version, "kind": kind, **fields}, schema, "Strict").document


@pytest.mark.parametrize(
    ("api_version", "kind", "fields", "problem"),
    [
        (
            "v1",
            "Service",
            {"spec": {"type": 1}},
            "json: cannot unmarshal number into Go struct field ServiceSpec.spec.type of type v1.ServiceType",
        ),
        (
            "v1",
            "Service",
            {"spec": {"ports": [{"port": 1.5}]}},
            "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "v1",
            "Service",
            {"spec": {"ports": [{"port": 2**31}]}},
            "json: cannot unmarshal number 2147483648 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "v1",
            "Service",
            {"spec": {"ports": [{"targetPort": True}]}},
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            {"spec": {"accessModes": "ReadWriteOnce"}},
            "json: cannot unmarshal string into Go struct field PersistentVolumeClaimSpec.spec.accessModes of type "
            "[]v1.PersistentVolumeAccessMode",
        ),
        (
            "v1",
            "PersistentVolume",
            {"spec": {"csi": {"driver": 1}}},
            "json: cannot unmarshal number into Go struct field "
            "CSIPersistentVolumeSource.spec.PersistentVolumeSource.csi.driver of type string",
        ),
        (
            "v1",
            "ResourceQuota",
            {"spec": {"hard": {"cpu": {}}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            {"spec": {"renewTime": "2026-01-01T00:00:00Z"}},
            'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
        (
            "v1",
            "Node",
            {"spec": {"taints": [{"timeAdded": "2026-13-01T00:00:00Z"}]}},
            'parsing time "2026-13-01T00:00:00Z": month out of range',
        ),
        ("v1", "ConfigMap", {"binaryData": {"a": "b c"}}, "illegal base64 data at input byte 1"),
    ],
)
def test_a_wrong_value_is_refused_in_upstreams_words(
    api_version: str, kind: str, fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DecodingError) as refusal:
        read(api_version, kind, **fields)
    version = api_version.rpartition("/")[2]
    assert str(refusal.value) == f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'


def test_null_in_a_list_is_the_zero_of_its_type() -> None:
    assert read("v1", "Service", spec={"ports": [None], "externalIPs": [None]})["spec"] == {
        "ports": [{}],
        "externalIPs": [""],
    }
