# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds in networking.k8s.io (`networking/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    IMMUTABLE,
    cidr,
    dns1123_subdomain,
    each,
    immutable,
    one_of,
    parse_cidr,
    parse_ip,
    port_name,
    port_number,
    required,
    wildcard_dns1123_subdomain,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.rule_table import Rules

_GROUP: Final = "networking.k8s.io"
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_PATH_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_PATH_SUFFIXES: Final = ("/..", "/.")


# -- network policies ------------------------------------------------------------------------------


def _policy_types(path: str, types: list[Any]) -> Iterator[FieldError]:
    if len(types) > 2:
        yield FieldError.invalid(path, types, "may not specify more than two policyTypes")
        return
    yield from each(one_of("Ingress", "Egress"))(path, types)


def _last_port(path: str, port: Mapping[str, Any]) -> Iterator[FieldError]:
    number, last = port.get("port"), port.get("endPort")
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


def _class_annotation(_: str, document: Document) -> Iterator[FieldError]:
    name = part(document, "spec").get("ingressClassName")
    annotation = part(document, "metadata", "annotations").get(_CLASS_ANNOTATION)
    if None not in (annotation, name) and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        yield FieldError.invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, detail)


def _ingress_update(document: Document, _: Document) -> Iterator[FieldError]:
    yield from _rules("ingress_spec", "spec", part(document, "spec"))


def _host(path: str, value: Any) -> Iterator[FieldError]:
    yield from with_format(wildcard_dns1123_subdomain if "*" in str(value) else dns1123_subdomain)(path, value)


def _no_backend(path: str, spec: Document) -> Iterator[FieldError]:
    yield FieldError.invalid(path, spec.get("rules"), "either `defaultBackend` or `rules` must be specified")


def _no_address(path: str, host: str) -> Iterator[FieldError]:
    if host and parse_ip(host) is not None:
        yield FieldError.invalid(path, host, "must be a DNS name, not an IP address")


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
    yield from _rules("ingress_backend", f"{where}.backend", part(entry, "backend"))


def _ingress_class_update(document: Document, old: Document) -> Iterator[FieldError]:
    new, before = part(document, "spec").get("controller"), part(old, "spec").get("controller")
    yield from immutable("spec.controller", new, before)
    yield from _rules("IngressClass", "", document)


# -- addresses -------------------------------------------------------------------------------------


def _service_cidr(document: Document) -> Iterator[FieldError]:
    yield from _rules("ServiceCIDR", "", document)
    networks = elements(document, "spec", "cidrs")
    if len(networks) > 2:
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


_rules: Final = Rules(globals())
RULES: Final = {
    (_GROUP, "IPAddress"): _rules.kind("IPAddress"),
    (_GROUP, "Ingress"): _rules.kind("Ingress", validate_update=_ingress_update, has_own_update=True),
    (_GROUP, "IngressClass"): _rules.kind("IngressClass", validate_update=_ingress_class_update, has_own_update=True),
    (_GROUP, "NetworkPolicy"): _rules.kind("NetworkPolicy"),
    (_GROUP, "ServiceCIDR"): KindRules(_service_cidr, _service_cidr_update, has_own_update=True),
}
