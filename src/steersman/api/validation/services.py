# SPDX-License-Identifier: Apache-2.0
"""Rules of Services, Endpoints and EndpointSlices (`core/validation`, `discovery/validation`)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, is_same, part
from steersman.api.validation.checks import (
    canonical_ip,
    cidr,
    dns1123_subdomain,
    each,
    ip,
    label_value,
    name_label,
    name_subdomain,
    one_of,
    optional,
    parse_ip,
    port_number,
    required,
    unique,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.rule_table import Rules

_FAMILIES: Final = ("IPv4", "IPv6")
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"
_NOT_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_CHANGED: Final = "may not change once set"
_MAX_AFFINITY: Final = 86_400


def is_headless(spec: Mapping[str, Any]) -> bool:
    """Return whether the Service is headless (`clusterIP: None`)."""
    return spec.get("clusterIPs") == ["None"]


def _is_external(spec: Mapping[str, Any]) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _service(document: Document) -> Iterator[FieldError]:
    """Yield the errors of cluster IPs, found on allocation upstream, or else of other fields."""
    yield from list(_cluster_ips(part(document, "spec"))) or _service_fields(document)


def _service_fields(document: Document) -> Iterator[FieldError]:
    spec, annotations = part(document, "spec"), part(document, "metadata", "annotations")
    hints, mode = annotations.get(_TOPOLOGY_HINTS), annotations.get(_TOPOLOGY_MODE)
    if hints is not None and mode is not None and hints != mode:
        detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        yield FieldError.invalid(f"metadata.annotations[{_TOPOLOGY_MODE}]", mode, detail)
    yield from _by_type(spec)
    yield from _ports(elements(spec, "ports"))
    yield from _rules("service_selection", "spec", spec)
    yield from _session_affinity("spec.sessionAffinityConfig", spec)
    for index, address in enumerate(elements(spec, "externalIPs")):
        path = f"spec.externalIPs[{index}]"
        yield from list(ip(path, address)) or endpoint_ip(path, address)
    yield from _rules("service_type", "spec", spec)
    yield from _repeated_ports(spec)
    yield from _load_balancer(spec, annotations)
    yield from _traffic(spec)


def _by_type(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    kind = spec.get("type")
    if not spec.get("ports") and not is_headless(spec) and kind != "ExternalName":
        yield FieldError.required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        yield FieldError.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        yield from _rules("external_name_service", "spec", spec)
        host = str(spec.get("externalName") or "").removesuffix(".")
        yield from required(name_subdomain)("spec.externalName", host)


def _ports(ports: list[Any]) -> Iterator[FieldError]:
    names: set[Any] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name")
        if name:
            yield from name_label(f"{path}.name", name)
            if name in names:
                yield FieldError.duplicate(f"{path}.name", name)
            names.add(name)
        elif len(ports) > 1:
            yield FieldError.required(f"{path}.name")
        yield from _rules("service_port", path, port)


def _session_affinity(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    config = spec.get("sessionAffinityConfig")
    if spec.get("sessionAffinity") == "None" and config is not None:
        yield FieldError.forbidden(path, "must not be set when session affinity is None")
    if spec.get("sessionAffinity") != "ClientIP":
        return
    for name in ("", ".clientIP", ".clientIP.timeoutSeconds"):
        value = (
            part(spec, "sessionAffinityConfig", *name.split(".")[1:-1]).get(name.rpartition(".")[2]) if name else config
        )
        if value is None:
            yield FieldError.required(f"{path}{name}", "when session affinity type is ClientIP")
            return
    seconds = part(spec, "sessionAffinityConfig", "clientIP")["timeoutSeconds"]
    if not 0 < seconds <= _MAX_AFFINITY:
        detail = f"must be greater than 0 and less than {_MAX_AFFINITY}"
        yield FieldError.invalid(f"{path}.clientIP.timeoutSeconds", seconds, detail)


def _cluster_ips(spec: Mapping[str, Any], stored: Container[Any] = ()) -> Iterator[FieldError]:
    """Yield the errors of cluster IPs and IP families; `stored` addresses are valid."""
    if spec.get("type") == "ExternalName":
        return
    address, addresses, path = spec.get("clusterIP"), elements(spec, "clusterIPs"), "spec.clusterIPs"
    families = elements(spec, "ipFamilies")
    if address and not addresses:
        yield FieldError.required(path)
    elif address and addresses[0] != address:
        yield FieldError.invalid(path, addresses, "first value must match `clusterIP`")
    elif addresses and not address:
        yield FieldError.invalid(path, addresses, "must be empty when `clusterIP` is not specified")
    seen: set[Any] = set()
    for index, family in enumerate(families):
        yield from one_of(*_FAMILIES)(f"spec.ipFamilies[{index}]", family)
        if family in seen:
            yield FieldError.duplicate(f"spec.ipFamilies[{index}]", family)
        seen.add(family)
    yield from _rules("family_policy", "spec", spec)
    errors = list(_addresses(path, addresses, stored))
    yield from errors
    if len(addresses) > 2:
        yield FieldError.invalid(path, addresses, "may only hold up to 2 values")
    if not errors and not is_headless(spec):
        yield from _families(path, addresses, families)


def _addresses(path: str, addresses: list[Any], stored: Container[Any]) -> Iterator[FieldError]:
    for index, address in enumerate(addresses):
        if not index and address == "None":
            if len(addresses) > 1:
                yield FieldError.invalid(path, addresses, "'None' must be the first and only value")
        elif address not in stored:
            yield from ip(f"{path}[{index}]", address)


def _families(path: str, addresses: list[Any], families: list[Any]) -> Iterator[FieldError]:
    found = [f"IPv{address.version}" for text in addresses if (address := parse_ip(str(text))) is not None]
    if len(addresses) > 1 and len(set(found)) < 2:
        yield FieldError.invalid(path, addresses, "may specify no more than one IP for each IP family")
    for index, (family, wanted) in enumerate(zip(found, families, strict=False)):
        if wanted in _FAMILIES and family != wanted:
            detail = f"expected an {wanted} value as indicated by `ipFamilies[{index}]`"
            yield FieldError.invalid(f"{path}[{index}]", addresses[index], detail)


def _repeated_ports(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    ports = elements(spec, "ports")
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield FieldError.forbidden(
                    f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'"
                )
    seen: set[Any] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("nodePort"))
        if port.get("nodePort") and key in seen:
            yield FieldError.duplicate(f"spec.ports[{index}].nodePort", port["nodePort"])
        seen.add(key)
    seen.clear()
    for index, port in enumerate(ports):
        protocol, number = port.get("protocol"), port.get("port")
        if (protocol, number) in seen:
            shown = {
                "Name": "",
                "Protocol": protocol,
                "AppProtocol": None,
                "Port": number,
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield FieldError.duplicate(f"spec.ports[{index}]", shown)
        seen.add((protocol, number))


def _load_balancer(spec: Mapping[str, Any], annotations: Mapping[str, Any]) -> Iterator[FieldError]:
    is_balanced, ranges = spec.get("type") == "LoadBalancer", elements(spec, "loadBalancerSourceRanges")
    path, annotation = "spec.LoadBalancerSourceRanges", f"metadata.annotations[{_SOURCE_RANGES}]"
    if ranges:
        if not is_balanced:
            yield FieldError.forbidden(path, _NOT_BALANCED)
        yield from each(cidr)(path, [str(value).strip() for value in ranges])
    elif _SOURCE_RANGES in annotations:
        if not is_balanced:
            yield FieldError.forbidden(annotation, _NOT_BALANCED)
        text = str(annotations[_SOURCE_RANGES]).strip()
        for value in text.split(",") if text else ():
            yield from cidr(annotation, value.strip())
    yield from _rules("load_balancer", "spec", spec)


def _needs_health_check(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _traffic(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    policy, check_port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort")
    if _is_external(spec):
        yield from _rules("external_service", "spec", spec)
    elif policy:
        detail = "may only be set for externally-accessible services"
        yield FieldError.invalid("spec.externalTrafficPolicy", policy, detail)
    if check_port and not _needs_health_check(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield FieldError.invalid("spec.healthCheckNodePort", check_port, detail)
    elif check_port:
        yield from port_number("spec.healthCheckNodePort", check_port)
    yield from _rules("service_traffic", "spec", spec)


def _service_update(document: Document, old: Document) -> Iterator[FieldError]:
    errors = list(_cluster_ips(part(document, "spec"), elements(old, "spec", "clusterIPs")))
    yield from errors or _changed_service(part(document, "spec"), part(old, "spec"))
    yield from () if errors else _service_fields(document)


def _changed_service(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[FieldError]:
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        yield from _changed_addresses(spec, before)
        yield from _changed_families(spec, before)
    name, port = (spec.get(field) for field in ("loadBalancerClass", "healthCheckNodePort"))
    is_balanced = spec.get("type") == before.get("type") == "LoadBalancer"
    if is_balanced and name != before.get("loadBalancerClass"):
        yield FieldError.invalid("spec.loadBalancerClass", name, _CHANGED)
    yield from _rules("load_balancer_class", "spec", spec)
    is_checked = _needs_health_check(spec) and _needs_health_check(before)
    if is_checked and port != before.get("healthCheckNodePort"):
        yield FieldError.forbidden("spec.healthCheckNodePort", "field is immutable")


def _changed_addresses(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[FieldError]:
    new, old = elements(spec, "clusterIPs"), elements(before, "clusterIPs")
    if is_headless(spec) and is_headless(before):
        return
    if len(new) == len(old):
        for index, (address, former) in enumerate(zip(new, old, strict=True)):
            if address != former:
                yield FieldError.invalid(f"spec.clusterIPs[{index}]", new, _CHANGED)
        return
    if old and not new:
        yield FieldError.invalid("spec.clusterIPs[0]", new or None, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        yield FieldError.invalid("spec.clusterIPs[0]", new, _CHANGED)
    if len(new) == 1 and len(old) > 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield FieldError.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail)


def _changed_families(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[FieldError]:
    new, old = elements(spec, "ipFamilies"), elements(before, "ipFamilies")
    if is_headless(spec) or is_headless(before):
        return
    if len(new) == len(old):
        for family, former in zip(new, old, strict=True):
            if family != former:
                yield FieldError.invalid("spec.ipFamilies[0]", new, _CHANGED)
    elif new and old and new[0] != old[0]:
        yield FieldError.invalid("spec.ipFamilies[0]", elements(spec, "clusterIPs"), _CHANGED)
    if len(new) == 1 and len(old) > 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield FieldError.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), detail)


# -- endpoints -------------------------------------------------------------------------------------


def endpoint_ip(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of the IP address of an endpoint."""
    address = parse_ip(str(value))
    if address is None:
        yield FieldError.invalid(path, value, "must be a valid IP address")
        return
    is_local_multicast = address.is_multicast and str(address).startswith(("224.0.0.", "ff02:"))
    for holds, detail in (
        (address.is_unspecified, f"may not be unspecified ({value})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (is_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ):
        if holds:
            yield FieldError.invalid(path, value, detail)


def _endpoint_ports(path: str, ports: list[Any]) -> Iterator[FieldError]:
    for position, port in enumerate(ports):
        where = f"{path}[{position}]"
        if port.get("name") or len(ports) > 1:
            yield from required(name_label)(f"{where}.name", port.get("name"))
        yield from _rules("endpoint_port", where, port)


def _endpoints_update(document: Document, old: Document) -> Iterator[FieldError]:
    if not is_same(document.get("subsets"), old.get("subsets")):
        yield from _rules("Endpoints", "", document)


def _endpoint_slice(_: str, document: Document) -> Iterator[FieldError]:
    ports = elements(document, "ports")
    names: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name") or ""
        yield from optional(name_label)(f"ports[{index}].name", name)
        if name in names:
            yield FieldError.duplicate(f"ports[{index}].name", name)
        names.add(name)
        yield from _rules("endpoint_slice_port", f"ports[{index}]", port)
    if len(elements(document, "endpoints")) > 1000:
        yield FieldError.too_many("endpoints", len(document["endpoints"]), 1000)
        return
    for index, endpoint in enumerate(elements(document, "endpoints")):
        yield from _endpoint(f"endpoints[{index}]", endpoint, str(document.get("addressType")))


def _endpoint(path: str, endpoint: Mapping[str, Any], kind: str) -> Iterator[FieldError]:
    yield from _rules("endpoint_addresses", path, endpoint)
    for index, address in enumerate(elements(endpoint, "addresses")):
        yield from _slice_address(f"{path}.addresses", index, address, kind)
    yield from _rules("endpoint", path, endpoint)
    for field, check in (("forZones", with_format(label_value)), ("forNodes", name_subdomain)):
        yield from _hints(f"{path}.hints.{field}", elements(endpoint, "hints", field), check)


def _hints(path: str, hints: list[Any], check: Any) -> Iterator[FieldError]:
    if len(hints) > 8:
        yield FieldError.too_many(path, len(hints), 8)
        return
    yield from unique(path, hints, "name")
    for index, hint in enumerate(hints):
        yield from check(f"{path}[{index}].name", hint.get("name") or "")


def _slice_address(path: str, index: int, address: str, kind: str) -> Iterator[FieldError]:
    where = f"{path}[{index}]"
    if kind == "FQDN":
        yield from _fqdn(where, address)
    elif kind in _FAMILIES:
        errors = list((ip if kind == "IPv4" else canonical_ip)(where, address))
        yield from errors
        found = parse_ip(address)
        if errors or found is None:
            return
        if f"IPv{found.version}" != kind:
            yield FieldError.invalid(path, address, f"must be an {kind} address")
        yield from endpoint_ip(where, address)


def _fqdn(path: str, value: str) -> Iterator[FieldError]:
    host = value.removesuffix(".")
    if not host:
        yield FieldError.required(path)
    elif complaints := dns1123_subdomain(host):
        yield FieldError.invalid(path, host, ",".join(complaints))
    elif "." not in host:
        yield FieldError.invalid(path, host, "should be a domain with at least two segments separated by dots")


_rules: Final = Rules(globals())
RULES: Final = {
    ("", "Endpoints"): _rules.kind("Endpoints", validate_update=_endpoints_update, has_own_update=True),
    ("", "Service"): KindRules(_service, _service_update, has_own_update=True),
    ("discovery.k8s.io", "EndpointSlice"): _rules.kind("EndpointSlice"),
}
