# SPDX-License-Identifier: Apache-2.0
"""Constant default values of built-in kinds by path (upstream: `pkg/apis/*/v1/defaults.go`).

`kinds` calls `with_default_values`; defaults that depend on other fields are functions there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from steersman.api.json_values import Document, group_kind

_TCP: Final = "TCP"
_WEBHOOK: Final = {
    "webhooks[*].failurePolicy": "Fail",
    "webhooks[*].matchPolicy": "Equivalent",
    "webhooks[*].namespaceSelector": {},
    "webhooks[*].objectSelector": {},
    "webhooks[*].timeoutSeconds": 10,
    "webhooks[*].rules[*].scope": "*",
    "webhooks[*].clientConfig.service.port": 443,
}
_MATCH: Final = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_POLICY: Final = {
    "spec.failurePolicy": "Fail",
    **{f"spec.matchConstraints.{name}": value for name, value in _MATCH.items()},
    "spec.matchConstraints.resourceRules[*].scope": "*",
    "spec.matchConstraints.excludeResourceRules[*].scope": "*",
}
_BINDING: Final = {f"spec.matchResources.{name}": value for name, value in _MATCH.items()}
_QUEUING: Final = "spec.limited.limitResponse.queuing"
_RBAC: Final = "rbac.authorization.k8s.io"
_REGISTRATION: Final = "admissionregistration.k8s.io"

_VALUES: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("", "Endpoints"): {"subsets[*].ports[*].protocol": _TCP},
    ("", "PersistentVolume"): {
        "spec.persistentVolumeReclaimPolicy": "Retain",
        "spec.volumeMode": "Filesystem",
        "spec.iscsi.iscsiInterface": "default",
        "spec.rbd.pool": "rbd",
        "spec.rbd.user": "admin",
        "spec.rbd.keyring": "/etc/ceph/keyring",
        "spec.azureDisk.cachingMode": "ReadWrite",
        "spec.azureDisk.kind": "Shared",
        "spec.azureDisk.fsType": "ext4",
        "spec.azureDisk.readOnly": False,
        "spec.scaleIO.storageMode": "ThinProvisioned",
        "spec.scaleIO.fsType": "xfs",
    },
    ("", "PersistentVolumeClaim"): {"spec.volumeMode": "Filesystem"},
    ("", "Secret"): {"type": "Opaque"},
    ("", "Service"): {"spec.type": "ClusterIP", "spec.sessionAffinity": "None"},
    (_REGISTRATION, "MutatingWebhookConfiguration"): {**_WEBHOOK, "webhooks[*].reinvocationPolicy": "Never"},
    (_REGISTRATION, "ValidatingWebhookConfiguration"): _WEBHOOK,
    (_REGISTRATION, "ValidatingAdmissionPolicy"): _POLICY,
    (_REGISTRATION, "MutatingAdmissionPolicy"): _POLICY,
    (_REGISTRATION, "ValidatingAdmissionPolicyBinding"): _BINDING,
    (_REGISTRATION, "MutatingAdmissionPolicyBinding"): _BINDING,
    ("autoscaling", "HorizontalPodAutoscaler"): {"spec.minReplicas": 1},
    ("discovery.k8s.io", "EndpointSlice"): {
        "ports[*].name": "",
        "ports[*].protocol": _TCP,
        "endpoints[*].conditions": {},
    },
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): {"spec.matchingPrecedence": 1000},
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): {
        "spec.exempt.nominalConcurrencyShares": 0,
        "spec.exempt.lendablePercent": 0,
        "spec.limited.nominalConcurrencyShares": 30,
        "spec.limited.lendablePercent": 0,
        f"{_QUEUING}.handSize": 8,
        f"{_QUEUING}.queues": 64,
        f"{_QUEUING}.queueLengthLimit": 50,
    },
    ("networking.k8s.io", "IngressClass"): {"spec.parameters.scope": "Cluster"},
    ("networking.k8s.io", "NetworkPolicy"): {
        "spec.ingress[*].ports[*].protocol": _TCP,
        "spec.egress[*].ports[*].protocol": _TCP,
    },
    (_RBAC, "ClusterRoleBinding"): {"roleRef": {}, "roleRef.apiGroup": _RBAC},
    (_RBAC, "RoleBinding"): {"roleRef": {}, "roleRef.apiGroup": _RBAC},
    ("scheduling.k8s.io", "PodGroup"): {"spec.disruptionMode": {"single": {}}},
    ("scheduling.k8s.io", "CompositePodGroup"): {"spec.disruptionMode": {"single": {}}},
    ("scheduling.k8s.io", "PriorityClass"): {"preemptionPolicy": "PreemptLowerPriority"},
    ("storage.k8s.io", "CSIDriver"): {
        "spec.attachRequired": True,
        "spec.podInfoOnMount": False,
        "spec.requiresRepublish": False,
        "spec.storageCapacity": False,
        "spec.seLinuxMount": False,
        "spec.fsGroupPolicy": "ReadWriteOnceWithFSType",
        "spec.volumeLifecycleModes": ["Persistent"],
    },
    ("storage.k8s.io", "StorageClass"): {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
"""Default values by kind and path. They are not set below absent parents other than `spec`."""
_FILLED_IF_EMPTY: Final = frozenset(
    {
        "roleRef.apiGroup",
        "spec.persistentVolumeReclaimPolicy",
        "spec.sessionAffinity",
        "spec.type",
        "subsets[*].ports[*].protocol",
        "type",
    }
)
"""Fields that are not pointers in Go: an empty string counts as absent."""


def with_default_values(document: Document) -> Document:
    """Return the document with the constant defaults of its kind."""
    values = _VALUES.get(group_kind(document))
    if values is None:
        return document
    filled = dict(document)
    if filled.get("spec") is None and any(path.startswith("spec.") for path in values):
        filled["spec"] = {}
    for path, value in values.items():
        _fill(filled, path.replace("[*]", ".[*]").split("."), value, or_empty=path in _FILLED_IF_EMPTY)
    return filled


def _fill(part: dict[str, Any], steps: list[str], value: Any, *, or_empty: bool) -> None:
    """Set `value` at the path if absent. Change `part` in place; copy the objects below it."""
    name, *rest = steps
    found = part.get(name)
    if not rest:
        if found is None or (or_empty and found == "") or (found == [] and isinstance(value, list)):
            part[name] = copy.deepcopy(value)
    elif rest[0] == "[*]":
        if isinstance(found, list):
            part[name] = [dict(element) if isinstance(element, dict) else element for element in found]
            for element in part[name]:
                if isinstance(element, dict):
                    _fill(element, rest[1:], value, or_empty=or_empty)
    elif isinstance(found, dict):
        part[name] = dict(found)
        _fill(part[name], rest, value, or_empty=or_empty)
