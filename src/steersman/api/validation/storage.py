# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds in storage.k8s.io (`storage/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    byte_length,
    immutable,
    label_key,
    label_selector,
    name_subdomain,
    non_negative,
    one_of,
    optional,
    qualified_name,
    required,
    unique,
)
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.kind_rules import KindRules, ValidateUpdate
from steersman.api.validation.persistent_volumes import persistent_volume_spec
from steersman.api.validation.resources import non_negative_quantity
from steersman.api.validation.volumes import csi_driver_name

_MAX_PARAMETERS: Final = 512
_MAX_PARAMETER_BYTES: Final = 256 * 1024
_MAX_NODE_ID: Final = 256
_GROUP: Final = "storage.k8s.io"


def _storage_class(document: Document) -> Iterator[FieldError]:
    yield from _provisioner("provisioner", document.get("provisioner"))
    yield from _parameters("parameters", document.get("parameters") or {})
    yield from optional(one_of("Delete", "Retain"))("reclaimPolicy", document.get("reclaimPolicy"))
    mode = one_of("Immediate", "WaitForFirstConsumer")
    if document.get("volumeBindingMode") is None:
        yield FieldError.required("volumeBindingMode")
    else:
        yield from mode("volumeBindingMode", document["volumeBindingMode"])
    yield from _allowed_topologies("allowedTopologies", elements(document, "allowedTopologies"))


def _provisioner(path: str, value: Any) -> Iterator[FieldError]:
    if not value:
        yield FieldError.required(path)
        return
    for complaint in qualified_name(str(value).lower()):
        yield FieldError.invalid(path, str(value).lower(), complaint)


def _parameters(path: str, values: Mapping[str, Any]) -> Iterator[FieldError]:
    if len(values) > _MAX_PARAMETERS:
        yield FieldError.too_long(path, _MAX_PARAMETERS)
        return
    if "" in values:
        yield FieldError.invalid(path, "", "field can not be empty.")
    if sum(byte_length(name) + byte_length(str(value)) for name, value in values.items()) > _MAX_PARAMETER_BYTES:
        yield FieldError.too_long(path, _MAX_PARAMETER_BYTES)


def _allowed_topologies(path: str, terms: list[Any]) -> Iterator[FieldError]:
    seen: set[frozenset[tuple[str, frozenset[Any]]]] = set()
    for index, term in enumerate(terms):
        found: dict[str, frozenset[Any]] = {}
        for position, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            where = f"{path}[{index}].matchLabelExpressions[{position}]"
            yield from _topology_requirement(where, requirement)
            key = str(requirement.get("key") or "")
            if key in found:
                yield FieldError.duplicate(f"{where}.key", key)
            found[key] = frozenset(requirement.get("values") or ())
        term_values = frozenset(found.items())
        if term_values in seen or not found:  # like upstream, treat an empty term as a duplicate
            yield FieldError.duplicate(f"{path}[{index}].matchLabelExpressions", "")
        seen.add(term_values)


def _topology_requirement(path: str, requirement: Mapping[str, Any]) -> Iterator[FieldError]:
    values = elements(requirement, "values")
    if not values:
        yield FieldError.required(f"{path}.values")
    yield from unique(f"{path}.values", values)
    yield from label_key(f"{path}.key", requirement.get("key") or "")


def _volume_attributes_class(document: Document) -> Iterator[FieldError]:
    yield from _provisioner("driverName", document.get("driverName"))
    yield from _parameters("parameters", document.get("parameters") or {})
    if not document.get("parameters"):
        yield FieldError.required("parameters", "must contain at least one key/value pair")


def _volume_attributes_class_update(document: Document, old: Document) -> Iterator[FieldError]:
    for name in ("driverName", "parameters"):
        if document.get(name) != old.get(name):
            yield FieldError.forbidden(name, f"updates to {name} are forbidden.")


def _csi_driver(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from one_of("File", "None", "ReadWriteOnceWithFSType")("spec.fsGroupPolicy", spec.get("fsGroupPolicy"))
    yield from _token_requests("spec.tokenRequests", elements(spec, "tokenRequests"))
    for mode in elements(spec, "volumeLifecycleModes"):
        yield from one_of("Persistent", "Ephemeral")("spec.volumeLifecycleModes", mode)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        detail = "must be greater than or equal to 10 seconds"
        yield FieldError.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield FieldError.invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail)


