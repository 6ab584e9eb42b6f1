# SPDX-License-Identifier: Apache-2.0
"""Rules of resource.k8s.io (`resource/validation`). `cel.selector_errors` checks expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Final

import msgspec

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    IMMUTABLE,
    Check,
    at_most_bytes,
    c_identifier,
    label_key,
    name_label,
    name_subdomain,
    positive,
    with_format,
)
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.metadata import template_metadata
from steersman.api.validation.node_selectors import node_selector
from steersman.api.validation.resources import amount, is_extended, shown_amount
from steersman.api.validation.rule_table import Rules
from steersman.api.validation.semantic_equality import is_equal
from steersman.api.validation.volumes import csi_driver_name

_GROUP: Final = "resource.k8s.io"
_MAX_REQUESTS: Final = 32
_MAX_SUB_REQUESTS: Final = 8
_MAX_DEVICES: Final = 128
_MAX_ADVANCED_DEVICES: Final = 64
_MAX_VALUES: Final = 32
_MAX_ID_BYTES: Final = 32
_MAX_VALUE_BYTES: Final = 64
_MAX_PARAMETER_BYTES: Final = 10 * 1024
_IDENTIFIER: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_NUMBER: Final = r"(0|[1-9]\d*)"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_IDENTIFIER}(\.{_IDENTIFIER})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def _listed(
    path: str, values: list[Any], most: int, check: Check, key: Callable[[Any], Any] | None
) -> Iterator[FieldError]:
    """Yield the errors of a list's length, its elements and duplicate keys (`validateSet`)."""
    if len(values) > most:
        yield FieldError.too_many(path, len(values), most)
        return
    seen: set[Any] = set()
    for index, value in enumerate(values):
        yield from check(f"{path}[{index}]", value)
    for index, value in enumerate(values if key else ()):
        identity = key(value) if key else None
        if identity in seen:
            yield FieldError.duplicate(f"{path}[{index}]", identity)
        seen.add(identity)


def _name(value: Any) -> Any:
    return value.get("name") or ""


# -- claims ----------------------------------------------------------------------------------------


def _claim(document: Document) -> Iterator[FieldError]:
    yield from _device_claim("spec.devices", part(document, "spec", "devices"))


def _claim_template(document: Document) -> Iterator[FieldError]:
    yield from template_metadata("spec.metadata", part(document, "spec", "metadata"))
    yield from _device_claim("spec.spec.devices", part(document, "spec", "spec", "devices"))


def _device_claim(path: str, claim: Mapping[str, Any]) -> Iterator[FieldError]:
    requests = elements(claim, "requests")
    known = {_name(request) for request in requests}
    known |= {f"{_name(one)}/{_name(sub)}" for one in requests for sub in elements(one, "firstAvailable")}
    yield from _listed(f"{path}.requests", requests, _MAX_REQUESTS, _request, _name)

    def reference(where: str, name: str) -> Iterator[FieldError]:
        if name.count("/") > 1:
            yield FieldError.invalid(where, name, _UNKNOWN_REQUEST)
            return
        for segment in name.split("/"):
            yield from name_label(where, segment)
        if name not in known:
            yield FieldError.invalid(where, name, _UNKNOWN_REQUEST)

    def constraint(where: str, value: Mapping[str, Any]) -> Iterator[FieldError]:
        yield from _listed(f"{where}.requests", elements(value, "requests"), _MAX_REQUESTS, reference, str)
        names = [name for name in ("matchAttribute", "distinctAttribute") if value.get(name) is not None]
        yield from _full_name(f"{where}.{names[0]}", value[names[0]]) if names else ()
        if not names:
            detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
            yield FieldError.required(where, detail)

    def configuration(where: str, value: Mapping[str, Any]) -> Iterator[FieldError]:
        yield from _listed(f"{where}.requests", elements(value, "requests"), _MAX_REQUESTS, reference, str)
        yield from _opaque(where, value)

    yield from _listed(f"{path}.constraints", elements(claim, "constraints"), _MAX_REQUESTS, constraint, None)
    yield from _listed(f"{path}.config", elements(claim, "config"), _MAX_REQUESTS, configuration, None)


