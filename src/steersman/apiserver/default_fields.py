# SPDX-License-Identifier: Apache-2.0
"""Fields of built-in kinds that a kube-apiserver fills in when it reads an object which leaves them out.

`with_default_fields` completes documents from clients and files, before anything is checked. Workloads and claims are
completed once more by admission (`embedded.admission`), which works on structs and serves simulations as well; here is what
no struct holds. What has to be looked up in the cluster, addresses and ports of Services, is in `service_addresses`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from steersman.embedded import Document
from steersman.embedded.admission.pod_template import with_pod_spec_defaults, with_template_defaults

_Part: TypeAlias = dict[str, Any]
_Rule: TypeAlias = Callable[[Document], Document]

CLUSTER_IP: Final = "ClusterIP"
NODE_PORT: Final = "NodePort"
LOAD_BALANCER: Final = "LoadBalancer"
EXTERNAL_NAME: Final = "ExternalName"
_AFFINITY_SECONDS: Final = 10_800
_RBAC: Final = "rbac.authorization.k8s.io"
_WEBHOOK: Final = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}


def with_default_fields(document: Document) -> Document:
    """The document of a built-in kind with what it leaves out; the same one if there is nothing to fill in."""
    rule = _RULES.get((str(document.get("apiVersion", "")).rpartition("/")[0], str(document.get("kind", ""))))
    return document if rule is None else rule(document)


# -- core --------------------------------------------------------------------------------------------------------------


def _pod(document: Document) -> Document:
    def complete(spec: _Part) -> _Part:
        return {"enableServiceLinks": True, **with_pod_spec_defaults(spec)}

    return _changed(document, "spec", complete)


def _pod_template(document: Document) -> Document:
    return _changed(document, "template", with_template_defaults)


def _secret(document: Document) -> Document:
    """`stringData` is only written: it becomes data."""
    filled = {**document, "type": document.get("type") or "Opaque"}
    texts = filled.pop("stringData", None)
    if isinstance(texts, dict):
        encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
        filled["data"] = {**(filled.get("data") or {}), **encoded}
    return filled


def _service(document: Document) -> Document:
    filled = _changed(document, "spec", _service_spec)
    filled.setdefault("status", {"loadBalancer": {}})
    return filled


def _service_spec(spec: _Part) -> _Part:
    kind = spec.get("type") or CLUSTER_IP
    filled = {**spec, "type": kind, "sessionAffinity": spec.get("sessionAffinity") or "None"}
    if filled["sessionAffinity"] == "ClientIP" and not filled.get("sessionAffinityConfig"):
        filled["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    if kind != EXTERNAL_NAME:
        filled.setdefault("internalTrafficPolicy", "Cluster")
    if kind in (NODE_PORT, LOAD_BALANCER) or (kind == CLUSTER_IP and spec.get("externalIPs")):
        filled.setdefault("externalTrafficPolicy", "Cluster")
    if kind == LOAD_BALANCER:
        filled.setdefault("allocateLoadBalancerNodePorts", True)
    return _each_changed(filled, "ports", _service_port)


def _service_port(port: _Part) -> _Part:
    filled = {**port, "protocol": port.get("protocol") or "TCP"}
    if not filled.get("targetPort") and "port" in port:
        filled["targetPort"] = port["port"]
    return filled


def _endpoints(document: Document) -> Document:
    return _each_changed(document, "subsets", lambda subset: _each_changed(subset, "ports", _protocol))


def _persistent_volume(document: Document) -> Document:
    return _changed(document, "spec", lambda spec: _changed(spec, "hostPath", lambda path: {"type": "", **path}))


# -- other groups ------------------------------------------------------------------------------------------------------


def _endpoint_slice(document: Document) -> Document:
    filled = _each_changed(document, "ports", lambda port: {"name": "", **_protocol(port)})
    return _each_changed(filled, "endpoints", lambda endpoint: {"conditions": {}, **endpoint})


def _network_policy(document: Document) -> Document:
    return _changed(document, "spec", _network_policy_spec)


def _network_policy_spec(spec: _Part) -> _Part:
    filled = dict(spec)
    if not filled.get("policyTypes"):
        filled["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for name in ("ingress", "egress"):
        filled = _each_changed(filled, name, lambda rule: _each_changed(rule, "ports", _protocol))
    return filled


def _ingress(document: Document) -> Document:
    return {"status": {"loadBalancer": {}}, **document}


def _ingress_class(document: Document) -> Document:
    def complete(spec: _Part) -> _Part:
        return _changed(spec, "parameters", lambda parameters: {"scope": "Cluster", **parameters})

    return _changed(document, "spec", complete)


def _role_binding(document: Document) -> Document:
    return _each_changed(_changed(document, "roleRef", _role_reference), "subjects", _subject)


def _role_reference(reference: _Part) -> _Part:
    return {**reference, "apiGroup": reference.get("apiGroup") or _RBAC}


def _subject(subject: _Part) -> _Part:
    return {"apiGroup": _RBAC, **subject} if subject.get("kind") in ("User", "Group") else subject


def _csi_driver(document: Document) -> Document:
    defaults = {
        "attachRequired": True,
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "storageCapacity": False,
        "seLinuxMount": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
    }
    return _changed(document, "spec", lambda spec: {**defaults, **spec})


def _webhooks(document: Document) -> Document:
    is_mutating = document["kind"] == "MutatingWebhookConfiguration"
    defaults = _WEBHOOK | ({"reinvocationPolicy": "Never"} if is_mutating else {})

    def complete(webhook: _Part) -> _Part:
        filled = _each_changed({**defaults, **webhook}, "rules", lambda rule: {"scope": "*", **rule})
        return _changed(filled, "clientConfig", _client_config)

    return _each_changed(document, "webhooks", complete)


def _client_config(config: _Part) -> _Part:
    return _changed(config, "service", lambda service: {"port": 443, **service})


def _flow_schema(document: Document) -> Document:
    return _changed(document, "spec", lambda spec: {"matchingPrecedence": 1000, **spec})


def _job(document: Document) -> Document:
    return _changed(document, "spec", _job_spec)


def _job_spec(spec: _Part) -> _Part:
    """Conditions of pods in a failure policy are meant to be true."""

    def rule(found: _Part) -> _Part:
        return _each_changed(found, "onPodConditions", lambda condition: {"status": "True", **condition})

    return _changed(spec, "podFailurePolicy", lambda policy: _each_changed(policy, "rules", rule))


def _cron_job(document: Document) -> Document:
    def template(found: _Part) -> _Part:
        return _changed(found, "spec", _job_spec)

    return _changed(document, "spec", lambda spec: _changed(spec, "jobTemplate", template))


# -- parts of documents ------------------------------------------------------------------------------------------------


def _protocol(port: _Part) -> _Part:
    return {**port, "protocol": port.get("protocol") or "TCP"}


def _changed(part: Mapping[str, Any], name: str, change: Callable[[_Part], _Part]) -> _Part:
    """A copy in which the object of that name, if there is one, is changed."""
    value = part.get(name)
    return {**part, name: change(value)} if isinstance(value, dict) else dict(part)


def _each_changed(part: Mapping[str, Any], name: str, change: Callable[[_Part], _Part]) -> _Part:
    """A copy in which every object of that list, if there is one, is changed."""
    values = part.get(name)
    if not isinstance(values, list):
        return dict(part)
    return {**part, name: [change(value) if isinstance(value, dict) else value for value in values]}


_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("", "Endpoints"): _endpoints,
    ("", "PersistentVolume"): _persistent_volume,
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _pod_template,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _webhooks,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _webhooks,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _flow_schema,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "IngressClass"): _ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    (_RBAC, "ClusterRoleBinding"): _role_binding,
    (_RBAC, "RoleBinding"): _role_binding,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
}
