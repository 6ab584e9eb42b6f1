# SPDX-License-Identifier: Apache-2.0
"""Service fields that are normalized before validation, and checks of the cluster's IP families.

Mirrors `normalizeClusterIPs`, `patchAllocatedValues` and `dropTypeDependentFields` of upstream's
service registry. Addresses and ports are allocated afterwards (`service_addresses`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.field_errors import FieldError

_EXTERNAL_NAME: Final = "ExternalName"
_BALANCED: Final = "LoadBalancer"
_OF_ADDRESSES: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def with_normal_addresses(document: Document, old: Document | None) -> Document:
    """Return the Service with consistent `clusterIP(s)` and without fields of its former type."""
    spec = dict(part(document, "spec"))
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return {**document, "spec": spec}
    before = part(old, "spec")
    _keep_allocated(spec, before)
    _agree(spec, before)
    _drop_dependent(spec, before)
    return {**document, "spec": {name: value for name, value in spec.items() if value is not None}}


def _keep_allocated(spec: Document, before: Mapping[str, Any]) -> None:
    if _EXTERNAL_NAME in (spec.get("type"), before.get("type")):
        return
    for name in ("clusterIP", "clusterIPs"):
        spec[name] = spec.get(name) or before.get(name)
    if _needs_health_check(spec) and _needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")


def _agree(spec: Document, before: Mapping[str, Any]) -> None:
    """Set `clusterIPs` if a client has changed `clusterIP` only."""
    if spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]] if spec.get("clusterIP") else None


def _drop_dependent(spec: Document, before: Mapping[str, Any]) -> None:
    """Drop fields that the new type does not have, unless the client has changed them."""
    names: list[str] = []
    if spec.get("type") == _EXTERNAL_NAME != before.get("type"):
        names += (*_OF_ADDRESSES, "internalTrafficPolicy")
    if _needs_health_check(before) and not _needs_health_check(spec):
        names.append("healthCheckNodePort")
    if before.get("type") == _BALANCED != spec.get("type"):
        names += ("allocateLoadBalancerNodePorts", "loadBalancerClass")
    if _is_external(before) and not _is_external(spec):
        names.append("externalTrafficPolicy")
    for name in names:
        if spec.get(name) == before.get(name):
            spec[name] = None
    if _has_node_ports(before) and not _has_node_ports(spec) and _node_ports(spec) == _node_ports(before):
        ports = elements(spec, "ports")
        spec["ports"] = [{name: value for name, value in port.items() if name != "nodePort"} for port in ports]


def _needs_health_check(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == _BALANCED and spec.get("externalTrafficPolicy") == "Local"


def _is_external(spec: Mapping[str, Any]) -> bool:
    return _has_node_ports(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _has_node_ports(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") in ("NodePort", _BALANCED)


def _node_ports(spec: Mapping[str, Any]) -> list[Any]:
    return [port.get("nodePort") for port in elements(spec, "ports")]


def unavailable_families(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield the errors of a Service that requires IPv6; the cluster is IPv4-only."""
    policy, addresses = spec.get("ipFamilyPolicy") or "SingleStack", elements(spec, "clusterIPs")
    if spec.get("type") == _EXTERNAL_NAME or (addresses[:1] == ["None"] and not spec.get("selector")):
        return
    if policy == "SingleStack":
        for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(elements(spec, name)) == 2:
                detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                yield FieldError.invalid("spec.ipFamilyPolicy", policy, detail)
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        yield FieldError.invalid("spec.ipFamilyPolicy", policy, detail)
    for index, family in enumerate(elements(spec, "ipFamilies")):
        if family == "IPv6":
            yield FieldError.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
