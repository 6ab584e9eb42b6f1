# SPDX-License-Identifier: Apache-2.0
"""Validation of Services, Endpoints and EndpointSlices."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "service", "namespace": "validation"},
    "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080}], "selector": {"app": "a"}},
}
EXTERNAL = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "service", "namespace": "validation"},
    "spec": {"externalName": "db.example.com.", "type": "ExternalName"},
}
ENDPOINTS = {
    "apiVersion": "v1",
    "kind": "Endpoints",
    "metadata": {"name": "endpoints", "namespace": "validation"},
    "subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "http", "port": 80}]}],
}
ENDPOINTSLICE = {
    "addressType": "IPv4",
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {"name": "endpointslice", "namespace": "validation"},
    "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (SERVICE, {"spec.ports": []}, "spec.ports: Required value"),
    (
        SERVICE,
        {"spec.ports[0].protocol": "tcp"},
        'spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        SERVICE,
        {"spec.ports[0].name": "a_b"},
        'spec.ports[0].name: Invalid value: "a_b": a lowercase RFC 1123 label must consist of lower case alphanumeric c',
    ),
    (SERVICE, {"spec.ports[+]": {"name": "http", "port": 81}}, 'spec.ports[1].name: Duplicate value: "http"'),
    (
        SERVICE,
        {"spec.ports[0].targetPort": "80"},
        'spec.ports[0].targetPort: Invalid value: "80": must contain at least one letter (a-z)',
    ),
    (
        SERVICE,
        {"spec.type": "clusterIP"},
        'spec.type: Unsupported value: "clusterIP": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "Nod',
    ),
    (
        SERVICE,
        {"spec.type": "ExternalName", "spec.externalName": "https://x"},
        'spec.externalName: Invalid value: "https://x": a lowercase RFC 1123 subdomain must consist of lower case alpha',
    ),
    (
        SERVICE,
        {"spec.clusterIP": "None", "spec.type": "LoadBalancer"},
        "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services",
    ),
    (
        SERVICE,
        {"spec.sessionAffinity": "clientIP"},
        'spec.sessionAffinity: Unsupported value: "clientIP": supported values: "ClientIP", "None"',
    ),
    (
        SERVICE,
        {"spec.externalTrafficPolicy": "Local"},
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ),
    (
        SERVICE,
        {"spec.internalTrafficPolicy": "local"},
        'spec.internalTrafficPolicy: Unsupported value: "local": supported values: "Cluster", "Local"',
    ),
    (
        SERVICE,
        {"spec.type": "LoadBalancer", "spec.loadBalancerSourceRanges": ["10.0.0.0/33"]},
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24',
    ),
    (
        SERVICE,
        {"spec.allocateLoadBalancerNodePorts": False},
        "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ),
    (
        SERVICE,
        {"spec.externalIPs": ["224.0.0.1"]},
        'spec.externalIPs[0]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, f',
    ),
    (
        SERVICE,
        {"spec.ipFamilyPolicy": "dual"},
        'spec.ipFamilyPolicy: Unsupported value: "dual": supported values: "PreferDualStack", "RequireDualStack", "Sing',
    ),
    (
        SERVICE,
        {"spec.trafficDistribution": "close"},
        'spec.trafficDistribution: Unsupported value: "close": supported values: "PreferClose", "PreferSameZone", "Pref',
    ),
    (EXTERNAL, {"spec.clusterIP": "10.0.0.7"}, "spec.clusterIPs: Forbidden: may not be set for ExternalName services"),
    (EXTERNAL, {"spec.externalName": ...}, "spec.externalName: Required value"),
    (
        EXTERNAL,
        {"spec.externalName": "a" * 300},
        'spec.externalName: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    ),
    (
        ENDPOINTS,
        {"subsets[0].addresses[0].ip": "127.0.0.1"},
        'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ),
    (
        ENDPOINTS,
        {"subsets[0].addresses[0].ip": "169.254.0.1"},
        'subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16,',
    ),
    (
        ENDPOINTS,
        {"subsets[0].addresses[0].hostname": "A"},
        'subsets[0].addresses[0].hostname: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case al',
    ),
    (
        ENDPOINTS,
        {"subsets[0].addresses[0].nodeName": "a_b"},
        'subsets[0].addresses[0].nodeName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower c',
    ),
    (
        ENDPOINTS,
        {"subsets[0].ports[0].protocol": "tcp"},
        'subsets[0].ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        ENDPOINTS,
        {"subsets[0].ports[0].name": "HTTP"},
        'subsets[0].ports[0].name: Invalid value: "HTTP": a lowercase RFC 1123 label must consist of lower case alphanu',
    ),
    (ENDPOINTS, {"subsets[0].ports[+]": {"port": 81}}, "subsets[0].ports[1].name: Required value"),
    (
        ENDPOINTS,
        {"subsets[0].ports[0].appProtocol": "a b"},
        "subsets[0].ports[0].appProtocol: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-',",
    ),
    (
        ENDPOINTSLICE,
        {"addressType": "ipv4"},
        'addressType: Unsupported value: "ipv4": supported values: "FQDN", "IPv4", "IPv6"',
    ),
    (
        ENDPOINTSLICE,
        {"endpoints": [{"addresses": []}]},
        "endpoints[0].addresses: Required value: must contain at least 1 address",
    ),
    (
        ENDPOINTSLICE,
        {"endpoints": [{"addresses": ["127.0.0.1"]}]},
        'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ),
    (
        ENDPOINTSLICE,
        {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}}]},
        'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
    ),
    (
        ENDPOINTSLICE,
        {"endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "A_b"}]},
        'endpoints[0].nodeName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanu',
    ),
    (ENDPOINTSLICE, {"ports[+]": {"name": "http", "port": 81}}, 'ports[1].name: Duplicate value: "http"'),
    (
        ENDPOINTSLICE,
        {"ports[0].name": "HTTP"},
        'ports[0].name: Invalid value: "HTTP": a lowercase RFC 1123 label must consist of lower case alphanumeric chara',
    ),
    (
        ENDPOINTSLICE,
        {"ports[0].name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
        'ports[0].name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must b',
    ),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (SERVICE, {"spec.ports": []}, "spec.ports: Required value"),
    (
        SERVICE,
        {"spec.externalTrafficPolicy": "Local"},
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ),
    (ENDPOINTSLICE, {"addressType": "IPv6"}, 'addressType: Invalid value: "IPv6": field is immutable'),
]


@pytest.mark.parametrize(
    "document", [SERVICE, EXTERNAL, ENDPOINTS, ENDPOINTSLICE], ids=lambda document: str(document["kind"])
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
