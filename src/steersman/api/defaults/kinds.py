# SPDX-License-Identifier: Apache-2.0
"""Defaults of all built-in kinds, set as kube-apiserver does.

`with_default_fields` sets the defaults of documents from clients and files before validation.
Admission (`cluster.store.admission`) works on structs and sets further defaults of claims.
`apiserver.service_addresses` assigns the addresses and ports of Services.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from steersman.api.defaults.pod_template import changed, each_changed, with_pod_defaults, with_template_defaults
from steersman.api.defaults.values import with_default_values
from steersman.api.defaults.workloads import with_workload_defaults
from steersman.api.json_values import Document, group_kind, part

_Part: TypeAlias = dict[str, Any]
_Rule: TypeAlias = Callable[[Document], Document]

CLUSTER_IP: Final = "ClusterIP"
NODE_PORT: Final = "NodePort"
LOAD_BALANCER: Final = "LoadBalancer"
EXTERNAL_NAME: Final = "ExternalName"
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
_VOLUME_CONTENTS: Final = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
"""Groups and kinds that `dataSource` of a claim may refer to."""
_AFFINITY_SECONDS: Final = 10_800
_RBAC: Final = "rbac.authorization.k8s.io"


def with_default_fields(document: Document, *, is_new: bool = True) -> Document:
    """Return the document with its default fields, or the same object if it needs none."""
    document = with_default_values(document)
    rule = _RULES.get(group_kind(document))
    return with_workload_defaults(document, group_kind(document), is_new=is_new) if rule is None else rule(document)


# -- core ------------------------------------------------------------------------------------------


def _pod(document: Document) -> Document:
    document = document if document.get("spec") is not None else {**document, "spec": {}}
    return changed(document, "spec", with_pod_defaults)


def _pod_template(document: Document) -> Document:
    return changed(document, "template", with_template_defaults)


def _namespace(document: Document) -> Document:
    metadata = part(document, "metadata")
    labels = {**(metadata.get("labels") or {}), NAMESPACE_LABEL: metadata.get("name") or ""}
    return {**document, "metadata": {**metadata, "labels": labels}}


def _secret(document: Document) -> Document:
    """Return the Secret with the write-only `stringData` merged into `data`."""
    filled = dict(document)
    texts = filled.pop("stringData", None)
    if isinstance(texts, dict):
        encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
        filled["data"] = {**(filled.get("data") or {}), **encoded}
    return filled


def _service(document: Document) -> Document:
    filled = changed(document, "spec", _service_spec)
    filled.setdefault("status", {"loadBalancer": {}})
    return filled


def _service_spec(spec: _Part) -> _Part:
    kind, filled = spec["type"], dict(spec)
    if filled["sessionAffinity"] == "None":
        filled.pop("sessionAffinityConfig", None)
    if (
        filled["sessionAffinity"] == "ClientIP"
        and part(filled, "sessionAffinityConfig", "clientIP").get("timeoutSeconds") is None
    ):
        filled["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    if kind in (CLUSTER_IP, NODE_PORT, LOAD_BALANCER):
        filled.setdefault("internalTrafficPolicy", "Cluster")
    if kind in (NODE_PORT, LOAD_BALANCER) or (kind == CLUSTER_IP and spec.get("externalIPs")):
        filled["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if kind == LOAD_BALANCER:
        filled.setdefault("allocateLoadBalancerNodePorts", True)
    return each_changed(filled, "ports", _service_port)


def _service_port(port: _Part) -> _Part:
    filled = {**port, "protocol": port.get("protocol") or "TCP"}
    if not filled.get("targetPort") and "port" in port:
        filled["targetPort"] = port["port"]
    return filled


def _node(document: Document) -> Document:
    def complete(status: _Part) -> _Part:
        is_copied = status.get("allocatable") is None and bool(status.get("capacity"))
        return {**status, "allocatable": dict(status["capacity"])} if is_copied else status

    return changed(changed(document, "spec", _with_networks), "status", complete)


def _with_networks(spec: _Part) -> _Part:
    """Make `podCIDR` the first of `podCIDRs`; `podCIDR` wins if they differ."""
    first, networks = spec.get("podCIDR"), spec.get("podCIDRs") or []
    if first and networks[:1] != [first]:
        return {**spec, "podCIDRs": [first]}
    return {**spec, "podCIDR": networks[0]} if networks and not first else spec


def _persistent_volume(document: Document) -> Document:
    return changed(document, "spec", lambda spec: changed(spec, "hostPath", lambda path: {"type": "", **path}))


def _volume_claim(document: Document) -> Document:
    return changed(document, "spec", _volume_claim_spec)


def _volume_claim_spec(spec: _Part) -> _Part:
    """Sync `dataSource` and `dataSourceRef`; drop other namespaces and unsupported kinds."""
    filled = dict(spec)
    if part(spec, "dataSourceRef").get("namespace"):
        del filled["dataSourceRef"]
    source, reference = filled.get("dataSource"), filled.get("dataSourceRef")
    if isinstance(source, dict) and reference is None:
        if (source.get("apiGroup") or "", source.get("kind")) in _VOLUME_CONTENTS:
            filled["dataSourceRef"] = dict(source)
        else:
            del filled["dataSource"]
    elif isinstance(reference, dict) and source is None:
        filled["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}
    return filled


# -- other groups ----------------------------------------------------------------------------------


def _network_policy(document: Document) -> Document:
    return changed(document, "spec", _network_policy_spec)


def _network_policy_spec(spec: _Part) -> _Part:
    filled = dict(spec)
    if not filled.get("policyTypes"):
        filled["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return filled


def _ingress(document: Document) -> Document:
    return {"status": {"loadBalancer": {}}, **document}


def _role_binding(document: Document) -> Document:
    return each_changed(document, "subjects", _subject)


def _subject(subject: _Part) -> _Part:
    is_named = subject.get("kind") in ("User", "Group") and not subject.get("apiGroup")
    return {**subject, "apiGroup": _RBAC} if is_named else subject


_SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: Final = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
_CPU_METRIC: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def _autoscaler(document: Document) -> Document:
    def behavior(found: _Part) -> _Part:
        return {
            "scaleUp": {**_SCALE_UP, **part(found, "scaleUp")},
            "scaleDown": {**_SCALE_DOWN, **part(found, "scaleDown")},
        }

    def complete(spec: _Part) -> _Part:
        metrics = {} if spec.get("metrics") else {"metrics": [_CPU_METRIC]}
        return changed({**spec, **metrics}, "behavior", behavior)

    return document if document["apiVersion"] == "autoscaling/v1" else changed(document, "spec", complete)


def _limit_range(document: Document) -> Document:
    def complete(item: _Part) -> _Part:
        if item.get("type") != "Container":
            return item
        limits = {**part(item, "max"), **part(item, "default")}
        requests = {**part(item, "min"), **limits, **part(item, "defaultRequest")}
        filled = {"default": limits, "defaultRequest": requests}
        return {**item, **{name: value for name, value in filled.items() if value}}

    return changed(document, "spec", lambda spec: each_changed(spec, "limits", complete))


def _claim(document: Document) -> Document:
    return changed(document, "spec", _claim_spec)


def _claim_template(document: Document) -> Document:
    return changed(document, "spec", lambda spec: changed(spec, "spec", _claim_spec))


def _claim_spec(spec: _Part) -> _Part:
    def count(request: _Part) -> _Part:
        mode = request.get("allocationMode") or "ExactCount"
        counted = {"count": request.get("count") or 1} if mode == "ExactCount" else {}
        return each_changed({**request, "allocationMode": mode, **counted}, "tolerations", tolerate)

    def tolerate(toleration: _Part) -> _Part:
        return {**toleration, "operator": toleration.get("operator") or "Equal"}

    def complete(request: _Part) -> _Part:
        return each_changed(changed(request, "exactly", count), "firstAvailable", count)

    return changed(spec, "devices", lambda devices: each_changed(devices, "requests", complete))


_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("", "LimitRange"): _limit_range,
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "PersistentVolume"): _persistent_volume,
    ("", "PersistentVolumeClaim"): _volume_claim,
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _pod_template,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    (_RBAC, "ClusterRoleBinding"): _role_binding,
    (_RBAC, "RoleBinding"): _role_binding,
    ("resource.k8s.io", "ResourceClaim"): _claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): _claim_template,
}