def _token_requests(path: str, requests: list[Any]) -> Iterator[FieldError]:
    audiences: set[Any] = set()
    for index, request in enumerate(requests):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in audiences:
            yield FieldError.duplicate(f"{path}[{index}].audience", audience)
            continue
        audiences.add(audience)
        if seconds is not None and seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            yield FieldError.invalid(f"{path}[{index}].expirationSeconds", seconds, detail)
        if seconds is not None and seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            yield FieldError.invalid(f"{path}[{index}].expirationSeconds", seconds, detail)


def _csi_driver_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec, before = part(document, "spec"), part(old, "spec")
    yield from immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    modes = "volumeLifecycleModes"
    yield from immutable(f"spec.{modes}", spec.get(modes), before.get(modes))


def _csi_node(document: Document) -> Iterator[FieldError]:
    names: set[Any] = set()
    for index, driver in enumerate(elements(document, "spec", "drivers")):
        path, name, node_id = f"spec.drivers[{index}]", driver.get("name"), driver.get("nodeID") or ""
        yield from required(csi_driver_name)(f"{path}.name", name)
        yield from required()(f"{path}.nodeID", node_id)
        if byte_length(node_id) > _MAX_NODE_ID:
            yield FieldError.invalid(f"{path}.nodeID", node_id, f"must be {_MAX_NODE_ID} characters or less")
        yield from non_negative(f"{path}.allocatable.count", part(driver, "allocatable").get("count") or 0)
        if name in names:
            yield FieldError.duplicate(f"{path}.name", name)
        names.add(name)
        yield from _topology_keys(path, elements(driver, "topologyKeys"))


def _topology_keys(path: str, keys: list[Any]) -> Iterator[FieldError]:
    seen: set[Any] = set()
    for key in keys:
        if not key:
            yield FieldError.required(path)
        if key in seen:
            yield FieldError.duplicate(path, key)
        seen.add(key)
        yield from label_key(path, key)


def _csi_node_update(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield an error for each driver that changes in a field other than `allocatable`."""

    def shown(driver: Mapping[str, Any]) -> Any:
        found = go_struct(driver, Name="", NodeID="", TopologyKeys=None)
        return {**(found or {}), "Allocatable": None}

    for before in elements(old, "spec", "drivers"):
        for driver in elements(document, "spec", "drivers"):
            if driver.get("name") == before.get("name"):
                yield from immutable("spec.drivers", shown(driver), shown(before))


def _csi_storage_capacity(document: Document) -> Iterator[FieldError]:
    yield from label_selector("nodeTopology", document.get("nodeTopology"))
    yield from name_subdomain("storageClassName", document.get("storageClassName") or "")
    if document.get("capacity") is not None:
        yield from non_negative_quantity("capacity", document["capacity"])


def _volume_attachment(document: Document) -> Iterator[FieldError]:
    spec, source = part(document, "spec"), part(document, "spec", "source")
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    yield from required(csi_driver_name)("spec.attacher", spec.get("attacher"))
    either = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        yield FieldError.required("spec.source", either)
    elif inline is not None and name is not None:
        yield FieldError.forbidden("spec.source", either)
    elif inline is not None:
        yield from persistent_volume_spec("spec.source.inlineVolumeSpec", inline)
    elif not name:
        yield FieldError.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    yield from name_subdomain("spec.nodeName", spec.get("nodeName") or "")
    if name is not None:
        yield from name_subdomain("spec.source.persistentVolumeName", name)


def immutable_fields(*names: str) -> ValidateUpdate:
    """Return an update rule that makes the fields immutable."""

    def check(document: Document, old: Document) -> Iterator[FieldError]:
        for name in names:
            value = document.get(name)
            shown = dict(sorted(value.items())) if isinstance(value, dict) else value
            yield from immutable(name, "" if shown is None and isinstance(old.get(name), str) else shown, old.get(name))

    return check


RULES: Final = {
    (_GROUP, "CSIDriver"): KindRules(_csi_driver, _csi_driver_update),
    (_GROUP, "CSINode"): KindRules(_csi_node, _csi_node_update),
    (_GROUP, "CSIStorageCapacity"): KindRules(
        _csi_storage_capacity, immutable_fields("nodeTopology", "storageClassName")
    ),
    (_GROUP, "StorageClass"): KindRules(
        _storage_class,
        immutable_fields("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
    ),
    (_GROUP, "VolumeAttachment"): KindRules(_volume_attachment, immutable_fields("spec")),
    (_GROUP, "VolumeAttributesClass"): KindRules(_volume_attributes_class, _volume_attributes_class_update),
}