def _request(path: str, request: Mapping[str, Any]) -> Iterator[FieldError]:
    exact, alternatives = request.get("exactly"), elements(request, "firstAvailable")
    yield from name_label(f"{path}.name", _name(request))
    either = "exactly one of `exactly` or `firstAvailable` is required"
    if exact is None and not alternatives:
        yield FieldError.required(path, either)
    elif exact is not None and alternatives:
        yield FieldError.invalid(path, None, f"{either}, but multiple fields are set")
    elif exact is not None:
        yield from _exact_request(f"{path}.exactly", exact)
    else:
        yield from _listed(f"{path}.firstAvailable", alternatives, _MAX_SUB_REQUESTS, _sub_request, _name)


def _sub_request(path: str, request: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from name_label(f"{path}.name", _name(request))
    yield from _exact_request(path, request)


def _exact_request(path: str, request: Mapping[str, Any]) -> Iterator[FieldError]:
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    yield from _rules("exact_request", path, request)
    if mode == "All" and count:
        yield FieldError.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        yield from positive(f"{path}.count", count)
    elif mode != "All":
        yield FieldError.not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount"))
    for index, toleration in enumerate(elements(request, "tolerations")):
        yield from _rules("device_toleration", f"{path}.tolerations[{index}]", toleration)


def _selectors(path: str, selectors: list[Any]) -> Iterator[FieldError]:
    """Yield the errors of device selectors, except errors in their CEL expressions."""

    def check(where: str, selector: Mapping[str, Any]) -> Iterator[FieldError]:
        yield from _rules("device_selector", where, selector)

    yield from _listed(path, selectors, _MAX_REQUESTS, check, None)


def _opaque(path: str, configuration: Mapping[str, Any]) -> Iterator[FieldError]:
    opaque = configuration.get("opaque")
    if opaque is None:
        yield FieldError.required(f"{path}.opaque")
        return
    yield from _rules("opaque_configuration", f"{path}.opaque", opaque)
    parameters, where = opaque.get("parameters"), f"{path}.opaque.parameters"
    if parameters is None:
        yield FieldError.required(where)
    elif len(msgspec.json.encode(parameters)) > _MAX_PARAMETER_BYTES:
        yield FieldError.too_long(where, _MAX_PARAMETER_BYTES)
    elif not isinstance(parameters, dict):
        yield FieldError.invalid(where, "<value omitted>", "must be a valid JSON object")


def _claim_update(document: Document, old: Document) -> Iterator[FieldError]:
    if not is_equal(part(document, "spec"), part(old, "spec")):
        yield FieldError.invalid("spec", _shown_spec(part(document, "spec")), IMMUTABLE)


def _claim_template_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    if not is_equal(spec, part(old, "spec")):
        metadata = {name: value for name, value in part(spec, "metadata").items() if value}
        yield FieldError.invalid("spec", {**metadata, "Spec": _shown_spec(part(spec, "spec"))}, IMMUTABLE)


def _shown_spec(spec: Mapping[str, Any]) -> Any:
    """Return the spec of a ResourceClaim in the form that Go prints."""
    exact = {"DeviceClassName": "", "Selectors": None, "AllocationMode": "", "Count": 0}
    exact |= {"AdminAccess": None, "Tolerations": None, "Capacity": None}
    devices = part(spec, "devices")
    requests = [
        {
            "Name": _name(request),
            "Exactly": go_struct(request.get("exactly"), **exact),
            "FirstAvailable": request.get("firstAvailable"),
        }
        for request in elements(devices, "requests")
    ]
    return {
        "Devices": {
            "Requests": None if devices.get("requests") is None else requests,
            "Constraints": devices.get("constraints"),
            "Config": devices.get("config"),
        }
    }


def _device_class(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from _selectors("spec.selectors", elements(spec, "selectors"))
    yield from _listed("spec.config", elements(spec, "config"), _MAX_REQUESTS, _opaque, None)
    yield from _rules("device_class", "spec", spec)


def _extended_name(path: str, name: str) -> Iterator[FieldError]:
    if not is_extended(name):
        yield FieldError.invalid(path, name, "must be a valid extended resource name")


# -- slices ----------------------------------------------------------------------------------------


def _resource_slice(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from _rules("resource_slice", "spec", spec)
    yield from _slice_nodes(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield FieldError.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    devices = elements(spec, "devices")
    is_advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    most = _MAX_ADVANCED_DEVICES if is_advanced else _MAX_DEVICES

    def device(path: str, value: Any) -> Iterator[FieldError]:
        yield from _device(path, value, bool(spec.get("perDeviceNodeSelection")))

    yield from _listed("spec.devices", devices, most, device, _name)
    yield from _listed("spec.sharedCounters", elements(spec, "sharedCounters"), 8, _counter_set, _name)


def _pool_name(path: str, name: str) -> Iterator[FieldError]:
    yield from at_most_bytes(253)(path, name)
    for segment in name.split("/"):
        yield from name_subdomain(path, segment)


def _slice_nodes(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    chosen = [f"`{name}`" for name in ("nodeName",) if spec.get(name)]
    if spec.get("nodeName") is not None:
        empty = FieldError.invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
        yield from name_subdomain("spec.nodeName", spec["nodeName"]) if spec["nodeName"] else (empty,)
    if spec.get("nodeSelector") is not None:
        chosen.append("`nodeSelector`")
        yield from node_selector("spec.nodeSelector", spec["nodeSelector"])
        terms = elements(spec, "nodeSelector", "nodeSelectorTerms")
        if len(terms) != 1:
            detail = "must have exactly one node selector term"
            yield FieldError.invalid("spec.nodeSelector.nodeSelectorTerms", terms or None, detail)
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name):
            chosen.append(f"`{name}`")
        elif spec.get(name) is not None:
            yield FieldError.invalid(f"spec.{name}", False, "must be either unset or set to true")
    either = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    if not chosen:
        yield FieldError.required("spec", either)
    elif len(chosen) > 1:
        yield FieldError.invalid("spec", f"{{{', '.join(chosen)}}}", f"{either}, but multiple fields are set")


def _device(path: str, device: Mapping[str, Any], chooses_nodes: bool) -> Iterator[FieldError]:
    attributes, capacity = part(device, "attributes"), part(device, "capacity")
    yield from name_label(f"{path}.name", _name(device))
    if len(attributes) + len(capacity) > _MAX_VALUES:
        detail = f"the total number of attributes and capacities must not exceed {_MAX_VALUES}"
        yield FieldError.invalid(path, len(attributes) + len(capacity), detail)
    for name, value in attributes.items():
        yield from _qualified(f"{path}.attributes", name)
        yield from _attribute(f"{path}.attributes[{name}]", value)
    for name, value in capacity.items():
        yield from _qualified(f"{path}.capacity", name)
        yield from _capacity(f"{path}.capacity[{name}]", value, bool(device.get("allowMultipleAllocations")))
    taints: Check = partial(_rules, "device_taint")
    yield from _listed(f"{path}.taints", elements(device, "taints"), 16, taints, None)
    yield from _listed(
        f"{path}.consumesCounters",
        elements(device, "consumesCounters"),
        2,
        _counter_consumption,
        lambda value: value.get("counterSet") or "",
    )
    yield from _device_nodes(path, device, chooses_nodes)
    yield from _binding_conditions(path, device)


def _device_nodes(path: str, device: Mapping[str, Any], chooses_nodes: bool) -> Iterator[FieldError]:
    chosen = [name for name in ("nodeName", "nodeSelector", "allNodes") if device.get(name) is not None]
    if not chooses_nodes:
        if chosen:
            detail = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
                "ResourceSlice spec"
            )
            yield FieldError.invalid(path, None, detail)
        return
    either = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
        "in the ResourceSlice spec"
    )
    if not chosen:
        yield FieldError.required(path, either)
    elif len(chosen) > 1:
        names = ", ".join(f"`{name}`" for name in chosen)
        yield FieldError.invalid(path, f"{{{names}}}", either)
    if device.get("nodeSelector") is not None:
        yield from node_selector(f"{path}.nodeSelector", device["nodeSelector"])


def _qualified(path: str, name: str) -> Iterator[FieldError]:
    """Yield the errors of a C identifier with optional domain; more slashes are not checked."""
    domain, slash, identifier = name.rpartition("/")
    if "/" in domain:
        return
    for is_empty, what in ((slash and not domain, "domain"), (slash and not identifier, "name")):
        if is_empty:
            yield FieldError.invalid(path, "", f"the {what} must not be empty")
    yield from csi_driver_name(path, domain) if domain else ()
    if identifier or not slash:
        yield from at_most_bytes(_MAX_ID_BYTES)(path, identifier)
        yield from with_format(c_identifier)(path, identifier)


def _full_name(path: str, name: str) -> Iterator[FieldError]:
    yield from _qualified(path, name)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        yield FieldError.invalid(path, name, detail)


def _attribute(path: str, attribute: Mapping[str, Any]) -> Iterator[FieldError]:
    version = attribute.get("version")
    yield from at_most_bytes(_MAX_VALUE_BYTES)(f"{path}.string", attribute.get("string") or "")
    if version is not None:
        if not _SEMVER.fullmatch(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            yield FieldError.invalid(f"{path}.version", version, detail)
        yield from at_most_bytes(_MAX_VALUE_BYTES)(f"{path}.version", version)
    if sum(value is not None for value in attribute.values()) != 1:
        zeros = {f"{kind}Value{many}": None for many in ("", "s") for kind in ("Int", "Bool", "String", "Version")}
        values = {
            f"{name.rstrip('s').capitalize()}Value{'s' * name.endswith('s')}": one for name, one in attribute.items()
        }
        yield FieldError.invalid(path, {**zeros, **values} if attribute else "", "exactly one value must be specified")


def _capacity(path: str, capacity: Mapping[str, Any], is_shared: bool) -> Iterator[FieldError]:
    policy, where = capacity.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return
    choices, range_ = policy.get("validValues"), policy.get("validRange")
    if not is_shared:
        yield FieldError.forbidden(where, "allowMultipleAllocations must be true")
    elif choices and range_ is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield FieldError.forbidden(where, detail)
    elif policy.get("default") is None and (choices or range_ is not None):
        detail = f"required when {'validValues' if choices else 'validRange'} is defined"
        yield FieldError.required(f"{where}.default", detail)
    elif choices:
        yield from _valid_values(f"{where}.validValues", policy, capacity.get("value"))


def _valid_values(path: str, policy: Mapping[str, Any], most: Any) -> Iterator[FieldError]:
    values, default = policy["validValues"], policy["default"]
    for index, (value, following) in enumerate(pairwise(values)):
        if quantity.compare(amount(value), amount(following)) > 0:
            detail = "values must be sorted in ascending order"
            yield FieldError.invalid(f"{path}[{index + 1}]", shown_amount(following), detail)
    for index, value in enumerate(values):
        if quantity.compare(amount(value), amount(most)) > 0:
            detail = f"option is larger than capacity value: {shown_amount(most)}"
            yield FieldError.invalid(f"{path}[{index}]", shown_amount(value), detail)
    if amount(default) not in map(amount, values):
        detail = "default value is not valid according to the requestPolicy"
        yield FieldError.invalid(path, shown_amount(default), detail)


def _counter_set(path: str, value: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _rules("counter_set", path, value)


def _counter_consumption(path: str, value: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _rules("counter_consumption", path, value)


def _counter_names(path: str, counters: Mapping[str, Any]) -> Iterator[FieldError]:
    for name in counters:
        yield from name_label(path, name)


def _binding_conditions(path: str, device: Mapping[str, Any]) -> Iterator[FieldError]:
    successes, failures = elements(device, "bindingConditions"), elements(device, "bindingFailureConditions")
    for name, values in (("bindingConditions", successes), ("bindingFailureConditions", failures)):
        yield from _listed(f"{path}.{name}", values, 4, label_key, str)
    for index, name in enumerate(failures):
        if name in successes:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            yield FieldError.invalid(f"{path}.bindingFailureConditions[{index}]", name, detail)
    for name, values, other in (
        ("bindingConditions", successes, "bindingFailureConditions"),
        ("bindingFailureConditions", failures, "bindingConditions"),
    ):
        if not values and device.get(other):
            yield FieldError.invalid(f"{path}.{name}", None, f"{name} are required to use {other}")


_rules: Final = Rules(globals())
RULES: Final = {
    (_GROUP, "DeviceClass"): KindRules(_device_class),
    (_GROUP, "DeviceTaintRule"): _rules.kind("DeviceTaintRule"),
    (_GROUP, "ResourceClaim"): KindRules(_claim, _claim_update, has_own_update=True),
    (_GROUP, "ResourceClaimTemplate"): KindRules(_claim_template, _claim_template_update),
    (_GROUP, "ResourceSlice"): _rules.kind("ResourceSlice", validate=_resource_slice),
}
