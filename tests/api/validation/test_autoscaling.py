# SPDX-License-Identifier: Apache-2.0
"""Validation of HorizontalPodAutoscalers."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors

HPA = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "horizontalpodautoscaler", "namespace": "validation"},
    "spec": {
        "maxReplicas": 5,
        "metrics": [
            {
                "resource": {"name": "cpu", "target": {"averageUtilization": 60, "type": "Utilization"}},
                "type": "Resource",
            }
        ],
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
    },
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (HPA, {"spec.minReplicas": -1}, "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1"),
    (
        HPA,
        {"spec.minReplicas": 10},
        "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`",
    ),
    (HPA, {"spec.scaleTargetRef.name": "a/b"}, "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'"),
    (
        HPA,
        {"spec.metrics[0].type": "Pods"},
        "spec.metrics[0].pods: Required value: must populate information for the given metric source",
    ),
    (
        HPA,
        {"spec.metrics[0].resource.name": ""},
        "spec.metrics[0].resource.name: Required value: must specify a resource name",
    ),
    (
        HPA,
        {"spec.metrics[0].resource.target.averageUtilization": 0},
        "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ),
    (
        HPA,
        {"spec.metrics[0].resource.target": {"type": "Utilization", "averageUtilization": 50, "averageValue": "1"}},
        "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target util",
    ),
    (
        HPA,
        {"spec.metrics[0].resource.target": {"type": "Value", "value": "1"}},
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a ta",
    ),
    (
        HPA,
        {
            "spec.metrics[0]": {
                "type": "Pods",
                "pods": {"metric": {"name": ""}, "target": {"type": "AverageValue", "averageValue": "1"}},
            }
        },
        "spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
    ),
    (
        HPA,
        {
            "spec.metrics[0]": {
                "type": "Object",
                "object": {
                    "describedObject": {"kind": "x", "name": "y"},
                    "metric": {"name": "x"},
                    "target": {"type": "Value"},
                },
            }
        },
        "spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue",
    ),
    (
        HPA,
        {
            "spec.metrics[0]": {
                "type": "External",
                "external": {"metric": {"name": "x"}, "target": {"type": "Value", "value": "-1"}},
            }
        },
        'spec.metrics[0].external.target.value: Invalid value: "-1": must be positive',
    ),
    (
        HPA,
        {
            "spec.metrics[0]": {
                "type": "External",
                "external": {"metric": {"name": "x"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}},
            }
        },
        "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod tar",
    ),
    (
        HPA,
        {"spec.behavior": {"scaleUp": {"stabilizationWindowSeconds": 4000}}},
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 4000: must be less than or equal to 3600",
    ),
    (
        HPA,
        {"spec.behavior": {"scaleUp": {"stabilizationWindowSeconds": -1}}},
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
    ),
    (
        HPA,
        {"spec.behavior": {"scaleUp": {"policies": []}}},
        "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
    ),
    (
        HPA,
        {"spec.behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 2000}]}}},
        "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 2000: must be less than or equal to 1800",
    ),
]


@pytest.mark.parametrize("document", [HPA], ids=lambda document: str(document["kind"]))
def test_a_valid_object_has_no_errors(document: Json) -> None:
    assert errors(document, {}) == []


@pytest.mark.parametrize(("document", "changes", "error"), CREATIONS)
def test_a_wrong_object_is_refused_with_upstreams_field_and_message(
    document: Json, changes: Changes, error: str
) -> None:
    (found,) = errors(document, changes)
    assert found.startswith(error)
