# SPDX-License-Identifier: Apache-2.0
"""Validation of Ingresses and NetworkPolicies."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "ingress", "namespace": "validation"},
    "spec": {
        "ingressClassName": "nginx",
        "rules": [
            {
                "host": "a.example.com",
                "http": {
                    "paths": [
                        {
                            "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            "path": "/",
                            "pathType": "ImplementationSpecific",
                        }
                    ]
                },
            }
        ],
        "tls": [{"hosts": ["a.example.com"], "secretName": "tls"}],
    },
}
NETWORKPOLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "networkpolicy", "namespace": "validation"},
    "spec": {
        "egress": [{"to": [{"podSelector": {}}]}],
        "ingress": [
            {
                "from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                "ports": [{"port": 80, "protocol": "TCP"}],
            }
        ],
        "podSelector": {"matchLabels": {"app": "a"}},
        "policyTypes": ["Ingress", "Egress"],
    },
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (
        INGRESS,
        {"spec.rules[0].host": "*"},
        "spec.rules[0].host: Invalid value: \"*\": a wildcard DNS-1123 subdomain must start with '*.', followed by a vali",
    ),
    (
        INGRESS,
        {"spec.rules[0].host": "1.2.3.4"},
        'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ),
    (
        INGRESS,
        {"spec.rules[0].host": "A.example"},
        'spec.rules[0].host: Invalid value: "A.example": a lowercase RFC 1123 subdomain must consist of lower case alph',
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].pathType": "prefix"},
        'spec.rules[0].http.paths[0].pathType: Unsupported value: "prefix": supported values: "Exact", "ImplementationS',
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].pathType": "Prefix", "spec.rules[0].http.paths[0].path": "/a//b"},
        "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b\": must not contain '//'",
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].pathType": "Exact", "spec.rules[0].http.paths[0].path": ...},
        'spec.rules[0].http.paths[0].path: Invalid value: "": must be an absolute path',
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].backend": {}},
        'spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required',
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].backend": {"service": {"name": "s", "port": {}}}},
        "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].backend": {"service": {"name": "S", "port": {"number": 80}}}},
        'spec.rules[0].http.paths[0].backend.service.name: Invalid value: "S": a lowercase RFC 1123 label must consist',
    ),
    (
        INGRESS,
        {"spec.rules[0].http.paths[0].backend": {"service": {"name": "s", "port": {"number": 70000}}}},
        "spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 70000: must be between 1 and 65535, in",
    ),
    (
        INGRESS,
        {"spec.rules": [], "spec.tls": ...},
        "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified",
    ),
    (
        INGRESS,
        {"spec.tls[0].hosts": ["a b"]},
        'spec.tls[0].hosts[0]: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist of lower case alphanum',
    ),
    (
        NETWORKPOLICY,
        {"spec.policyTypes": ["ingress"]},
        'spec.policyTypes[0]: Unsupported value: "ingress": supported values: "Ingress", "Egress"',
    ),
    (
        NETWORKPOLICY,
        {"spec.policyTypes": ["Ingress", "Egress", "Ingress"]},
        'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTypes',
    ),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].from[0].ipBlock.cidr": "10.0.0.1/8"},
        'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix le',
    ),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].from[0].ipBlock.except": ["192.168.0.0/16"]},
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "192.168.0.0/16": must be a strict subset of `cidr`',
    ),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].from[0].ipBlock.except": ["x"]},
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 o',
    ),
    (NETWORKPOLICY, {"spec.ingress[0].from[0].ipBlock": {}}, "spec.ingress[0].from[0].ipBlock.cidr: Required value"),
    (NETWORKPOLICY, {"spec.ingress[0].from[0]": {}}, "spec.ingress[0].from[0]: Required value: must specify a peer"),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].ports[0].port": 0},
        "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    ),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].ports[0].protocol": "tcp"},
        'spec.ingress[0].ports[0].protocol: Unsupported value: "tcp": supported values: "TCP", "UDP", "SCTP"',
    ),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].ports[0]": {"port": "http", "endPort": 90}},
        "spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
    ),
    (
        NETWORKPOLICY,
        {"spec.ingress[0].ports[0]": {"endPort": 90}},
        "spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is not specified",
    ),
    (
        NETWORKPOLICY,
        {"spec.egress[0].to[0]": {"ipBlock": {"cidr": "::1/64"}}},
        'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "::1/64": must not have bits set beyond the prefix length',
    ),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (
        INGRESS,
        {"spec.rules[0].host": "*"},
        "spec.rules[0].host: Invalid value: \"*\": a wildcard DNS-1123 subdomain must start with '*.', followed by a vali",
    ),
    (
        NETWORKPOLICY,
        {"spec.policyTypes": ["x"]},
        'spec.policyTypes[0]: Unsupported value: "x": supported values: "Ingress", "Egress"',
    ),
]


@pytest.mark.parametrize("document", [INGRESS, NETWORKPOLICY], ids=lambda document: str(document["kind"]))
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
