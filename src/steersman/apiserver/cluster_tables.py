# SPDX-License-Identifier: Apache-2.0
"""Tables of nodes, services, storage, configuration and events, with the cells of `kubectl get`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.api.json_values import elements, part
from steersman.apiserver.table_layouts import layout
from steersman.apiserver.table_texts import (
    NONE,
    UNKNOWN,
    UNSET,
    access_modes_text,
    age,
    labels_text,
    with_more,
)
from steersman.embedded.documents import Document

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _name(document: Document) -> str:
    return str(part(document, "metadata").get("name", ""))


def _age(document: Document, now: float) -> str:
    return age(part(document, "metadata").get("creationTimestamp"), now)


def _phase(document: Document) -> str:
    is_terminating = part(document, "metadata").get("deletionTimestamp")
    return "Terminating" if is_terminating else str(part(document, "status").get("phase", ""))


@layout(
    "",
    "Node",
    "Name|Status|Roles|Age|Version|Internal-IP!|External-IP!|OS-Image!|Kernel-Version!|Container-Runtime!",
)
def _node(document: Document, now: float) -> Sequence[Any]:
    info = part(document, "status", "nodeInfo")
    kernel = info.get("kernelVersion") or UNKNOWN
    architecture = info.get("architecture")
    return [
        _name(document),
        _node_status(document),
        _roles(part(document, "metadata", "labels")),
        _age(document, now),
        info.get("kubeletVersion", ""),
        _address(document, "InternalIP"),
        _address(document, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: Document) -> str:
    ready = [c for c in elements(node, "status", "conditions") if c.get("type") == "Ready"]
    text = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if part(node, "spec").get("unschedulable") else text


def _roles(labels: Mapping[str, Any]) -> str:
    roles = {name.removeprefix(_ROLE_PREFIX) for name in labels if name.startswith(_ROLE_PREFIX)} - {""}
    if labels.get("kubernetes.io/role"):
        roles.add(str(labels["kubernetes.io/role"]))
    return ",".join(sorted(roles)) or NONE


def _address(node: Document, kind: str) -> str:
    addresses = elements(node, "status", "addresses")
    return next((str(found.get("address")) for found in addresses if found.get("type") == kind), NONE)


# -- services and networks -----------------------------------------------------------------------------------------------


@layout("", "Service", "Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector!")
def _service(document: Document, now: float) -> Sequence[Any]:
    spec = part(document, "spec")
    addresses = elements(document, "spec", "clusterIPs") or [spec.get("clusterIP")]
    return [
        _name(document),
        spec.get("type", ""),
        addresses[0] or NONE,
        _external_addresses(document, spec),
        ",".join(map(_service_port, elements(document, "spec", "ports"))) or NONE,
        _age(document, now),
        labels_text(spec.get("selector")),
    ]


def _external_addresses(document: Document, spec: Mapping[str, Any]) -> str:
    given = ",".join(map(str, spec.get("externalIPs") or ()))
    kind = spec.get("type")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        both = [text for text in (_load_balancer(document), given) if text]
        return ",".join(both) or "<pending>"
    return (given or NONE) if kind in ("ClusterIP", "NodePort") else UNKNOWN


def _load_balancer(document: Document) -> str:
    ingress = elements(document, "status", "loadBalancer", "ingress")
    found = {str(entry.get("ip") or entry.get("hostname") or "") for entry in ingress}
    return ",".join(sorted(found - {""}))


def _service_port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


@layout("networking.k8s.io", "Ingress", "Name|Class|Hosts|Address|Ports|Age")
def _ingress(document: Document, now: float) -> Sequence[Any]:
    rules = elements(document, "spec", "rules")
    hosts = [str(rule["host"]) for rule in rules if rule.get("host")]
    return [
        _name(document),
        part(document, "spec").get("ingressClassName") or NONE,
        with_more(hosts) or "*",
        _load_balancer(document),
        "80, 443" if elements(document, "spec", "tls") else "80",
        _age(document, now),
    ]


@layout("", "Endpoints", "Name|Endpoints|Age")
def _endpoints(document: Document, now: float) -> Sequence[Any]:
    texts: list[str] = []
    for subset in elements(document, "subsets"):
        addresses = [str(address.get("ip")) for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        texts += [f"{address}:{port.get('port')}" for port in ports for address in addresses] if ports else addresses
    return [_name(document), with_more(texts) or NONE, _age(document, now)]


@layout("discovery.k8s.io", "EndpointSlice", "Name|AddressType|Ports|Endpoints|Age")
def _endpoint_slice(document: Document, now: float) -> Sequence[Any]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in elements(document, "ports")]
    addresses = [str(a) for endpoint in elements(document, "endpoints") for a in endpoint.get("addresses") or ()]
    cells = (with_more(ports) or UNSET, with_more(addresses) or UNSET)
    return [_name(document), document.get("addressType", ""), *cells, _age(document, now)]


# -- storage -------------------------------------------------------------------------------------------------------------


@layout(
    "",
    "PersistentVolume",
    "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode!",
)
def _volume(document: Document, now: float) -> Sequence[Any]:
    spec, claim = part(document, "spec"), part(document, "spec", "claimRef")
    return [
        _name(document),
        str(part(document, "spec", "capacity").get("storage", "0")),
        access_modes_text(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(document),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        part(document, "status").get("reason", ""),
        _age(document, now),
        spec.get("volumeMode") or UNSET,
    ]


@layout(
    "",
    "PersistentVolumeClaim",
    "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode!",
)
def _claim(document: Document, now: float) -> Sequence[Any]:
    spec, status = part(document, "spec"), part(document, "status")
    is_bound = bool(spec.get("volumeName"))
    return [
        _name(document),
        _phase(document),
        spec.get("volumeName", ""),
        str(part(document, "status", "capacity").get("storage", "0")) if is_bound else "",
        access_modes_text(status.get("accessModes")) if is_bound else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        _age(document, now),
        spec.get("volumeMode") or UNSET,
    ]


@layout(
    "storage.k8s.io",
    "StorageClass",
    "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age",
)
def _storage_class(document: Document, now: float) -> Sequence[Any]:
    annotations = part(document, "metadata", "annotations")
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    return [
        f"{_name(document)} (default)" if is_default else _name(document),
        document.get("provisioner", ""),
        document.get("reclaimPolicy") or "Delete",
        document.get("volumeBindingMode") or "Immediate",
        bool(document.get("allowVolumeExpansion")),
        _age(document, now),
    ]


# -- configuration and the rest ------------------------------------------------------------------------------------------


@layout("", "Namespace", "Name|Status|Age")
def _namespace(document: Document, now: float) -> Sequence[Any]:
    return [_name(document), part(document, "status").get("phase", ""), _age(document, now)]


@layout("", "ConfigMap", "Name|Data|Age")
def _config_map(document: Document, now: float) -> Sequence[Any]:
    return [_name(document), len(part(document, "data")) + len(part(document, "binaryData")), _age(document, now)]


@layout("", "Secret", "Name|Type|Data|Age")
def _secret(document: Document, now: float) -> Sequence[Any]:
    return [_name(document), document.get("type", "Opaque"), len(part(document, "data")), _age(document, now)]


@layout("", "ServiceAccount", "Name|Age")
def _service_account(document: Document, now: float) -> Sequence[Any]:
    return [_name(document), _age(document, now)]


@layout("scheduling.k8s.io", "PriorityClass", "Name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy")
def _priority_class(document: Document, now: float) -> Sequence[Any]:
    value, is_default = document.get("value", 0), bool(document.get("globalDefault"))
    return [_name(document), value, is_default, _age(document, now), document.get("preemptionPolicy", "")]


@layout("", "ResourceQuota", "Name|Request|Limit|Age")
def _quota(document: Document, now: float) -> Sequence[Any]:
    hard, used = part(document, "status", "hard"), part(document, "status", "used")
    texts = {name: f"{name}: {used.get(name, '0')}/{amount}" for name, amount in sorted(hard.items())}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    requests = [text for name, text in texts.items() if not name.startswith("limits.")]
    return [_name(document), ", ".join(requests), ", ".join(limits), _age(document, now)]


@layout("coordination.k8s.io", "Lease", "Name|Holder|Age")
def _lease(document: Document, now: float) -> Sequence[Any]:
    return [_name(document), part(document, "spec").get("holderIdentity") or "", _age(document, now)]


@layout("resource.k8s.io", "ResourceClaim", "Name|State|Age")
def _resource_claim(document: Document, now: float) -> Sequence[Any]:
    is_deleted = bool(part(document, "metadata").get("deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if "allocation" in part(document, "status"):
        states += ["allocated", *(["reserved"] if elements(document, "status", "reservedFor") else [])]
    elif not is_deleted:
        states.append("pending")
    return [_name(document), ",".join(states), _age(document, now)]


@layout("apiextensions.k8s.io", "CustomResourceDefinition", "Name|Created At:date")
def _definition(document: Document, _: float) -> Sequence[Any]:
    return [_name(document), part(document, "metadata").get("creationTimestamp")]


def _event_layout(group: str, involved: str, message: str, deprecated: bool) -> None:
    columns = "Last Seen|Type|Reason|Object|Subobject!|Source!|Message|First Seen!|Count!|Name!"

    def cells(document: Document, now: float) -> Sequence[Any]:
        prefix = "deprecated" if deprecated else ""
        first = document.get(_camel(prefix, "firstTimestamp")) or document.get("eventTime")
        last = document.get(_camel(prefix, "lastTimestamp")) or first
        series = part(document, "series")
        target, source = part(document, involved), part(document, _camel(prefix, "source"))
        return [
            age(series.get("lastObservedTime") or last, now),
            document.get("type", ""),
            document.get("reason", ""),
            f"{target.get('kind', '').lower()}/{target['name']}"
            if target.get("name")
            else target.get("kind", "").lower(),
            target.get("fieldPath", ""),
            _event_source(document, source),
            str(document.get(message, "")).strip(),
            age(first, now),
            series.get("count") or document.get(_camel(prefix, "count")) or 1,
            _name(document),
        ]

    layout(group, "Event", columns)(cells)


def _camel(prefix: str, name: str) -> str:
    return f"{prefix}{name[0].upper()}{name[1:]}" if prefix else name


def _event_source(document: Document, source: Mapping[str, Any]) -> str:
    component = source.get("component") or document.get("reportingComponent") or document.get("reportingController")
    instance = source.get("host") or document.get("reportingInstance")
    return ", ".join(str(text) for text in (component, instance) if text)


_event_layout("", "involvedObject", "message", deprecated=False)
_event_layout("events.k8s.io", "regarding", "note", deprecated=True)
