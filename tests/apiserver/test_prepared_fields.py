# SPDX-License-Identifier: Apache-2.0
"""Fields that a server sets, keeps or drops whatever a client sends."""

from __future__ import annotations

from typing import Any

from steersman.api.defaults import with_default_fields
from steersman.cluster.apiserver.prepared_fields import prepared

NOW = "2026-01-01T00:00:00Z"


def document(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **fields}


def test_a_namespace_keeps_its_finalizers_and_has_its_name_as_a_label() -> None:
    made = prepared(with_default_fields(document("v1", "Namespace")), None, NOW)
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    changed = {**made, "metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "b"}}, "spec": {}}
    assert prepared(with_default_fields(changed), made, NOW) == made


def test_the_only_network_of_a_node_is_the_first_of_its_networks() -> None:
    made = with_default_fields(document("v1", "Node", spec={"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.2.0.0/24"]}))
    assert made["spec"]["podCIDRs"] == ["10.1.0.0/24"]
    made = with_default_fields(document("v1", "Node", spec={"podCIDRs": ["10.2.0.0/24"]}))
    assert made["spec"]["podCIDR"] == "10.2.0.0/24"


def test_a_taint_of_a_device_has_the_time_when_it_was_added() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    devices = [{"name": "d", "taints": [taint]}]
    made = prepared(document("resource.k8s.io/v1", "ResourceSlice", spec={"devices": devices}), None, NOW)
    assert made["spec"]["devices"] == [{"name": "d", "taints": [{**taint, "timeAdded": NOW}]}]


def test_fields_of_features_that_are_off_are_dropped() -> None:
    lease = document("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "h", "strategy": "x"})
    assert prepared(lease, None, NOW)["spec"] == {"holderIdentity": "h"}
