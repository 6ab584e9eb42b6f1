# SPDX-License-Identifier: Apache-2.0
"""Cells of `kubectl get` for nodes, services, storage, configuration and events; `tables.json`
names the functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.api import elements, part
from steersman.cluster.apiserver.table_layouts import Cells, name_cell
from steersman.cluster.apiserver.table_texts import NONE, UNKNOWN, UNSET, access_modes_text, age, with_more
from steersman.cluster.store.documents import Document

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


# -- nodes -----------------------------------------------------------------------------------------


def _node_status(node: Document, _: float) -> str:
    ready = [c for c in elements(node, "status", "conditions") if c.get("type") == "Ready"]
    text = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if part(node, "spec").get("unschedulable") else text


def _roles(node: Document, _: float) -> str:
    labels = part(node, "metadata", "labels")
    roles = {name.removeprefix(_ROLE_PREFIX) for name in labels if name.startswith(_ROLE_PREFIX)} - {""}
    if labels.get("kubernetes.io/role"):
        roles.add(str(labels["kubernetes.io/role"]))
    return ",".join(sorted(roles)) or NONE


def _address(node: Document, kind: str) -> str:
    addresses = elements(node, "status", "addresses")
    return next((str(found.get("address")) for found in addresses if found.get("type") == kind), NONE)


def _internal_ip(node: Document, _: float) -> str:
    return _address(node, "InternalIP")


def _external_ip(node: Document, _: float) -> str:
    return _address(node, "ExternalIP")


def _kernel(node: Document, _: float) -> str:
    info = part(node, "status", "nodeInfo")
    kernel, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


# -- services and networks -------------------------------------------------------------------------


def _cluster_address(service: Document, _: float) -> str:
    addresses = elements(service, "spec", "clusterIPs") or [part(service, "spec").get("clusterIP")]
    return addresses[0] or NONE


def _external_addresses(service: Document, _: float) -> str:
    spec = part(service, "spec")
    given = ",".join(map(str, spec.get("externalIPs") or ()))
    kind = spec.get("type")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        both = [text for text in (_load_balancer(service, 0), given) if text]
        return ",".join(both) or "<pending>"
    return (given or NONE) if kind in ("ClusterIP", "NodePort") else UNKNOWN


def _load_balancer(document: Document, _: float) -> str:
    ingress = elements(document, "status", "loadBalancer", "ingress")
    found = {str(entry.get("ip") or entry.get("hostname") or "") for entry in ingress}
    return ",".join(sorted(found - {""}))


def _service_ports(service: Document, _: float) -> str:
    return ",".join(map(_service_port, elements(service, "spec", "ports"))) or NONE


def _service_port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _ingress_ports(ingress: Document, _: float) -> str:
    return "80, 443" if elements(ingress, "spec", "tls") else "80"


def _hosts(ingress: Document, _: float) -> str:
    rules = elements(ingress, "spec", "rules")
    return with_more([str(rule["host"]) for rule in rules if rule.get("host")]) or "*"


def _endpoints(document: Document, _: float) -> str:
    texts: list[str] = []
    for subset in elements(document, "subsets"):
        addresses = [str(address.get("ip")) for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        texts += [f"{address}:{port.get('port')}" for port in ports for address in addresses] if ports else addresses
    return with_more(texts) or NONE


def _slice_ports(document: Document, _: float) -> str:
    return (
        with_more([str(port.get("port") or port.get("name") or "*") for port in elements(document, "ports")]) or UNSET
    )


def _slice_addresses(document: Document, _: float) -> str:
    endpoints = elements(document, "endpoints")
    return with_more([str(a) for endpoint in endpoints for a in endpoint.get("addresses") or ()]) or UNSET


# -- storage ---------------------------------------------------------------------------------------


def _phase(document: Document, _: float) -> str:
    is_terminating = part(document, "metadata").get("deletionTimestamp")
    return "Terminating" if is_terminating else str(part(document, "status").get("phase", ""))


def _claim_of_volume(volume: Document, _: float) -> str:
    claim = part(volume, "spec", "claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _claim_capacity(claim: Document, _: float) -> str:
    is_bound = bool(part(claim, "spec").get("volumeName"))
    return str(part(claim, "status", "capacity").get("storage", "0")) if is_bound else ""


def _claim_modes(claim: Document, _: float) -> str:
    is_bound = bool(part(claim, "spec").get("volumeName"))
    return access_modes_text(part(claim, "status").get("accessModes")) if is_bound else ""


def _class_name(document: Document, now: float) -> str:
    annotations = part(document, "metadata", "annotations")
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    name = str(name_cell(document, now))
    return f"{name} (default)" if is_default else name


# -- configuration and the rest --------------------------------------------------------------------


def _data_keys(document: Document, _: float) -> int:
    return len(part(document, "data")) + len(part(document, "binaryData"))


def _quota_usage(document: Document, *, is_limit: bool) -> str:
    hard, used = part(document, "status", "hard"), part(document, "status", "used")
    names = [name for name in sorted(hard) if name.startswith("limits.") is is_limit]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def _request_usage(quota: Document, _: float) -> str:
    return _quota_usage(quota, is_limit=False)


def _limit_usage(quota: Document, _: float) -> str:
    return _quota_usage(quota, is_limit=True)


def _claim_state(document: Document, _: float) -> str:
    is_deleted = bool(part(document, "metadata").get("deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if "allocation" in part(document, "status"):
        states += ["allocated", *(["reserved"] if elements(document, "status", "reservedFor") else [])]
    elif not is_deleted:
        states.append("pending")
    return ",".join(states)


# -- events ----------------------------------------------------------------------------------------


EVENT_COLUMNS: Final = "Last Seen|Type|Reason|Object|Subobject!|Source!|Message|First Seen!|Count!|Name!"


def event_cells(involved: str, message: str, prefix: str = "") -> Cells:
    """Return the function of an Event's cells; two groups serve events with different field
    names."""

    def cells(document: Document, now: float) -> Sequence[Any]:
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
            name_cell(document, now),
        ]

    return cells


def _camel(prefix: str, name: str) -> str:
    return f"{prefix}{name[0].upper()}{name[1:]}" if prefix else name


def _event_source(document: Document, source: Mapping[str, Any]) -> str:
    component = source.get("component") or document.get("reportingComponent") or document.get("reportingController")
    instance = source.get("host") or document.get("reportingInstance")
    return ", ".join(str(text) for text in (component, instance) if text)
