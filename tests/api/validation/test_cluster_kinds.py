# SPDX-License-Identifier: Apache-2.0
"""Validation of Nodes, Namespaces, PriorityClasses, PodDisruptionBudgets and RuntimeClasses."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors, update_errors

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "spec": {}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "namespace"}}
PRIORITYCLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "priorityclass"},
    "value": 1000,
}
PDB = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "poddisruptionbudget", "namespace": "validation"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
}
RUNTIMECLASS = {
    "apiVersion": "node.k8s.io/v1",
    "handler": "runc",
    "kind": "RuntimeClass",
    "metadata": {"name": "runtimeclass"},
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (
        NODE,
        {"spec.taints": [{"key": "a", "effect": "noSchedule"}]},
        'metadata.taints[0].effect: Unsupported value: "noSchedule": supported values: "NoSchedule", "PreferNoSchedule"',
    ),
    (
        NODE,
        {"spec.taints": [{"key": "a b", "effect": "NoSchedule"}]},
        "metadata.taints[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '",
    ),
    (
        NODE,
        {"spec.taints": [{"key": "a", "value": "b c", "effect": "NoSchedule"}]},
        'metadata.taints[0].value: Invalid value: "b c": a valid label must be an empty string or consist of alphanumer',
    ),
    (
        NODE,
        {"spec.taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "x"}]},
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"x","Effect":"NoSchedule","TimeAdded":null}: taints mu',
    ),
    (
        NODE,
        {"spec.podCIDR": "10.0.0.0"},
        'spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ),
    (
        NODE,
        {"spec.podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]},
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP fam',
    ),
    (
        NODE,
        {"metadata.name": "A_b"},
        'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ch',
    ),
    (
        NODE,
        {"metadata.labels": {"a": "b c"}},
        'metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric charac',
    ),
    (
        NAMESPACE,
        {"metadata.name": "A"},
        'metadata.name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characte',
    ),
    (NAMESPACE, {"metadata.name": "a.b"}, 'metadata.name: Invalid value: "a.b": must not contain dots'),
    (
        NAMESPACE,
        {"spec": {"finalizers": ["x"]}},
        'spec.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ),
    (
        NAMESPACE,
        {"metadata.labels": {"pod-security.kubernetes.io/enforce": "Baseline"}},
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "Baseline": must be one of privileged, bas',
    ),
    (
        NAMESPACE,
        {"metadata.labels": {"pod-security.kubernetes.io/enforce-version": "1.30"}},
        'metadata.labels[pod-security.kubernetes.io/enforce-version]: Invalid value: "1.30": must be "latest" or "v1.x"',
    ),
    (
        NAMESPACE,
        {"metadata.labels": {"pod-security.kubernetes.io/warn": "x"}},
        'metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "x": must be one of privileged, baseline, res',
    ),
    (
        NAMESPACE,
        {"metadata.labels": {"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
        'metadata.labels: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no',
    ),
    (
        NAMESPACE,
        {"metadata.annotations": {"a b": "c"}},
        "metadata.annotations: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.'",
    ),
    (
        PRIORITYCLASS,
        {"value": 2000000000},
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ),
    (
        PRIORITYCLASS,
        {"value": 1000000001},
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ),
    (
        PRIORITYCLASS,
        {"metadata.name": "system-foo"},
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error:",
    ),
    (
        PRIORITYCLASS,
        {"preemptionPolicy": "never"},
        'preemptionPolicy: Unsupported value: "never": supported values: "PreemptLowerPriority", "Never"',
    ),
    (PRIORITYCLASS, {"preemptionPolicy": ""}, "preemptionPolicy: Required value"),
    (
        PRIORITYCLASS,
        {"metadata.name": "Upper"},
        'metadata.name: Invalid value: "Upper": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric',
    ),
    (PDB, {"spec.minAvailable": "101%"}, 'spec.minAvailable: Invalid value: "101%": must not be greater than 100%'),
    (
        PDB,
        {"spec.minAvailable": "-5%"},
        'spec.minAvailable: Invalid value: "-5%": a valid percent string must be a numeric string followed by an ending',
    ),
    (PDB, {"spec.minAvailable": -1}, "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"),
    (
        PDB,
        {"spec.minAvailable": "half"},
        'spec.minAvailable: Invalid value: "half": a valid percent string must be a numeric string followed by an endin',
    ),
    (
        PDB,
        {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}},
        'spec.selector.matchExpressions[0].operator: Invalid value: "in": not a valid selector operator',
    ),
    (
        PDB,
        {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ),
    (
        PDB,
        {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
        "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'Does",
    ),
    (
        PDB,
        {"spec.selector": {"matchLabels": {"a b": "c"}}},
        "spec.selector.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' o",
    ),
    (RUNTIMECLASS, {"handler": ""}, "handler: Required value"),
    (
        RUNTIMECLASS,
        {"handler": "A"},
        'handler: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or',
    ),
    (RUNTIMECLASS, {"handler": "a.b"}, 'handler: Invalid value: "a.b": must not contain dots'),
    (
        RUNTIMECLASS,
        {"overhead": {"podFixed": {"cpu": "-1"}}},
        'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    (
        RUNTIMECLASS,
        {"scheduling": {"nodeSelector": {"a b": "c"}}},
        "scheduling.nodeSelector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or",
    ),
    (
        RUNTIMECLASS,
        {"scheduling": {"tolerations": [{"key": "a", "operator": "exists"}]}},
        'scheduling.tolerations[0].operator: Unsupported value: "exists": supported values: "Equal", "Exists"',
    ),
    (
        RUNTIMECLASS,
        {"scheduling": {"tolerations": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]}},
        'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationS',
    ),
]

UPDATES: list[tuple[Json, Changes, str]] = [
    (
        NODE,
        {"metadata.labels": {"a": "b c"}},
        'metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric charac',
    ),
    (
        NAMESPACE,
        {"metadata.labels": {"pod-security.kubernetes.io/enforce": "x"}},
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline,',
    ),
    (PRIORITYCLASS, {"value": 5}, "value: Forbidden: may not be changed in an update."),
    (PRIORITYCLASS, {"preemptionPolicy": "Never"}, 'preemptionPolicy: Invalid value: "Never": field is immutable'),
    (
        PDB,
        {"spec.maxUnavailable": 1},
        'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"app":"a"}},"MaxUnavailable":1,"UnhealthyPod',
    ),
    (RUNTIMECLASS, {"handler": "other"}, 'handler: Invalid value: "other": field is immutable'),
]


@pytest.mark.parametrize(
    "document", [NODE, NAMESPACE, PRIORITYCLASS, PDB, RUNTIMECLASS], ids=lambda document: str(document["kind"])
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
