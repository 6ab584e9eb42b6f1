# SPDX-License-Identifier: Apache-2.0
"""Validation of ResourceQuotas and LimitRanges."""

from __future__ import annotations

import pytest
from tests.api.validation.edited_objects import Changes, Json, errors

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "resourcequota", "namespace": "validation"},
    "spec": {"hard": {"pods": "10", "requests.cpu": "4", "requests.memory": "8Gi"}},
}
LIMITRANGE = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "limitrange", "namespace": "validation"},
    "spec": {
        "limits": [
            {
                "default": {"cpu": "1"},
                "defaultRequest": {"cpu": "500m"},
                "max": {"cpu": "2"},
                "maxLimitRequestRatio": {"cpu": "4"},
                "min": {"cpu": "100m"},
                "type": "Container",
            }
        ]
    },
}

CREATIONS: list[tuple[Json, Changes, str]] = [
    (QUOTA, {"spec.hard.pods": -1}, 'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'),
    (QUOTA, {"spec.hard.pods": 1.5}, 'spec.hard[pods]: Invalid value: "1500m": must be an integer'),
    (QUOTA, {"spec.scopes": ["terminating"]}, 'spec.scopes: Invalid value: ["terminating"]: unsupported scope'),
    (
        QUOTA,
        {"spec.scopes": ["Terminating", "NotTerminating"], "spec.hard": {"pods": "1"}},
        'spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
    ),
    (
        QUOTA,
        {"spec.scopes": ["Terminating"], "spec.hard": {"services": "1"}},
        'spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource',
    ),
    (
        QUOTA,
        {
            "spec.scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}]
            },
            "spec.hard": {"pods": "1"},
        },
        "spec.scopeSelector.matchExpressions.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist'",
    ),
    (
        QUOTA,
        {
            "spec.scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "in", "values": ["a"]}]
            },
            "spec.hard": {"pods": "1"},
        },
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "in": not a valid selector operator',
    ),
    (
        QUOTA,
        {
            "spec.scopeSelector": {
                "matchExpressions": [{"scopeName": "Terminating", "operator": "In", "values": ["a"]}]
            },
            "spec.hard": {"pods": "1"},
        },
        "spec.scopeSelector.matchExpressions.operator: Invalid value: \"In\": must be 'Exists' when scope is any of Resou",
    ),
    (
        LIMITRANGE,
        {"spec.limits[0].type": "container"},
        'spec.limits[0].type: Invalid value: "container": must be a standard limit type or fully qualified',
    ),
    (
        LIMITRANGE,
        {"spec.limits[0].default.cpu": "3"},
        'spec.limits[0].default[cpu]: Invalid value: "2": default value 3 is greater than max value 2',
    ),
    (
        LIMITRANGE,
        {"spec.limits[0].defaultRequest.cpu": "50m"},
        'spec.limits[0].defaultRequest[cpu]: Invalid value: "50m": min value 100m is greater than default request value',
    ),
    (
        LIMITRANGE,
        {"spec.limits[0].maxLimitRequestRatio.cpu": "0.5"},
        'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
    ),
    (LIMITRANGE, {"spec.limits[+]": {"type": "Container"}}, 'spec.limits[1].type: Duplicate value: "Container"'),
    (
        LIMITRANGE,
        {"spec.limits": [{"type": "Pod", "default": {"cpu": "1"}}]},
        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
    ),
    (
        LIMITRANGE,
        {"spec.limits": [{"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]},
        'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    ),
    (
        LIMITRANGE,
        {"spec.limits": [{"type": "PersistentVolumeClaim"}]},
        "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was pr",
    ),
]


@pytest.mark.parametrize("document", [QUOTA, LIMITRANGE], ids=lambda document: str(document["kind"]))
def test_a_valid_object_has_no_errors(document: Json) -> None:
    assert errors(document, {}) == []


@pytest.mark.parametrize(("document", "changes", "error"), CREATIONS)
def test_a_wrong_object_is_refused_with_upstreams_field_and_message(
    document: Json, changes: Changes, error: str
) -> None:
    (found,) = errors(document, changes)
    assert found.startswith(error)
