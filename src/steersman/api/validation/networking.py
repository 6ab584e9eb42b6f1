# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds in networking.k8s.io (`networking/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    IMMUTABLE,
    Fields,
    at_most_bytes,
    canonical_ip,
    check_fields,
    cidr,
    dns1123_subdomain,
    domain_prefixed_path,
    each,
    immutable,
    label_selector,
    name_label,
    name_subdomain,
    one_of,
    optional,
    parse_cidr,
    parse_ip,
    path_segment_name,
    port_name,
    port_number,
    port_number_or_name,
    required,
    wildcard_dns1123_subdomain,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules

_GROUP: Final = "networking.k8s.io"
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_PATH_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_PATH_SUFFIXES: Final = ("/..", "/.")
_SEGMENT: Final = with_format(path_segment_name)
_REFERENCE: Final[Fields] = {"apiGroup": name_subdomain, "kind": required(_SEGMENT), "name": required(_SEGMENT)}
_PARENT: Final[Fields] = {
    "group": optional(name_subdomain),
    "resource": required(_SEGMENT),
    "name": required(_SEGMENT),
    "namespace": optional(_SEGMENT),
}


# -- network policies ------------------------------------------------------------------------------


def _network_policy(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from label_selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(elements(spec, direction)):
            path = f"spec.{direction}[{index}]"
            yield from each(_policy_port)(f"{path}.ports", rule.get("ports"))
            yield from each(_peer)(f"{path}.{peers}", rule.get(peers))
    types = elements(spec, "policyTypes")
    if len(types) > 2:
        yield FieldError.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    yield from each(one_of("Ingress", "Egress"))("spec.policyTypes", types)


def _policy_port(path: str, port: Mapping[str, Any]) -> Iterator[FieldError]:
    number, last = port.get("port"), port.get("endPort")
    if port.get("protocol") is not None:
        yield from one_of("TCP", "UDP", "SCTP")(f"{path}.protocol", port["protocol"])
    if number is None or isinstance(number, str):
        if last is not None:
            why = "not specified" if number is None else "non-numeric"
            yield FieldError.invalid(f"{path}.endPort", last, f"may not be specified when `port` is {why}")
        yield from () if number is None else with_format(port_name)(f"{path}.port", number)
        return
    yield from port_number(f"{path}.port", number)
    if last is not None:
        if last < number:
            yield FieldError.invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
        yield from port_number(f"{path}.endPort", last)


def _peer(path: str, peer: Mapping[str, Any]) -> Iterator[FieldError]:
    for name in ("podSelector", "namespaceSelector"):
        yield from label_selector(f"{path}.{name}", peer.get(name))
    block = peer.get("ipBlock")
    if block is not None:
        yield from _ip_block(f"{path}.ipBlock", block)
    present = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    if not present:
        yield FieldError.required(path, "must specify a peer")
    elif len(present) > 1 and block is not None:
        yield FieldError.forbidden(path, "may not specify both ipBlock and another peer")


def _ip_block(path: str, block: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from required(cidr)(f"{path}.cidr", block.get("cidr"))
    network = parse_cidr(str(block.get("cidr") or ""))
    if network is None:
        return
    for index, value in enumerate(elements(block, "except")):
        yield from cidr(f"{path}.except[{index}]", value)
        inner = parse_cidr(str(value))
        if inner is None:
            continue
        is_inside = inner.version == network.version and inner.network_address in network
        if not is_inside or inner.prefixlen <= network.prefixlen:
            yield FieldError.invalid(f"{path}.except[{index}]", value, "must be a strict subset of `cidr`")


# -- ingresses -------------------------------------------------------------------------------------


def _ingress(document: Document) -> Iterator[FieldError]:
    yield from _ingress_spec(document)
    name = part(document, "spec").get("ingressClassName")
    annotation = part(document, "metadata", "annotations").get(_CLASS_ANNOTATION)
    if None not in (annotation, name) and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        yield FieldError.invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, detail)


def _ingress_spec(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        yield FieldError.invalid("spec", spec.get("rules"), detail)
    if spec.get("defaultBackend") is not None:
        yield from _backend("spec.defaultBackend", spec["defaultBackend"])
    for index, rule in enumerate(elements(spec, "rules")):
        yield from _ingress_rule(f"spec.rules[{index}]", rule)
    for index, tls in enumerate(elements(spec, "tls")):
        yield from each(_host)(f"spec.tls[{index}].hosts", tls.get("hosts"))
        yield from optional(name_subdomain)(f"spec.tls[{index}].secretName", tls.get("secretName"))
    if spec.get("ingressClassName") is not None:
        yield from name_subdomain("spec.ingressClassName", spec["ingressClassName"])


def _host(path: str, value: Any) -> Iterator[FieldError]:
    yield from with_format(wildcard_dns1123_subdomain if "*" in str(value) else dns1123_subdomain)(path, value)


def _ingress_rule(path: str, rule: Mapping[str, Any]) -> Iterator[FieldError]:
    host, http = rule.get("host") or "", rule.get("http")
    if host and parse_ip(host) is not None:
        yield FieldError.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
    yield from optional(_host)(f"{path}.host", host)
    if http is None:
        return
    yield from required()(f"{path}.http.paths", http.get("paths"))
    yield from each(_ingress_path)(f"{path}.http.paths", http.get("paths"))


def _ingress_path(where: str, entry: Mapping[str, Any]) -> Iterator[FieldError]:
    kind, path, field = entry.get("pathType"), entry.get("path") or "", f"{where}.path"
    if kind is None:
        yield FieldError.required(f"{where}.pathType", "pathType must be specified")
        return
    if kind in ("Exact", "Prefix"):
        if not path.startswith("/"):
            yield FieldError.invalid(field, path, "must be an absolute path")
        for text in _PATH_SEQUENCES:
            if text in path:
                yield FieldError.invalid(field, path, f"must not contain '{text}'")
        for text in _PATH_SUFFIXES:
            if path.endswith(text):
                yield FieldError.invalid(field, path, f"cannot end with '{text}'")
    elif kind != "ImplementationSpecific":
        choices = ("Exact", "ImplementationSpecific", "Prefix")
        yield FieldError.not_supported(f"{where}.pathType", kind, choices)
    elif path and not path.startswith("/"):
        yield FieldError.invalid(field, path, "must be an absolute path")
    yield from _backend(f"{where}.backend", part(entry, "backend"))


def _backend(path: str, backend: Mapping[str, Any]) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield FieldError.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from check_fields(resource, _REFERENCE, f"{path}.resource")
    elif service is not None:
        yield from required(name_label)(f"{path}.service.name", service.get("name"))
        yield from _backend_port(path, part(service, "port"))
    else:
        yield FieldError.invalid(path, "", "resource or service backend is required")


def _backend_port(path: str, port: Mapping[str, Any]) -> Iterator[FieldError]:
    name, number = port.get("name"), port.get("number")
    if name and number:
        yield FieldError.invalid(path, "", "cannot set both port name & port number")
    elif name:
        yield from port_number_or_name(f"{path}.service.port.name", name)
    elif number:
        yield from port_number(f"{path}.service.port.number", number)
    else:
        yield FieldError.required(path, "port name or number is required")


def _ingress_class(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    controller, parameters = spec.get("controller") or "", spec.get("parameters")
    yield from at_most_bytes(250)("spec.controller", controller)
    yield from required(domain_prefixed_path)("spec.controller", controller)
    if parameters is not None:
        yield from _class_parameters("spec.parameters", parameters)


def _class_parameters(path: str, parameters: Mapping[str, Any]) -> Iterator[FieldError]:
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    yield from check_fields(parameters, _REFERENCE, path)
    yield from required(one_of("Cluster", "Namespace"))(f"{path}.scope", scope)
    if scope == "Namespace" and namespace is None:
        yield FieldError.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace":
        yield from name_label(f"{path}.namespace", namespace)
    elif scope == "Cluster" and namespace is not None:
        yield FieldError.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def _ingress_class_update(document: Document, old: Document) -> Iterator[FieldError]:
    new, before = part(document, "spec").get("controller"), part(old, "spec").get("controller")
    yield from immutable("spec.controller", new, before)
    yield from _ingress_class(document)


# -- addresses -------------------------------------------------------------------------------------


def _ip_address(document: Document) -> Iterator[FieldError]:
    yield from canonical_ip("metadata.name", document["metadata"].get("name") or "")
    parent = part(document, "spec").get("parentRef")
    yield from required()("spec.parentRef", parent)
    yield from check_fields(parent or {}, _PARENT, "spec.parentRef") if parent else ()


def _ip_address_update(document: Document, old: Document) -> Iterator[FieldError]:
    parent, before = part(document, "spec").get("parentRef"), part(old, "spec").get("parentRef")
    yield from immutable("spec.parentRef", parent, before)


def _service_cidr(document: Document) -> Iterator[FieldError]:
    networks = elements(document, "spec", "cidrs")
    if not networks:
        yield FieldError.required("spec.cidrs", "at least one CIDR required")
    elif len(networks) > 2:
        yield FieldError.invalid("spec.cidrs", {"CIDRs": networks}, "may only hold up to 2 values")
    else:
        yield from each(cidr)("spec.cidrs", networks)
        families = [found.version for value in networks if (found := parse_cidr(value)) is not None]
        if len(families) == 2 and families[0] == families[1]:
            detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            yield FieldError.invalid("spec.cidrs", networks, detail)


def _service_cidr_update(document: Document, old: Document) -> Iterator[FieldError]:
    new, before = elements(document, "spec", "cidrs"), elements(old, "spec", "cidrs")
    if not before or len(new) not in (len(before), 2) or len(new) < len(before):
        yield FieldError.invalid("spec.cidrs", new, IMMUTABLE)
        return
    for index, (value, former) in enumerate(zip(new, before, strict=False)):
        if value != former:
            yield FieldError.invalid(f"spec.cidrs[{index}]", value, IMMUTABLE)
    if len(new) > len(before):
        yield from _service_cidr(document)


RULES: Final = {
    (_GROUP, "IPAddress"): KindRules(_ip_address, _ip_address_update),
    (_GROUP, "Ingress"): KindRules(_ingress, lambda document, old: _ingress_spec(document), has_own_update=True),
    (_GROUP, "IngressClass"): KindRules(_ingress_class, _ingress_class_update, has_own_update=True),
    (_GROUP, "NetworkPolicy"): KindRules(_network_policy),
    (_GROUP, "ServiceCIDR"): KindRules(_service_cidr, _service_cidr_update, has_own_update=True),
}
